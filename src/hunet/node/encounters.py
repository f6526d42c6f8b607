"""The log of whom a device has met, and when: under pseudonyms, unless its owner wants it otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hunet.node.identity import pseudonym

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunet.node.identity import Identity
    from hunet.node.store import Encounter, Store
    from hunet.node.trust import AddressBook

HowNoted = Literal["pseudonyms", "names", "off"]


class EncounterLog:
    """The encounters of a device.

    Pseudonyms are such that only this device can tell who they are, or all that share the secret word of a ``trial``.
    """

    def __init__(self, store: Store, identity: Identity, how: HowNoted, trial: str | None) -> None:
        self._store, self._own, self._how = store, identity.device, how
        self._secret = f"hunet trial: {trial}".encode() if trial else identity.secret("encounters")
        self._signals: dict[str, tuple[int, int]] = {}
        store.end_encounters()  # those that lasted when the device was last switched off

    def begin(self, device: str, now: float, radio: str) -> None:
        """A device has come into reach."""
        if self._how != "off":
            self._store.begin_encounter(self._noted(device), now, radio)

    def signal(self, device: str, rssi: int) -> None:
        """It was heard so strongly (dBm); the weakest and the strongest are noted."""
        weakest, strongest = self._signals.get(device, (rssi, rssi))
        heard = (min(weakest, rssi), max(strongest, rssi))
        if self._how != "off" and self._signals.get(device) != heard:
            self._signals[device] = heard
            self._store.set_signal(self._noted(device), *heard)

    def end(self, device: str, now: float) -> None:
        """It is gone."""
        self._signals.pop(device, None)
        if self._how != "off":
            self._store.end_encounter(self._noted(device), now)

    def log(self) -> Iterator[dict[str, Any]]:
        """All encounters, in the order in which they began; those that last have no end."""
        own = self._noted(self._own)
        for encounter in self._store.encounters():
            yield {"device": own, "met": encounter.device, **_about(encounter)}

    def latest(self, book: AddressBook, since: float, most: int) -> list[dict[str, Any]]:
        """Those that were not over at some time, the latest first, with the names of devices that the owner knows."""
        known = {self._noted(device): device for device in book.entries()}
        return [
            {
                "device": known.get(noted := encounter.device),
                "name": book.call(known[noted]) if noted in known else f"{noted[:8]}…",
                **_about(encounter),
            }
            for encounter in self._store.latest_encounters(since, most)
        ]

    def _noted(self, device: str) -> str:
        return device if self._how == "names" else pseudonym(device, self._secret)


def _about(encounter: Encounter) -> dict[str, Any]:
    return {
        "start": encounter.began,
        "end": encounter.ended,
        "radio": encounter.radio,
        "weakest": encounter.weakest,
        "strongest": encounter.strongest,
    }
