"""Keys, names, and the file that nobody else may read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model import InputError, OutputError
from hunet.node.identity import Identity, device_key, device_name, pseudonym, verify


def test_the_first_start_makes_a_private_key_file_and_the_second_finds_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "key.pem"
    first = Identity.load_or_create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = Identity.load_or_create(path)
    assert (first.device, first.proof) == (second.device, second.proof)
    assert verify(first.device, second.sign(b"x"), b"x")
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o601])
def test_a_key_file_that_others_can_touch_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key.pem"
    Identity.load_or_create(path)
    path.chmod(mode)
    with pytest.raises(InputError, match="chmod 600"):
        Identity.load_or_create(path)


@pytest.mark.parametrize("damage", ["empty", "cut", "other", "swapped"])
def test_a_damaged_key_file_is_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "key.pem"
    Identity.load_or_create(path)
    whole = path.read_bytes()
    half = whole.index(b"-----BEGIN", 1)
    content = {"empty": b"", "cut": whole[:-40], "other": b"hello\n", "swapped": whole[half:] + whole[:half]}[damage]
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a key file"):
        Identity.load_or_create(path)
    assert path.read_bytes() == content


def test_a_key_file_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((InputError, OutputError), match="cannot be"):
        Identity.load_or_create(tmp_path / "file" / "key.pem")


@given(st.binary(min_size=32, max_size=32))
def test_a_device_has_one_name(key: bytes) -> None:
    name = device_name(key)
    assert len(name) == 52
    assert device_key(name) == key
    for other in (name.upper() if name.upper() != name else name + "a", name + "=", name[:-1], ""):
        with pytest.raises(ValueError, match=r"."):
            device_key(other)


def test_a_name_whose_spare_bits_are_set_is_not_a_name() -> None:
    name = device_name(bytes(32))
    with pytest.raises(ValueError, match="not the name"):
        device_key(name[:-1] + "b")


@pytest.mark.parametrize("device", ["", "é" * 52, "a" * 51, "1" * 52])
def test_nobody_signs_for_a_name_that_is_none(device: str) -> None:
    assert not verify(device, bytes(64), b"")


def test_secrets_differ_by_purpose_and_by_device() -> None:
    ann, bob = Identity.new(), Identity.new()
    assert ann.secret("log") == ann.secret("log")
    assert len({ann.secret("log"), ann.secret("other"), bob.secret("log")}) == 3
    assert pseudonym(bob.device, ann.secret("log")) != pseudonym(bob.device, bob.secret("log"))
    assert ann.device in repr(ann)
