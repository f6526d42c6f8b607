"""How a store ends what was begun: transactions by rolling back, encounters when the node was last alive."""

from __future__ import annotations

from pathlib import Path

from hunet.node.store import Store
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
    assert [tuple(each) for each in again.encounters()] == [
        ("ann", 10.0, 25.0),
        ("bob", 20.0, 50.0),
        ("eve", 90.0, 90.0),
    ]
