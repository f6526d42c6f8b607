"""The event log: everything a protocol was told and did, and the same again without a simulator."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import cast

import pytest

from hunet import Contacts, HunetError, Links, Publication, Subscription, Workload, run
from hunet.model import Message, MessageSet, Node
from hunet.protocols import Control, Data, Packet, Protocol
from hunet.protocols.capabilities import OutOfBandDriver
from hunet.simulation import ReplayError, open_log, replay


class Gossip(Control, frozen=True, gc=False):
    """Names a node and some messages: both are numbers inside and names outside."""

    about: Node
    messages: MessageSet
    mood: dict[str, float]

    @property
    def size(self) -> int:
        return 1


class Busybody(Protocol):
    """Uses every action of the contract, and tosses coins."""

    def start(self, now: float) -> None:
        self.driver.set_timer("tick", now + 5 + self.rng.random())
        self.driver.set_timer("never", now + 1)
        self.driver.cancel_timer("never")

    def timer(self, tag: str, now: float) -> None:
        self.driver.role("broker" if self.rng.random() < 0.5 else "user")
        driver = cast("OutOfBandDriver", self.driver)
        driver.send_out_of_band(1 - self.node, Gossip(self.node, 0, {"joy": self.rng.random()}))

    message: Message | None = None

    def publish(self, message: Message, now: float) -> None:
        self.driver.stored(message.bit)
        self.message = message
        self.driver.wake(1 - self.node)

    def link_up(self, peer: Node, now: float) -> tuple[Control, ...]:
        return (Gossip(peer, 0, {}),)

    def poll(self, peer: Node, now: float, room: int) -> Data | None:
        message, self.message = self.message, None
        return Data(message.bit) if message else None

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Data):
            for message in self.driver.messages:
                if message.bit & packet.messages and message.topic in self.topics:
                    self.driver.deliver(message, 1)
                elif message.bit & packet.messages:
                    self.driver.false_match(message)
            self.driver.send(peer, Gossip(self.node, packet.messages, {"joy": 1.0}))
            self.driver.broadcast(Gossip(self.node, packet.messages, {}))

    def settled(self, peer: Node, now: float) -> None:
        """Asking to be told is enough."""

    def phase(self, name: str, now: float) -> None:
        """Here too."""

    def receive_out_of_band(self, node: Node, packet: Packet, now: float) -> None:
        """And here."""

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        self.driver.removed(self.driver.messages[packet.messages.bit_length() - 1], "given")


def busy_log(path: Path, links: Links | None = None) -> list[str]:
    contacts = Contacts.from_records([("ann", "bob", 0, 50)])
    said = [Publication("m", 3, 0, "news"), Publication("n", 4, 1, "sport")]
    workload = Workload.of(said, [Subscription(1, "news", 1, 40)])
    with open_log(path) as log:
        name = f"{__name__}:Busybody"
        run(contacts, workload, name, train=0.1, links=links, log=log)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as lines:
        return list(lines)


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_every_event_and_action_is_written_and_replays(tmp_path: Path, name: str) -> None:
    lines = busy_log(tmp_path / name)
    events = [json.loads(line) for line in lines]
    told = {event.get("in") for event in events}
    assert told >= {
        "create", "start", "phase", "subscribe", "unsubscribe", "publish", "link_up", "link_down", "receive",
        "receive_out_of_band", "poll", "sent", "settled", "timer",
    }  # fmt: skip
    did = {event.get("out") for event in events}
    assert did >= {
        "greeting", "send", "broadcast", "send_out_of_band", "wake", "deliver", "set_timer", "cancel_timer", "stored",
        "removed", "role", "false_match", "packet",
    }  # fmt: skip
    gossip = next(e["packet"] for e in events if e.get("out") == "send")
    assert gossip == {"kind": "tests.Gossip", "about": "bob", "messages": ["m"], "mood": {"joy": 1.0}}
    assert replay(tmp_path / name) == sum("in" in event for event in events)


def test_the_same_run_writes_the_same_log(tmp_path: Path) -> None:
    assert busy_log(tmp_path / "one.jsonl") == busy_log(tmp_path / "two.jsonl")


def test_a_log_that_tells_another_story_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = busy_log(path)
    at = next(i for i, line in enumerate(lines) if '"out": "role"' in line)
    other = lines[at].replace("broker", "x").replace("user", "y")
    for changed, line in (([*lines[:at], other, *lines[at + 1 :]], at + 1), (lines[:at] + lines[at + 1 :], at + 1)):
        path.write_text("".join(changed))
        with pytest.raises(ReplayError, match=f"line {line}"):
            replay(path)


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    (tmp_path / "noise.jsonl").write_text("{}\n")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"x" * 1000)[:-9])
    for name, problem in {
        "missing.jsonl": "no such file",
        "noise.jsonl": "line 1: not a line of an event log",
        "cut.jsonl.gz": "cannot be read",
    }.items():
        with pytest.raises(HunetError, match=problem):
            replay(tmp_path / name)
