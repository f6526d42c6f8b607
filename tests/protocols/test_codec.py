"""Packets between drivers that number messages and devices each in their own way."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module, reload
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import Catalogue
from hunet.protocols.carrier import Carried, Seen
from hunet.protocols.codec import decode, encode
from hunet.systems.b_sub.packets import Forward
from hunet.systems.mops.exchange import Learnt, Row
from hunet.systems.mops.interests import InterestList, Lists
from hunet.systems.mops.learning import Rows, Update

NAMES = ["ann", "bob", "eve"]
ELSEWHERE = {"eve": 0, "ann": 7, "bob": 3}


def catalogue(ids: list[str]) -> Catalogue:
    messages = Catalogue()
    for number, message_id in enumerate(ids):
        messages.add(message_id, "news", publisher=0, created=float(number))
    return messages


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1))
def test_what_stands_per_message_stays_with_its_message(ids: list[str]) -> None:
    here = catalogue(ids)
    there = catalogue(sorted(ids))
    hops = {message_id: place + 1 for place, message_id in enumerate(ids)}
    everything = (1 << len(ids)) - 1
    sent = Forward(everything, tuple(hops[message_id] for message_id in reversed(ids)), here.by_id(ids[0]).bit)
    got = decode(encode(sent, here, NAMES), there, ELSEWHERE)
    assert isinstance(got, Forward)
    assert got.hops == tuple(hops[message_id] for message_id in sorted(ids, reverse=True))
    assert got.direct == there.by_id(ids[0]).bit


def test_devices_inside_records_are_named() -> None:
    """MOPS' hello and its interest lists hold devices in records, in tuples, in records."""
    rows = Rows(3, (Row(0, 2, ((1, 0.5), (2, 0.25))),))
    assert encode(rows, Catalogue(), NAMES)["rows"] == [
        {"owner": "ann", "hops": 2, "links": [["bob", 0.5], ["eve", 0.25]]}
    ]
    there = Rows(3, (Row(7, 2, ((3, 0.5), (0, 0.25))),))
    assert decode(encode(rows, Catalogue(), NAMES), Catalogue(), ELSEWHERE) == there
    changes = Update(Learnt(3, 0, 9, ((0, 2),), (), ((2, 1, 1),), ((0, (2, 0)),)))
    assert encode(changes, Catalogue(), NAMES)["changes"]["communities"] == [[0, ["eve", "ann"]]]
    elsewhere = Update(Learnt(3, 0, 9, ((7, 2),), (), ((0, 1, 1),), ((0, (0, 7)),)))
    assert decode(encode(changes, Catalogue(), NAMES), Catalogue(), ELSEWHERE) == elsewhere
    lists = Lists((InterestList(1, 5.0, ("news",), ("art",), True),))
    assert decode(encode(lists, Catalogue(), NAMES), Catalogue(), ELSEWHERE) == Lists(
        (InterestList(3, 5.0, ("news",), ("art",), True),)
    )


def test_hops_have_a_limit() -> None:
    messages = catalogue(["a", "b", "c"])
    assert encode(Carried(0b1, (65535,)), messages, NAMES)["hops"] == [10_000]


# Kinds -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules can be imported, as those of an installed package can."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_kind_is_the_system_and_the_class() -> None:
    assert encode(Seen(0), Catalogue(), NAMES)["kind"] == "hunet.Seen"
    assert encode(Forward(0, (), 0), Catalogue(), NAMES)["kind"] == "b-sub.Forward"


def test_a_foreign_packet_that_is_called_like_one_of_ours_is_not_taken_for_ours(elsewhere: Path) -> None:
    """Also not if it is imported after packets have been read already."""
    ours = encode(Seen(0), Catalogue(), NAMES)
    assert type(decode(ours, Catalogue(), ELSEWHERE)) is Seen
    with pytest.raises(KeyError):
        decode({**ours, "kind": "example_gossip.Seen"}, Catalogue(), ELSEWHERE)
    (elsewhere / "example_gossip.py").write_text(
        "from hunet.protocols import Control\n\n\nclass Seen(Control, frozen=True):\n    rumour: str\n"
    )
    foreign = import_module("example_gossip").Seen("hush")
    plain = encode(foreign, Catalogue(), NAMES)
    assert plain == {"kind": "example_gossip.Seen", "rumour": "hush"}
    assert decode(plain, Catalogue(), ELSEWHERE) == foreign
    assert type(decode(ours, Catalogue(), ELSEWHERE)) is Seen
    with pytest.raises(KeyError):
        decode({**ours, "kind": "Seen"}, Catalogue(), ELSEWHERE)


def test_two_packets_of_one_kind_are_refused(tmp_path: Path) -> None:
    """In a process of its own, since a packet's class cannot be taken back."""
    for name in ("one", "two"):
        path = tmp_path / "gossip" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("from hunet.protocols import Control\n\n\nclass Rumour(Control, frozen=True):\n    pass\n")
    script = (
        "import gossip.one, gossip.two\n"
        "from hunet.model import Catalogue\n"
        "from hunet.protocols.codec import decode\n"
        "decode({'kind': 'hunet.Seen', 'messages': []}, Catalogue(), {})\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    last = ended.stderr.splitlines()[-1]
    assert "ConfigurationError: two packets are of the kind 'gossip.Rumour'" in last
    assert "gossip.one" in last
    assert "gossip.two" in last


def test_a_packet_that_is_defined_again_takes_the_place_of_the_earlier_one(elsewhere: Path) -> None:
    (elsewhere / "example_notebook.py").write_text(
        "from hunet.protocols import Control\n\n\nclass Rumour(Control, frozen=True):\n    rumour: str\n"
    )
    notebook = import_module("example_notebook")
    earlier = notebook.Rumour
    later = reload(notebook).Rumour
    assert earlier is not later
    plain = {"kind": "example_notebook.Rumour", "rumour": "hush"}
    assert type(decode(plain, Catalogue(), ELSEWHERE)) is later
