"""Which publications of others a node keeps when they exceed its quota: those that its protocol ranks highest."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.node.holdings import Quotas
from hunet.node.publication import Publication
from hunet.systems import PROTOCOLS
from tests.node.table import IDENTITIES, Table

PARAMETERS: dict[str, dict[str, Any]] = {
    "random-broker": {"share": 0.5},
    "socialcast": {"copies": 1},
    "socialcast-random": {"copies": 1},
}


def come(table: Table, topic: str, created: float) -> str:
    """A publication of another device comes to device 0, as far as storage is concerned; returns its id."""
    driver = table[0]
    said = Publication.signed(IDENTITIES[1], topic, bytes(900), created=created, ttl=1000.0)
    encoded = said.to_bytes()
    message = driver.holdings.add(said, len(encoded), 1)
    driver.store.add_content(message.number, encoded)
    driver.now = table.now
    driver.protocol.publish(message, table.now)
    driver._keep_quotas()
    return said.id


def kept(table: Table) -> list[str]:
    """The ids of what is held, in order of arrival."""
    return [message.id for message in table[0].messages if table[0].holdings.holds(message.number)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_oldest_of_a_topic_go_and_own_publications_stay(protocol: str) -> None:
    table = Table(protocol, 2, quotas=Quotas(total=2700), **PARAMETERS.get(protocol, {}))
    own = table.publish(0, "art")
    table.now = 10.0
    came = [come(table, "news", created=float(second)) for second in range(1, 6)]
    assert kept(table) == [own.id, *came[-2:]]


def test_the_least_useful_go_whatever_their_age() -> None:
    table = Table("social-election", 2, quotas=Quotas(total=2500))
    table.now = 10.0
    table[0].protocol.table.refresh({"wanted": 9.0})  # type: ignore[attr-defined]
    topics = ["wanted", "else", "wanted", "else", "else"]
    came = [come(table, topic, created=float(second)) for second, topic in enumerate(topics)]
    assert kept(table) == [came[0], came[2]]


def test_the_copies_that_came_first_go_whatever_their_age() -> None:
    table = Table("socialcast", 2, quotas=Quotas(total=2500), copies=1)
    table.now = 10.0
    came = [come(table, "news", created=second) for second in (5.0, 4.0, 1.0, 3.0)]
    assert kept(table) == came[-2:]
