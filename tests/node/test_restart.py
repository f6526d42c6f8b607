"""What a protocol is told after a crash: the contacts that were open have ended, and what was under way is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from hunet.model import Node
from hunet.protocols import Data
from hunet.protocols.push import Push
from hunet.systems.socialcast.socialcast import Advertisement
from tests.node.table import NAMES, Table


class Diary(Push):
    """Writes down how its contacts end, in its state."""

    saved: ClassVar = {"diary": list[tuple[object, ...]]}

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.diary: list[tuple[Any, ...]] = []

    def settled(self, peer: Node, now: float) -> None:
        self.diary.append(("settled", peer, now))

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        super().sent(peer, packet, arrived, now)
        self.diary.append(("sent", peer, packet.messages, arrived, now))

    def link_down(self, peer: Node, now: float) -> None:
        super().link_down(peer, now)
        self.diary.append(("link_down", peer, now))


def cut_off(table: Table) -> None:
    """Carry frames until one with data is on its way, and lose that."""
    while table.frames and b"data" not in table.frames[0][2][:16]:
        sender, device, frame = table.frames.popleft()
        table[NAMES.index(device)].frame(NAMES[sender], frame)
    assert table.frames
    table.frames.clear()


def test_a_contact_that_a_crash_cut_off_is_ended_as_the_engine_ends_one(tmp_path: Path) -> None:
    table = Table("tests.node.test_restart:Diary", folder=tmp_path)
    said = table.publish(0, "news")
    table.now = 5.0
    table.open.add((0, 1))
    table[0].link_up(NAMES[1])
    table[1].link_up(NAMES[0])
    cut_off(table)
    table[0].save()
    table.now = 9.0
    table.crash(0)
    bit = table[0].messages.by_id(said.id).bit
    assert table[0].protocol.diary == [  # type: ignore[attr-defined]
        ("settled", 1, 9.0),
        ("sent", 1, bit, False, 9.0),
        ("link_down", 1, 9.0),
    ]
    assert table[0].protocol.known == {}  # type: ignore[attr-defined]


def test_a_contact_that_had_settled_only_ends(tmp_path: Path) -> None:
    table = Table("tests.node.test_restart:Diary", folder=tmp_path)
    table.now = 5.0
    table.meet(0, 1)
    table[0].save()
    table.now = 9.0
    table.crash(0)
    assert table[0].protocol.diary == [("settled", 1, 5.0), ("link_down", 1, 9.0)]  # type: ignore[attr-defined]


def test_the_only_copy_that_was_under_way_in_a_crash_is_held_again(tmp_path: Path) -> None:
    """A SocialCast device takes a copy out of its buffer to hand it over; if that fails it must have it back."""
    table = Table("socialcast", folder=tmp_path, period=5.0, copies=1)
    table.now = 1.0
    said = table.publish(0, "news")
    table.meet(0, 1)
    protocol: Any = table[0].protocol
    protocol.receive(1, Advertisement((), {"news": 0.9}, 0), table.now)
    table[0].tick()
    for _ in range(20):
        if table.frames:
            break
        table.now += 1.0
        table[0].tick()
    cut_off(table)
    assert protocol.copies == {}
    table[0].save()
    table.crash(0)
    number = table[0].messages.by_id(said.id).number
    again: Any = table[0].protocol
    assert list(again.copies.values()) == [(number, 0)]
    assert table[0].holdings.holds(number)
