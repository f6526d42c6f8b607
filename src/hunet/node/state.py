"""What a device writes to its disk so that its protocol goes on after a restart, and how it is read back.

The state is in parts, each a fact of the store: that of the driver (``state driver``), and those of the protocol's
classes (``hunet.protocols.state``), as canonical CBOR. A part that is damaged, or of a version that is not understood,
is lost, and said to be; the others are used. States of earlier versions, which were pickles, are left aside.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model import MessageSet, Node
from hunet.node import wire
from hunet.protocols.contract import Data
from hunet.protocols.state import part_names, parts_of, plain, typed

if TYPE_CHECKING:
    from hunet.node.store import Store
    from hunet.protocols.contract import Protocol

_log = logging.getLogger("hunet.node")

_DRIVER = "driver"
_VERSION = 1


class DriverState(msgspec.Struct, frozen=True):
    """What a driver keeps beside the protocol."""

    now: float = 0.0
    next: int = 0
    """How many messages had a number."""
    held: MessageSet = 0
    more: dict[int, int] = msgspec.field(default_factory=dict)
    """The messages that were held, and of those with several copies how many more than one; also while under way."""
    timers: tuple[tuple[str, float], ...] = ()
    contacts: tuple[tuple[Node, bool, Data | None], ...] = ()
    """Those that lasted: the peer, whether it was settled, and the packet that was under way."""


class SavedState:
    """A state as it was read: the driver's part, those of the protocol as plain data, and which are lost."""

    def __init__(self, driver: DriverState, parts: dict[str, Any], lost: set[str]) -> None:
        self.driver, self.parts, self.lost = driver, parts, lost

    def lose(self, part: str, why: object) -> None:
        """Do without a part."""
        _log.warning("the part '%s' of the saved state is lost: %s; the rest is used", part, why)
        self.parts.pop(part, None)
        self.lost.add(part)


def write_state(store: Store, label: str, driver: DriverState, protocol: Protocol) -> None:
    """Write the state of a protocol and its driver; it is on the disk when the store is committed."""
    store.set_fact("protocol", label.encode())
    for name, part in {_DRIVER: [_VERSION, plain(driver, DriverState)], **parts_of(protocol)}.items():
        store.set_fact(f"state {name}", wire.encode(part))


def read_state(store: Store, label: str, kind: type[Protocol]) -> SavedState | None:
    """The state that was written under this label; None if there is none that can be used."""
    if store.fact("state") is not None:
        _log.warning(
            "the state of the protocol was written by an earlier version of hunet and is left aside: what the device "
            "had learnt is lost, its keys and messages are kept"
        )
        store.set_fact("state", None)
    written = store.fact("protocol")
    if written is None or store.fact(f"state {_DRIVER}") is None:
        return None
    if written != label.encode():
        _log.warning("the saved state is of %s; starting afresh", written.decode(errors="replace"))
        return None
    saved = SavedState(DriverState(), {}, set())
    for name in (_DRIVER, *part_names(kind)):
        try:
            part = wire.decode(store.fact(f"state {name}") or b"")
            if name == _DRIVER:
                if part[0] != _VERSION:
                    raise ValueError(f"it is of version {part[0]}, and version {_VERSION} is understood")
                saved.driver = typed(part[1], DriverState)
            else:
                saved.parts[name] = part
        except Exception as error:  # what is damaged can be anything
            saved.lose(name, error)
    return saved
