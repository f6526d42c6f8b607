"""What a device remembers: facts, messages and deliveries in one file, whatever happens to it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import OutputError
from hunet.node.store import _TABLES, DamagedError, Header, Store, open_store


def header(number: int, *, ttl: float = 100.0) -> Header:
    return Header(number, f"id{number}", "news", 0, 10.0 * number, ttl, 140, 1)


def filled(path: Path, many: int, size: int = 2000) -> None:
    store = Store(path)
    store.subscribe("news", 0.0)
    for number in range(many):
        store.add_message(header(number))
        store.add_content(number, bytes([number % 256]) * size)
        store.deliver(number, "news", 1, 5.0)
    store.close()


def test_what_was_committed_is_there_and_the_rest_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.add_message(header(0))
    store.add_content(0, b"hello")
    store.commit()
    store.add_message(header(1))
    store.rollback()
    store.abandon()
    again = Store(tmp_path / "a.db")
    assert list(again.headers()) == [header(0)]
    assert again.content(0) == b"hello"
    assert again.content(1) is None


@given(st.lists(st.tuples(st.sampled_from(["deliver", "take"]), st.integers(0, 5))))
def test_a_message_is_delivered_once_and_taken_once(events: list[tuple[str, int]]) -> None:
    store = Store()
    waiting: dict[int, None] = {}
    seen = set()
    for what, message in events:
        if what == "deliver":
            assert store.deliver(message, "news", 1, 0.0) == (message not in seen)
            if message not in seen:
                waiting[message] = None
            seen.add(message)
        else:
            numbers = {pending.message: pending.number for pending in store.waiting()}
            taken = store.take(numbers.get(message, 999))
            assert taken == (message if message in waiting else None)
            waiting.pop(message, None)
        assert [pending.message for pending in store.waiting()] == list(waiting)


def test_numbers_of_deliveries_are_never_used_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.add_message(header(0, ttl=1.0))
    store.deliver(0, "news", 1, 0.0)
    first = next(store.waiting()).number
    store.take(first)
    store.forget_before(1000.0)
    store.close()
    again = Store(tmp_path / "a.db")
    again.deliver(7, "news", 1, 0.0)
    assert next(again.waiting()).number > first


def test_what_is_out_of_date_is_forgotten_unless_the_application_waits_for_it() -> None:
    store = Store()
    for number in (0, 1, 2):
        store.add_message(header(number, ttl=5.0))
        store.add_content(number, b"x")
    store.deliver(0, "news", 1, 0.0)
    store.forget_before(24.0)
    assert [each.number for each in store.headers()] == [0, 2]
    store.drop_content(0)
    assert store.content(0) == b"x"
    store.take(next(store.waiting()).number)
    store.drop_content(0)
    assert store.content(0) is None


def test_receipts_are_kept_once_and_bounded() -> None:
    store = Store()
    assert store.add_receipt("p", b"ann", 10.0, most=2)
    assert not store.add_receipt("p", b"ann", 10.0, most=2)
    assert store.add_receipt("p", b"bob", 10.0, most=2)
    assert not store.add_receipt("p", b"eve", 10.0, most=2)
    assert store.subscribers_of("p") == 2
    assert [row[1:] for row in store.receipts(0, 5.0, 10)] == [("p", b"ann"), ("p", b"bob")]
    assert store.receipts(0, 11.0, 10) == []
    store.forget_before(11.0)
    assert store.subscribers_of("p") == 0


def test_of_too_many_receipts_those_of_the_publication_with_most_go() -> None:
    store = Store()
    for number in range(50):
        store.add_receipt("flood" if number % 5 else "honest", bytes([number]), 10.0, most=100)
    store.trim_receipts(20)
    assert (store.subscribers_of("flood"), store.subscribers_of("honest")) == (10, 10)


def test_a_full_disk_is_a_clear_error_and_nothing_is_half_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.add_message(header(0))
    store.commit()
    pages = store._row("PRAGMA page_count")
    assert pages is not None
    store._sqlite.execute(f"PRAGMA max_page_count = {pages[0] + 2}")
    with pytest.raises(OutputError, match="make some room; nothing was half written"):
        for number in range(1, 50):
            store.add_message(header(number))
            store.add_content(number, bytes(5000))
    store._sqlite.execute("PRAGMA max_page_count = 100000")
    assert [each.number for each in store.headers()] == [0]
    store.add_message(header(1))
    store.close()


@pytest.mark.parametrize(("said", "remedy"), [("disk I/O error", "make some room"), ("locked", "nothing was written")])
def test_room_is_asked_for_where_it_would_help(said: str, remedy: str) -> None:
    clear = f"the store in memory: cannot be written: {said}; {remedy}"
    with pytest.raises(OutputError, match=clear), Store()._clear_errors():
        raise sqlite3.OperationalError(said)


def test_a_damaged_content_is_noticed(tmp_path: Path) -> None:
    filled(tmp_path / "a.db", 2)
    raw = sqlite3.connect(tmp_path / "a.db")
    raw.execute("UPDATE contents SET content = zeroblob(2000)")
    raw.commit()
    raw.close()
    store = Store(tmp_path / "a.db")
    assert store.content(0) == bytes(2000)  # as it was
    assert store.content(1) is None


@pytest.mark.parametrize("damage", ["not a database", "a page", "cut off"])
def test_a_damaged_file_is_set_aside_and_what_can_be_read_is_salvaged(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "hunet.db"
    filled(path, 200)
    content = bytearray(path.read_bytes())
    if damage == "not a database":
        content[:100] = b"x" * 100
    elif damage == "a page":
        middle = len(content) // 8192 * 4096
        content[middle : middle + 8192] = b"\xff" * 8192
    else:
        del content[len(content) // 2 :]
    path.write_bytes(bytes(content))
    try:
        store, problem = open_store(path)
        for number in store.kept():
            store.content(number)
        list(store.headers())
        list(store.waiting())
        store.count("touch")
        store.commit()
    except DamagedError as error:
        assert "start the node again" in str(error)
        store.abandon()
        store, problem = open_store(path)
    assert "was damaged" in problem
    nothing = f" 0 rows were salvaged, tables not wholly readable: {', '.join(_TABLES)};"
    assert (nothing in problem) == (damage == "not a database")
    assert list(tmp_path.glob("hunet.db.damaged-*"))
    assert not path.with_name("hunet.db.damaged").exists()
    if damage != "not a database":
        assert len([number for number in store.kept() if store.content(number) is not None]) > 50
        assert store.subscriptions() == ["news"]
    store.close()
    again, problem = open_store(path)
    assert problem == ""
    again.close()


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.set_fact("version", b"99")
    store.close()
    with pytest.raises(OutputError, match=r"a\.db: is of version 99"):
        Store(tmp_path / "a.db")
