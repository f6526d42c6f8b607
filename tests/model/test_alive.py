"""What a device sees of messages: those that it was shown; and of the living, short sets where messages expire."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import Catalogue, DeviceCatalogue, ProtocolError

LIVES = st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 40), st.sampled_from("xyz")), max_size=120)


@given(LIVES, st.lists(st.integers(0, 120), max_size=6))
def test_nothing_alive_is_left_out_and_topics_are_right(
    said: list[tuple[int, int | None, str]], times: list[int]
) -> None:
    catalogue = Catalogue()
    messages = [catalogue.add(f"m{i}", topic, 0, created, ttl=ttl) for i, (created, ttl, topic) in enumerate(said)]
    mine, unseen = DeviceCatalogue(catalogue), [message.bit for message in messages]
    rng = Random(len(said))
    rng.shuffle(unseen)
    for now in sorted(times):
        for _ in range(min(len(unseen), len(said) // 3 + 1)):
            mine.show(unseen.pop())
        first, by_topic = mine.alive(now)
        shown = [message for message in messages if mine.shown & message.bit]
        assert list(mine) == shown
        assert all(message.expires < now for message in shown if message.number < first)
        assert list(by_topic) == list(mine.by_topic) == sorted({message.topic for message in shown})
        for topic in by_topic:
            bits = sum(message.bit for message in shown if message.topic == topic)
            assert (mine.on_topic(topic), mine.by_topic[topic], by_topic[topic]) == (bits, bits, bits >> first)
        assert mine.dead(now) == sum(message.bit for message in shown if message.expires < now)


def test_sets_are_counted_anew_when_messages_come_or_many_have_died() -> None:
    catalogue = Catalogue()
    mine = DeviceCatalogue(catalogue)
    assert mine.alive(0) == (0, {})
    for number in range(100):
        mine.show(catalogue.add(f"m{number}", "x", 0, number, ttl=1).bit)
    assert mine.alive(0)[0] == 0
    assert mine.alive(20)[0] == 0  # few have died
    assert mine.alive(90)[0] == 89
    late = catalogue.add("late", "y", 0, 95)
    mine.show(late.bit)
    first, by_topic = mine.alive(95)
    assert by_topic["y"] << first == late.bit


def test_a_message_of_a_low_number_that_comes_late_is_among_the_living() -> None:
    catalogue = Catalogue()
    old = catalogue.add("old", "x", 0, 0.0)
    new = [catalogue.add(f"m{number}", "x", 0, 1.0) for number in range(50)]
    mine = DeviceCatalogue(catalogue)
    mine.show(new[-1].bit)
    assert mine.alive(2.0) == (50, {"x": 1})
    mine.show(old.bit)
    assert mine.alive(2.0) == (0, {"x": new[-1].bit | old.bit})


def test_what_a_device_was_not_shown_is_refused_or_left_out() -> None:
    catalogue = Catalogue()
    old, mid, new = (catalogue.add(f"m{i}", "x", 0, float(i), ttl=9 - 4 * i) for i in range(3))
    mine = DeviceCatalogue(catalogue)
    mine.show(mid.bit)
    assert (mine[1], mine.by_id("m1"), len(mine), "m1" in mine, "m0" in mine, "m9" in mine) == (
        mid, mid, 1, True, False, False,
    )  # fmt: skip
    everything = old.bit | mid.bit | new.bit
    assert mine.newest(everything) == mine.oldest(everything) == mine.soonest(everything) == mid.bit
    assert mine.soonest(everything >> 1, first=1) == mid.bit
    with pytest.raises(ProtocolError, match="message 0 has not been shown to this device"):
        mine[0]
    with pytest.raises(ProtocolError, match="message 2 has not been shown to this device"):
        mine.by_id("m2")


@given(
    st.lists(st.tuples(st.sampled_from(["add", "reserve", "skip"]), st.integers(0, 8), st.integers(0, 30)), max_size=60)
)
def test_a_message_that_was_only_spoken_of_is_alive_from_when_it_comes(steps: list[tuple[str, int, int]]) -> None:
    catalogue, numbers, here = Catalogue(), dict[str, int](), dict[str, float]()
    mine = DeviceCatalogue(catalogue)
    for now, (what, which, ttl) in enumerate(steps):
        name = f"m{which}"
        if what == "reserve":
            number = catalogue.reserve(name).number
            assert numbers.setdefault(name, number) == number
        elif what == "skip":
            catalogue.skip(len(catalogue) + 1)
            mine.show(1 << len(catalogue) - 1)
        elif name not in here:
            message = catalogue.add(name, "x", 0, now, ttl=ttl)
            assert numbers.setdefault(name, message.number) == message.number
            here[name] = message.expires
            mine.show(message.bit)
        first, by_topic = mine.alive(now)
        alive = {numbers[name] for name, expires in here.items() if expires >= now}
        assert all(number >= first and by_topic["x"] >> (number - first) & 1 for number in alive)
        assert {message.id for message in catalogue} == {message.id for message in mine} == set(here)
        assert "" not in by_topic
        assert all(catalogue.knows(name) and (name in catalogue) == (name in here) for name in numbers)
        assert not any(mine.dead(now) >> number & 1 for number in alive)
        skipped = catalogue.absent & mine.shown
        assert mine.dead(now) & skipped == skipped
