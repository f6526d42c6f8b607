"""Live drivers on a table: joined in memory, frame by frame, on a virtual clock.

Each numbers messages in its own way, and what crosses between them is what would cross a network.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from random import Random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hunet.model import from_mapping
from hunet.model.randomness import Stream, node_rng
from hunet.node import wire
from hunet.node.driver import Frame, LiveDriver
from hunet.node.identity import Identity, device_key
from hunet.node.publication import Publication
from hunet.node.store import Store
from hunet.systems import protocol_class

IDENTITIES = [
    Identity(Ed25519PrivateKey.from_private_bytes(bytes([seed] * 32)), X25519PrivateKey.generate())
    for seed in (8, 5, 2, 4)
]
"""Four devices whose names rise as text, which decides who begins, and as keys, which decides on their numbers.

The two orders differ for most: among base32 digits "2" to "7" come last, and as text they come first.
"""
NAMES = [identity.device for identity in IDENTITIES]
assert sorted(NAMES) == sorted(NAMES, key=device_key) == NAMES


class Table:
    """Drivers in one process; frames are heard in the order in which they were sent.

    With ``luck``, only the frames of each sender are; whose turn it is is drawn by lot.
    """

    def __init__(
        self, protocol: str, devices: int = 2, *, folder: Path | None = None, luck: Random | None = None, **given: Any
    ) -> None:
        self.now = 0.0
        self._luck = luck
        self._frames: deque[tuple[int, str, bytes]] = deque()
        self.open: set[tuple[int, int]] = set()
        self.kind = protocol_class(protocol)
        self._driver_given = {name: given.pop(name) for name in ("again", "limits", "quotas", "room") if name in given}
        self.parameters = from_mapping(self.kind.Parameters, given)
        self._folder = folder
        self.drivers = [self._start(node, devices) for node in range(devices)]

    def __getitem__(self, node: int) -> LiveDriver:
        return self.drivers[node]

    @property
    def frames(self) -> deque[tuple[int, str, bytes]]:
        """The frames that are under way: sender, receiver, content."""
        for node, driver in enumerate(self.drivers):
            output = [each for each in driver.output() if isinstance(each, Frame)]
            self._frames.extend((node, each.device, each.data) for each in output)
        return self._frames

    def _start(self, node: int, devices: int) -> LiveDriver:
        store = Store(self._folder / f"{node}.db" if self._folder else None)
        for number, name in enumerate(NAMES[:devices]):  # ties between devices are decided by their numbers
            store.add_device(number, name)
        return LiveDriver(
            NAMES[node],
            self.kind,
            self.parameters,
            store,
            rng=node_rng(1, Stream.PROTOCOL, node, 0),
            clock=lambda: self.now,
            **self._driver_given,
        )

    def crash(self, node: int) -> None:
        """A device loses everything that is not on its disk, and starts again; the others notice."""
        self.drivers[node].store.rollback()
        self.drivers[node].store.abandon()
        for pair in [pair for pair in self.open if node in pair]:
            self.open.discard(pair)
            other = pair[0] if pair[1] == node else pair[1]
            self.drivers[other].link_down(NAMES[node])
        self.drivers[node] = self._start(node, len(self.drivers))

    def carry(self) -> None:
        while self.frames:
            if self._luck:
                chosen = self._luck.choice(sorted({sender for sender, _, _ in self.frames}))
                first = next(frame for frame in self.frames if frame[0] == chosen)
                self.frames.remove(first)
                self.frames.appendleft(first)
            sender, device, frame = self.frames.popleft()
            receiver = NAMES.index(device)
            if (min(sender, receiver), max(sender, receiver)) in self.open:
                self.drivers[receiver].frame(NAMES[sender], frame)

    def advance(self, time: float) -> None:
        """Let time pass up to, and not including, an instant."""
        while True:
            due = [(at, node) for node, driver in enumerate(self.drivers) if (at := driver.next_timer()) is not None]
            if not due or min(due)[0] >= time:
                break
            at, node = min(due)
            self.now = max(self.now, at)
            self.drivers[node].tick()
            self.carry()
        self.now = time

    def meet(self, one: int, two: int) -> None:
        self.open.add((min(one, two), max(one, two)))
        self.drivers[one].link_up(NAMES[two])
        self.drivers[two].link_up(NAMES[one])
        self.carry()

    def part(self, one: int, two: int) -> None:
        self.open.discard((min(one, two), max(one, two)))
        self.drivers[one].link_down(NAMES[two])
        self.drivers[two].link_down(NAMES[one])
        self.carry()

    def publish(self, node: int, topic: str, content: bytes = b"hello", ttl: float = 1000.0) -> Publication:
        said = Publication.signed(IDENTITIES[node], topic, content, created=self.now, ttl=ttl)
        self.drivers[node].publish(said)
        self.carry()
        return said

    def say(self, sender: int, receiver: int, **said: Any) -> None:
        """A frame that this sender would not have sent."""
        self.drivers[receiver].frame(NAMES[sender], wire.encode(said))

    def deliveries(self) -> list[tuple[float, int, str, int]]:
        """When, to whom, what, and over how many hops."""
        found = []
        for node, driver in enumerate(self.drivers):
            for at, number, hops in driver.store._rows("SELECT at, message, hops FROM deliveries"):
                found.append((at, node, driver.messages[number].id, hops))
        return sorted(found)

    def delivered(self, node: int) -> list[str]:
        """The ids of what a device's application has got, or is to get."""
        return [message for _, where, message, _ in self.deliveries() if where == node]
