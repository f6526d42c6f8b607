"""How a store ends what was begun: transactions by rolling back, encounters when the node was last alive."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from hunet.node.store import Store, open_store
from tests.node.test_store import header


def test_what_is_rolled_back_is_not_there_for_this_process_either() -> None:
    store = Store()
    store.add_message(header(0))
    store.commit()
    store.add_message(header(1))
    store.count("sent")
    store.rollback()
    assert list(store.headers()) == [header(0)]
    assert store.counters() == {}
    store.commit()
    assert list(store.headers()) == [header(0)]


def test_a_store_that_was_let_go_of_is_not_written_any_more(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.count("sent")
    store.abandon()
    with pytest.raises(sqlite3.ProgrammingError):
        store.count("sent")


def test_only_its_owner_can_look_into_the_folder_of_a_store(tmp_path: Path) -> None:
    store, _ = open_store(tmp_path / "node" / "hunet.db")
    store.close()
    assert stat.S_IMODE((tmp_path / "node").stat().st_mode) == 0o700


def test_encounters_without_an_end_ended_when_the_node_was_last_alive(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.begin_encounter("ann", 10.0)
    store.begin_encounter("bob", 20.0)
    store.end_encounter("ann", 25.0)
    store.begin_encounter("eve", 90.0)
    store.set_fact("alive", b"50.0")
    store.close()
    again = Store(tmp_path / "a.db")
    again.end_encounters()
    assert [each[:3] for each in again.encounters()] == [
        ("ann", 10.0, 25.0),
        ("bob", 20.0, 50.0),
        ("eve", 90.0, 90.0),
    ]
