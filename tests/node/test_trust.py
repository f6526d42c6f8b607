"""Names that keep meaning the same device, and devices that are not welcome."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hunet.model import ConfigurationError, InputError, OutputError
from hunet.node.identity import Identity, device_name
from hunet.node.trust import AddressBook

ANN, BOB = Identity.new().device, Identity.new().device


@pytest.fixture
def book(tmp_path: Path) -> AddressBook:
    return AddressBook(tmp_path / "people.json")


def test_everything_is_there_after_a_restart_and_nobody_else_can_read_it(book: AddressBook, tmp_path: Path) -> None:
    assert not book.saw(ANN, 1000.0)
    book.name(ANN, " Ann ")
    book.block(BOB)
    again = AddressBook(tmp_path / "people.json")
    assert again.entries() == book.entries()
    assert again.saw(ANN, 5000.0)
    assert again.entries()[ANN].first_seen == 1000.0
    assert (again.call(ANN), again.call(BOB)) == ("Ann", f"{BOB[:8]}…")
    assert again.blocked(BOB)
    assert not again.blocked(ANN)
    assert not again.blocked("somebody")
    again.unblock(BOB)
    assert not AddressBook(tmp_path / "people.json").blocked(BOB)
    assert stat.S_IMODE((tmp_path / "people.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("same", ["Ann", "ANN", "ann", " Ann", "Ａnn"])
def test_a_name_that_another_has_is_refused(book: AddressBook, same: str) -> None:
    book.name(ANN, "Ann")
    with pytest.raises(ConfigurationError, match="already the name"):
        book.name(BOB, same)
    book.name(ANN, same)  # its own owner may respell it
    book.forget(ANN)
    book.name(BOB, "Ann")
    assert book.find("Ann") == BOB


@pytest.mark.parametrize("bad", ["", "  ", "a" * 65, "a\nb", "\u202eann", pytest.param(ANN, id="a key")])
def test_names_that_mislead_are_refused(book: AddressBook, bad: str) -> None:
    with pytest.raises(ConfigurationError, match="name"):
        book.name(BOB, bad)
    assert not book.entries()


def test_finding_by_name_by_key_and_by_the_beginning_of_a_key(book: AddressBook) -> None:
    book.saw(ANN, 1.0)
    book.name(BOB, "Bob")
    assert book.find("bob") == BOB
    assert book.find(ANN) == ANN
    assert book.find(ANN[:6]) == book.find(book.call(ANN)) == ANN
    for nobody in ("carol", ANN[:5], "", "zzzzzzz"):
        with pytest.raises(ConfigurationError, match="nobody is known"):
            book.find(nobody)
    near = [device_name(bytes(31) + bytes([n])) for n in (1, 2)]
    for each in near:
        book.saw(each, 1.0)
    with pytest.raises(ConfigurationError, match="any of 2"):
        book.find(near[0][:8])


def test_only_devices_can_be_named_or_blocked(book: AddressBook) -> None:
    for act in (book.block, book.unblock):
        with pytest.raises(ConfigurationError, match="not the key"):
            act("ann")
    with pytest.raises(ConfigurationError, match="not the key"):
        book.name("ann", "Ann")


def test_a_crowd_of_strangers_does_not_push_out_friends(
    book: AddressBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hunet.node.trust._STRANGERS", 10)
    book.name(ANN, "Ann")
    book.block(BOB)
    crowd = [device_name(bytes(31) + bytes([n])) for n in range(30)]
    for each in crowd:
        book.saw(each, 1.0)
    assert list(AddressBook(tmp_path / "people.json").entries()) == [ANN, BOB, *crowd[-10:]]


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff", b'{"ann": {"first_seen": 1}}', b'{"x": {"first_seen": "never"}}']
)
def test_a_damaged_book_says_so_and_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "people.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"people\.json: .*move"):
        AddressBook(path)
    assert path.read_bytes() == content


def test_a_book_that_cannot_be_read_or_written(book: AddressBook, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        AddressBook(tmp_path)
    (tmp_path / "file").write_text("")
    book._path = tmp_path / "file" / "people.json"
    with pytest.raises(OutputError, match="cannot be written"):
        book.saw(ANN, 1.0)
