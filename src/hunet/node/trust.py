"""Whom this device knows: trust on first use, names that its owner gave, and who is not welcome.

There is no authority: a device's key is its name, and nobody can take another's. What people need beside that is a
name they can remember (a *petname*: it is theirs alone and never leaves the device) and certainty that it keeps
meaning the same device. So the first meeting with a device is noted, a petname once given belongs to that key, and
giving it to a second key is refused, also in a spelling that only looks different.

>>> from tempfile import mkdtemp
>>> from hunet.node.identity import Identity
>>> book = AddressBook(Path(mkdtemp()) / "people.json")
>>> ann, eve = Identity.new().device, Identity.new().device
>>> book.saw(ann, now=1000.0), book.saw(ann, now=2000.0)  # known from the second time on
(False, True)
>>> book.name(ann, "Ann")
>>> book.call(ann), book.find("ann") == ann
('Ann', True)
>>> book.name(eve, "ANN")
Traceback (most recent call last):
hunet.model.errors.ConfigurationError: 'Ann' is already the name of ...; forget that one first, or take another name
>>> book.block(eve)
>>> book.blocked(eve), book.blocked(ann)
(True, False)

The list is a small JSON file that only its owner can read. It keeps everybody who was named or blocked, and of the
others those met last, up to a limit, so that a crowd of made-up devices cannot fill the disk.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hunet.model import ConfigurationError, InputError
from hunet.model.files import file_in_place
from hunet.node.identity import device_key

if TYPE_CHECKING:
    from hunet.node.vault import Vault

_SHORT = 8  # letters of a device's name that are shown in place of a petname: 40 bits
_STRANGERS = 1000
_LONGEST_NAME = 64
_DAY = 86400.0


class Acquaintance(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a device."""

    first_seen: float
    """Seconds since 1970."""
    name: str = ""
    """What the owner of this device calls it."""
    blocked: bool = False
    verified: bool = False
    """Whether the owner has compared safety numbers."""

    @property
    def stranger(self) -> bool:
        """Whether nothing would be lost by forgetting it."""
        return not self.name and not self.blocked and not self.verified


class AddressBook:
    """The devices that were met, named or blocked, kept in a file."""

    def __init__(self, path: Path, vault: Vault | None = None) -> None:
        self._path, self._vault = path, vault
        self._known = _read(path, vault)

    def move(self, path: Path, vault: Vault | None) -> None:
        """Write it to another file, or encrypt it."""
        self._path, self._vault = path, vault
        self._write()

    def saw(self, device: str, now: float) -> bool:
        """Notes a meeting; whether the device was known before."""
        if device in self._known:
            return True
        self._set(device, Acquaintance(first_seen=now))
        return False

    def name(self, device: str, petname: str) -> None:
        """Calls a device by a name from now on; refused if another device has it."""
        petname = unicodedata.normalize("NFC", petname.strip())
        if not petname or len(petname) > _LONGEST_NAME or not petname.isprintable():
            raise ConfigurationError(f"a name has 1 to {_LONGEST_NAME} printable letters, not {petname!r}")
        if _is_device(petname):
            raise ConfigurationError("a name that is itself the key of a device would mislead; take another")
        for other, entry in self._known.items():
            if other != device and entry.name and _sounds(entry.name) == _sounds(petname):
                raise ConfigurationError(
                    f"'{entry.name}' is already the name of {other}; forget that one first, or take another name"
                )
        self._set(device, msgspec.structs.replace(self._about(device), name=petname))

    def call(self, device: str) -> str:
        """What to show for a device: its petname, or the beginning of its key."""
        entry = self._known.get(device)
        return entry.name if entry is not None and entry.name else f"{device[:_SHORT]}…"

    def knows(self, device: str, now: float) -> bool:
        """Whether a device was given a name, or met on an earlier day."""
        entry = self._known.get(device)
        return entry is not None and (bool(entry.name) or 0 < entry.first_seen < now - _DAY)

    def named(self, device: str) -> bool:
        """Whether the owner of this device has given it a name."""
        entry = self._known.get(device)
        return entry is not None and bool(entry.name)

    def find(self, word: str) -> str:
        """The device that a petname, a key, or the beginning of a key (6 letters or more) stands for."""
        word = word.removeprefix("hunet:")  # as it stands in a QR code
        if _is_device(word):
            return word
        found = [device for device, entry in self._known.items() if entry.name and _sounds(entry.name) == _sounds(word)]
        start = word.rstrip("….").lower()
        if not found and len(start) >= 6:
            found = [device for device in self._known if device.startswith(start)]
        if len(found) > 1:
            raise ConfigurationError(f"'{word}' could be any of {len(found)} devices; give more letters")
        if not found:
            raise ConfigurationError(f"nobody is known as '{word}'; give a petname or a device's key")
        return found[0]

    def block(self, device: str) -> None:
        """Has nothing more to do with a device."""
        self._set(device, msgspec.structs.replace(self._about(device), blocked=True))

    def unblock(self, device: str) -> None:
        """Takes :meth:`block` back."""
        self._set(device, msgspec.structs.replace(self._about(device), blocked=False))

    def verify(self, device: str, same: bool) -> None:
        """Notes whether safety numbers were compared, and were the same."""
        self._set(device, msgspec.structs.replace(self._about(device), verified=same))

    def blocked(self, device: str) -> bool:
        """Whether this device is not welcome."""
        entry = self._known.get(device)
        return entry is not None and entry.blocked

    def forget(self, device: str) -> None:
        """Removes a device, its name and its block; meeting it again is the first time."""
        if self._known.pop(device, None) is not None:
            self._write()

    def entries(self) -> dict[str, Acquaintance]:
        """Everybody, in the order of their first meeting."""
        return dict(self._known)

    def _about(self, device: str) -> Acquaintance:
        if not _is_device(device):
            raise ConfigurationError(f"'{device}' is not the key of a device")
        return self._known.get(device, Acquaintance(first_seen=0.0))

    def _set(self, device: str, entry: Acquaintance) -> None:
        self._known[device] = entry
        strangers = [each for each, known in self._known.items() if known.stranger]
        for each in strangers[: max(0, len(strangers) - _STRANGERS)]:
            del self._known[each]
        self._write()

    def _write(self) -> None:
        content = msgspec.json.format(msgspec.json.encode(self._known), indent=1)
        with file_in_place(self._path, mode=0o600) as partial:
            partial.write_bytes(self._vault.seal(content) if self._vault else content)


def _read(path: Path, vault: Vault | None) -> dict[str, Acquaintance]:
    try:
        content = path.read_bytes()
        known = msgspec.json.decode(vault.unseal(content) if vault else content, type=dict[str, Acquaintance])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise InputError(path, f"is not a list of people: {error}; repair it, or move it away") from None
    for device in known:
        if not _is_device(device):
            raise InputError(path, f"'{device}' is not the key of a device; repair it, or move the file away")
    return known


def _is_device(word: str) -> bool:
    try:
        device_key(word)
    except ValueError:
        return False
    return True


def _sounds(name: str) -> str:
    """Names that people would take for the same one are the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
