"""What waits for the application, and what can be read of a damaged store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hunet.node.store import _TABLES, Store, _readable, _salvage
from tests.node.test_store import filled, header


def test_a_message_waits_until_it_is_taken() -> None:
    store = Store()
    store.add_message(header(0))
    assert not store.is_waiting(0)
    store.deliver(0, "news", 1, 5.0)
    assert store.is_waiting(0)
    [waiting] = store.waiting()
    store.take(waiting.number)
    assert not store.is_waiting(0)


def test_of_a_sound_table_everything_is_read(tmp_path: Path) -> None:
    filled(tmp_path / "a.db", 3)
    with closing(sqlite3.connect(tmp_path / "a.db")) as source:
        whole, rows = _readable(source, "messages")
        assert (whole, len(rows)) == (True, 3)
        assert _readable(source, "no_such_table") == (False, [])


def test_of_what_cannot_be_opened_everything_is_lost(tmp_path: Path) -> None:
    assert _salvage(tmp_path, Store()) == (0, list(_TABLES))


def test_what_is_salvaged_is_counted(tmp_path: Path) -> None:
    filled(tmp_path / "a.db", 3)
    assert _salvage(tmp_path / "a.db", Store()) == (1 + 1 + 3 * 3, [])  # its version, what it wants, messages
