"""The living messages of a catalogue: short sets where messages expire."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hunet.model import Catalogue

LIVES = st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 40), st.sampled_from("xyz")), max_size=120)


@given(LIVES, st.lists(st.integers(0, 120), max_size=6))
def test_nothing_alive_is_left_out_and_topics_are_right(
    said: list[tuple[int, int | None, str]], times: list[int]
) -> None:
    catalogue = Catalogue()
    messages = [catalogue.add(f"m{i}", topic, 0, created, ttl=ttl) for i, (created, ttl, topic) in enumerate(said)]
    for now in sorted(times):
        first, by_topic = catalogue.alive(now)
        assert all(message.expires < now for message in messages[:first])
        for topic in {topic for *_, topic in said}:
            assert by_topic[topic] == catalogue.on_topic(topic) >> first


def test_sets_are_counted_anew_when_messages_come_or_many_have_died() -> None:
    catalogue = Catalogue()
    assert catalogue.alive(0) == (0, {})
    for number in range(100):
        catalogue.add(f"m{number}", "x", 0, number, ttl=1)
    assert catalogue.alive(0)[0] == 0
    assert catalogue.alive(20)[0] == 0  # few have died
    assert catalogue.alive(90)[0] == 89
    late = catalogue.add("late", "y", 0, 95)
    first, by_topic = catalogue.alive(95)
    assert by_topic["y"] << first == late.bit


@given(
    st.lists(st.tuples(st.sampled_from(["add", "reserve", "skip"]), st.integers(0, 8), st.integers(0, 30)), max_size=60)
)
def test_a_message_that_was_only_spoken_of_is_alive_from_when_it_comes(steps: list[tuple[str, int, int]]) -> None:
    catalogue, numbers, here = Catalogue(), dict[str, int](), dict[str, float]()
    for now, (what, which, ttl) in enumerate(steps):
        name = f"m{which}"
        if what == "reserve":
            number = catalogue.reserve(name).number
            assert numbers.setdefault(name, number) == number
        elif what == "skip":
            catalogue.skip(len(catalogue) + 1)
        elif name not in here:
            message = catalogue.add(name, "x", 0, now, ttl=ttl)
            assert numbers.setdefault(name, message.number) == message.number
            here[name] = message.expires
        first, by_topic = catalogue.alive(now)
        alive = {numbers[name] for name, expires in here.items() if expires >= now}
        assert all(number >= first and by_topic["x"] >> (number - first) & 1 for number in alive)
        assert {message.id for message in catalogue} == set(here)
        assert all(catalogue.knows(name) and (name in catalogue) == (name in here) for name in numbers)
        assert not any(catalogue.dead(now) >> number & 1 for number in alive)
