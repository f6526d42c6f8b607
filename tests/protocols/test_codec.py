"""Packets between drivers that number messages and devices each in their own way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hunet.model import Catalogue
from hunet.protocols.carrier import Carried, Seen
from hunet.protocols.codec import decode, encode
from hunet.systems.b_sub.packets import Forward
from hunet.systems.mops.exchange import News, Row
from hunet.systems.mops.interests import InterestList, Lists
from hunet.systems.mops.learning import Neighbourhood

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
    left_out = decode(encode(sent, here, NAMES), there, ELSEWHERE, without=frozenset(ids[:1]))
    assert isinstance(left_out, Forward)
    assert len(left_out.hops) == left_out.messages.bit_count() == len(ids) - 1
    assert left_out.direct == 0


def test_devices_inside_records_are_named() -> None:
    """MOPS' hello and its interest lists hold devices in records, in tuples, in records."""
    news = News(3, (Row(0, 2, ((1, 0.5), (2, 0.25))),), ((2, 1, 1),), ((0, (2, 0)),))
    plain = encode(Neighbourhood(news), Catalogue(), NAMES)
    assert plain["news"]["rows"] == [{"owner": "ann", "hops": 2, "links": [["bob", 0.5], ["eve", 0.25]]}]
    assert plain["news"]["communities"] == [[0, ["eve", "ann"]]]
    there = News(3, (Row(7, 2, ((3, 0.5), (0, 0.25))),), ((0, 1, 1),), ((0, (0, 7)),))
    assert decode(plain, Catalogue(), ELSEWHERE) == Neighbourhood(there)
    lists = Lists((InterestList(1, 5.0, ("news",), ("art",), True),))
    assert decode(encode(lists, Catalogue(), NAMES), Catalogue(), ELSEWHERE) == Lists(
        (InterestList(3, 5.0, ("news",), ("art",), True),)
    )


def test_what_is_unsaid_is_left_out_and_hops_have_a_limit() -> None:
    messages = catalogue(["a", "b", "c"])
    assert encode(Seen(0b111), messages, NAMES, unsaid=0b010)["messages"] == ["c", "a"]
    assert encode(Carried(0b1, (65535,)), messages, NAMES)["hops"] == [10_000]
