"""The buffer, against a plain list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hunet.model import Catalogue, DeviceCatalogue, Message, MessageSet, members
from hunet.protocols.buffer import RANKINGS, Buffer, Eviction


class Notes:
    """A driver that only writes down what buffers tell it."""

    def __init__(self, messages: Catalogue) -> None:
        self.messages = DeviceCatalogue(messages)
        self.messages.show((1 << len(messages)) - 1)
        self.stored_messages: list[int] = []
        self.removals: list[tuple[int, str]] = []

    def stored(self, messages: MessageSet) -> None:
        self.stored_messages += members(messages)

    def removed(self, message: Message, reason: str) -> None:
        self.removals.append((message.number, reason))


def catalogue(created: list[int], ttl: list[int | None]) -> Catalogue:
    messages = Catalogue()
    for i, (when, life) in enumerate(zip(created, ttl, strict=True)):
        messages.add(f"m{i}", "x", 0, float(when), ttl=life)
    return messages


@given(
    st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9))), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.booleans(), st.integers(0, 2)), max_size=40),
    st.integers(1, 4),
    st.sampled_from(["oldest", "first-in", "last-in"]),
)
def test_it_behaves_like_a_list_that_is_kept_in_order(
    said: list[tuple[int, int | None]], steps: list[tuple[int, bool, int]], capacity: int, evict: Eviction
) -> None:
    messages = catalogue([when for when, _ in said], [life for _, life in said])
    notes = Notes(messages)
    buffer = Buffer(notes, capacity, RANKINGS[evict])  # type: ignore[arg-type]
    plain: list[Message] = []  # in order of arrival
    now = 0.0
    for which, put, wait in steps:
        now += wait
        message = messages[which % len(messages)]
        plain = [m for m in plain if m.expires >= now]
        if put and message.expires >= now:  # nobody stores the dead
            buffer.add(message.bit, now)
            if message not in plain:
                plain.append(message)
                if len(plain) > capacity:
                    victims = {
                        "oldest": min(plain, key=lambda m: (m.created, m.number)),
                        "first-in": plain[0],
                        "last-in": plain[-1],
                    }
                    plain.remove(victims[evict])
        elif not put:
            buffer.held(now)
            buffer.remove(message, "given")
            plain = [m for m in plain if m is not message]
        assert members(buffer.held(now)) == sorted((m.number for m in plain), reverse=True)
        assert len(buffer) == len(plain) <= capacity
    assert len(notes.stored_messages) - len(notes.removals) == len(plain)


def test_unlimited_it_takes_a_batch_at_once() -> None:
    messages = catalogue([0, 1, 2], [None, 5, None])
    notes = Notes(messages)
    buffer = Buffer(notes)  # type: ignore[arg-type]
    assert buffer.add(0b111, 0.0) == 0b111
    assert notes.stored_messages == [2, 1, 0]
    assert buffer.held(6.0) == 0b111
    assert buffer.held(6.1) == 0b101
    assert notes.removals == [(1, "expired")]


def test_the_newcomer_may_be_the_one_that_goes() -> None:
    messages = catalogue([0, 1, 2], [None] * 3)
    buffer = Buffer(Notes(messages), 2)  # type: ignore[arg-type]
    buffer.add(0b110, 0.0)
    assert buffer.add(0b001, 0.0) == 0
    assert buffer.held(0.0) == 0b110


def test_storage_that_is_short_takes_the_lowest_ranked_of_those_in_question() -> None:
    messages = catalogue([5, 3, 9], [None, None, None])
    expected: dict[Eviction, int] = {"oldest": 1, "first-in": 0, "last-in": 1}
    for evict, lowest in expected.items():
        buffer = Buffer(Notes(messages), 3, RANKINGS[evict])  # type: ignore[arg-type]
        for number in (0, 1, 2):
            buffer.add(1 << number, now=0.0)
        assert buffer.lowest(0b011) == 1 << lowest, evict
        assert buffer.lowest(0) == 0
