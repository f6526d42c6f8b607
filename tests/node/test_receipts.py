"""Receipts: only by who wants to, only of what is here, readable by the author alone, and bounded."""

from __future__ import annotations

import pytest

from hunet.model import PeerError
from hunet.node import wire
from hunet.node.driver import ReceiptsHeard
from hunet.node.identity import Identity
from hunet.node.receipts import Receipt, ReceiptBook
from hunet.node.store import Store
from tests.node.table import IDENTITIES, NAMES, Table

ANN, BOB, EVE = IDENTITIES[0], IDENTITIES[1], IDENTITIES[2]


def test_only_the_author_can_open_a_receipt_and_only_for_its_publication() -> None:
    receipt = Receipt.of("a" * 26, ANN.device, BOB)
    token = receipt.opened(ANN)
    assert token is not None
    assert receipt.opened(EVE) is None
    assert Receipt("b" * 26, receipt.sealed).opened(ANN) is None
    assert Receipt.of("b" * 26, ANN.device, BOB).opened(ANN) != token  # nobody can follow a reader
    assert Receipt.of("a" * 26, ANN.device, EVE).opened(ANN) != token
    assert Receipt.of("a" * 26, ANN.device, BOB).sealed != receipt.sealed


def test_a_reader_counts_once_however_often_it_says_so() -> None:
    table = Table("push")
    said = table.publish(0, "news")
    book = ReceiptBook(table[0].store, ANN)
    message = table[0].messages.by_id(said.id)
    for reader in (BOB, BOB, EVE):
        book.add([(Receipt.of(said.id, ANN.device, reader), message, ANN.device)])
    book.add([(Receipt(said.id, bytes(64)), message, ANN.device)])  # which nobody sealed
    assert table[0].store.subscribers_of(said.id) == 2


def heard(table: Table) -> list[Receipt]:
    return [each[0] for out in table[0].output() if isinstance(out, ReceiptsHeard) for each in out.receipts]


def test_receipts_of_what_is_not_here_leave_no_trace() -> None:
    table = Table("push", 3)
    said = table.publish(0, "news")
    table.meet(0, 1)
    made_up = Receipt("a" * 26, bytes(64))
    known = Receipt.of(said.id, NAMES[0], EVE)
    for receipt in (made_up, known):
        table.say(1, 0, t="receipts", receipts=[[receipt.publication, receipt.sealed]])
    assert heard(table) == [known]
    table.now = 2000.0  # it is out of date
    table.say(1, 0, t="receipts", receipts=[[known.publication, known.sealed]])
    assert heard(table) == []


@pytest.mark.parametrize("plain", [None, [], ["a" * 26], ["a" * 25, bytes(64)], ["a" * 26, bytes(63)], [1, bytes(64)]])
def test_what_is_no_receipt_is_the_fault_of_who_sends_it(plain: object) -> None:
    with pytest.raises(PeerError):
        Receipt.read(plain)


def test_frames_have_so_many_receipts_and_a_neighbour_gets_each_once() -> None:
    store = Store()
    for number in range(250):
        store.add_receipt("a" * 26, number.to_bytes(64), 100.0, most=1000)
    book = ReceiptBook(store, Identity.new())
    frames = [wire.decode(frame) for frame in book.frames_for("bob", 50.0)]
    assert [len(frame["receipts"]) for frame in frames] == [200, 50]
    assert not list(book.frames_for("bob", 50.0))
