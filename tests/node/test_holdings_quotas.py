"""Which quotas are exceeded, by what and by how much; and what is held when more is let go of than came."""

from __future__ import annotations

import pytest

from hunet.model import OutputError
from hunet.node.holdings import Holdings, Quotas
from hunet.node.identity import device_name
from hunet.node.publication import Publication
from hunet.node.store import Store
from tests.node.table import IDENTITIES, NAMES


def holding(quotas: Quotas, *given: tuple[str, int]) -> tuple[Holdings, int]:
    """Holdings with a publication for each topic and giver, and how long each of them is."""
    holdings = Holdings(NAMES[0], Store(), quotas)
    for number, (topic, giver) in enumerate(given):
        said = Publication.signed(IDENTITIES[1], topic, bytes([number]) * 900, created=0.0, ttl=1000.0)
        message = holdings.add(said, 1000, holdings.node if giver == 0 else giver)
        holdings.hold(message.number)
    return holdings, 1000


def test_a_node_carries_half_a_gigabyte() -> None:
    assert Quotas() == Quotas(total=512 << 20)


def test_what_fits_exactly_is_no_excess() -> None:
    given = [("a", 7), ("a", 8), ("b", 8)]
    holdings, size = holding(Quotas(total=3000), *given)
    assert holdings.held_bytes == 3 * size
    assert not holdings.excess()


def test_excess_names_messages_of_the_largest_share_and_never_own_ones() -> None:
    given = [("a", 0), ("a", 0), ("a", 0), ("a", 7), ("b", 8), ("a", 8)]
    holdings, size = holding(Quotas(total=5500), *given)
    assert holdings.own_bytes == 3 * size
    assert holdings.excess() == 0b110000
    holdings.let_go(4)
    assert not holdings.excess()


def test_what_the_application_has_not_taken_counts_though_the_protocol_let_it_go() -> None:
    holdings, size = holding(Quotas(total=900), ("a", 7))
    holdings.wait(0)
    holdings.let_go(0)
    assert (holdings.held_bytes, holdings.keeps(0), holdings.excess()) == (size, True, 0b1)
    assert (holdings.taken(0), holdings.taken(0)) == (True, False)
    assert (holdings.held_bytes, holdings.keeps(0), holdings.excess()) == (0, False, 0)


def test_letting_go_of_what_is_not_held_changes_nothing() -> None:
    holdings, _ = holding(Quotas(), ("a", 7))
    holdings.hold(0)
    holdings.hold(0)
    for left in (1000, 1000, 0, 0):
        holdings.let_go(0)
        assert (holdings.held_bytes, holdings.holds(0)) == (left, left > 0)


def test_devices_are_put_in_the_order_of_keys_whatever_their_numbers() -> None:
    low, middle, high = (device_name(bytes([first]) + bytes(31)) for first in (1, 2, 3))
    store = Store()
    store.add_device(0x0301, low)  # given when there was no room for it elsewhere
    store.add_device(0x0300, high)
    store.commit()
    holdings = Holdings(middle, store, Quotas())
    assert [name for _, name in holdings._in_order] == [low, middle, high]


def test_what_is_held_again_after_a_restart_weighs_as_much_as_before() -> None:
    holdings, size = holding(Quotas(), ("a", 7), ("b", 8))
    again = Holdings(NAMES[0], holdings._store, Quotas())
    again.load()
    again.hold_only(holdings.held, {})
    assert again.held_bytes == holdings.held_bytes == 2 * size


def test_a_publication_may_fill_the_quota_to_the_last_byte() -> None:
    holdings, _ = holding(Quotas(total=1000))
    holdings.check_room(1000)
    with pytest.raises(OutputError, match="1001 more exceed the quota of 1000"):
        holdings.check_room(1001)
