"""The ONE's settings: properties as Java reads them, runs, numbers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.model.errors import InputError
from hunet.pipeline.one_events import JavaRandom, java_hash
from hunet.pipeline.one_settings import OneSettings, read_properties


def settings(tmp_path: Path, *texts: str) -> OneSettings:
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text(text)
    return OneSettings.read(files)


def escaped(text: str, key: bool) -> str:
    """As java.util.Properties.store writes it."""
    out = ""
    for place, sign in enumerate(text):
        if sign in "\t\n\r\f":
            out += "\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[sign]
        elif sign in "\\=:#!" or (sign == " " and (key or place == 0)):
            out += "\\" + sign
        elif not " " <= sign <= "~":
            units = sign.encode("utf-16-be")
            out += "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
        else:
            out += sign
    return out


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Values are read without the blanks around them, as The ONE does before it uses them.
values = words.map(lambda text: text.strip("".join(map(chr, range(33)))))


@given(st.dictionaries(words.filter(bool), values, max_size=6), st.sampled_from([" = ", "=", ":", " : ", "\t", " "]))
def test_what_java_writes_is_read_back(content: dict[str, str], sign: str) -> None:
    lines = ["# a comment", "! another", ""]
    lines += [escaped(key, True) + sign + escaped(value, False) for key, value in content.items()]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "settings.txt"
        file.write_text("\n".join(lines), "latin-1")
        found = read_properties(file)
    assert {key: setting.value for key, setting in found.items()} == content
    assert [setting.line for setting in found.values()] == list(range(4, 4 + len(content)))


parts = st.lists(st.text("abcXYZ019.,", min_size=1, max_size=5), min_size=1, max_size=5)


@given(parts, st.integers(0, 30), st.sampled_from([";", " ; ", "; "]))
def test_runs_take_turns(values: list[str], run: int, between: str) -> None:
    with TemporaryDirectory() as folder:
        found = settings(Path(folder), f"Group.router = [{between.join(values)}]\nName.it = a%%Group.router%%b\n")
    assert found.parts("Group.router") == len(values)
    assert found.at(run).text("Group.router") == values[run % len(values)]
    assert found.at(run).filled("Name.it") == f"a{values[run % len(values)]}b"


@given(st.integers(0, 10**6), st.sampled_from(["", "k", "M", "G"]))
def test_numbers_have_suffixes(number: int, suffix: str) -> None:
    with TemporaryDirectory() as folder:
        found = settings(Path(folder), f"a = {number}{suffix}, 0.5k")
    factor = {"": 1, "k": 1000, "M": 1000_000, "G": 1000_000_000}[suffix]
    assert found.wholes("a") == [number * factor, 500]


def test_lines_go_on_after_a_backslash_and_later_files_win(tmp_path: Path) -> None:
    found = settings(tmp_path, "a.b = one, \\\n      two\nc: 1\n  d 5 \r\ne\n", "c = 2\n")
    assert found.text("a.b") == "one, two"
    assert found.text("c") == "2"
    assert found.text("d") == "5"
    assert found.find("e") is None  # a setting without a value is not there
    assert found.text("Group1.c", "c") == "2"
    assert found.used == {"a.b", "c", "d", "e"}


@pytest.mark.parametrize(
    ("text", "ask", "problem"),
    [
        ("\n a = 5x", "a", "0.txt, line 2: 'a' must be a number, if wanted with k, M or G, not '5x'"),
        ("a = 1.5", "a", "0.txt, line 1: 'a' must be whole, not '1.5'"),
        ("a = 1, 2", "a", "0.txt, line 1: 'a' must be one number, not '1, 2'"),
        ("a = 1", "b", "has no setting 'b', which The ONE needs: add it"),
        ("a = nan", "a", "must be a finite number"),
    ],
)
def test_wrong_numbers(tmp_path: Path, text: str, ask: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        settings(tmp_path, text).whole(ask)
    assert problem in str(error.value)


def test_wrong_texts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: 'a' asks for 'b', which no file sets"):
        settings(tmp_path, "a = x%%b%%y").filled("a")
    with pytest.raises(InputError, match="odd number of %%"):
        settings(tmp_path, "a = x%%b").filled("a")
    with pytest.raises(InputError, match="must be true or false, not 'maybe'"):
        settings(tmp_path, "a = maybe").truth("a", default=True)
    with pytest.raises(InputError, match=r"line 1: .*four hexadecimal digits"):
        settings(tmp_path, "a = \\u12")
    with pytest.raises(InputError, match="no such file"):
        OneSettings.read([tmp_path / "none.txt"])


def test_random_numbers_are_javas() -> None:
    """As java.util.Random said when it was asked."""
    draws = JavaRandom(77)
    assert [draws.below(100) for _ in range(5)] == [27, 14, 38, 34, 11]
    assert [draws.below(64) for _ in range(5)] == [19, 50, 53, 6, 21]
    assert [draws.below(2**30 + 1) for _ in range(5)] == [314445131, 249402337, 835300554, 282374671, 650661032]
    draws = JavaRandom(0)
    assert [draws.below(10) for _ in range(10)] == [0, 8, 9, 7, 5, 3, 1, 1, 9, 4]
    draws = JavaRandom(-1)
    assert all(0 <= draws.below(bound) < bound for bound in (1, 2, 3, 1 << 30, (1 << 31) - 1) for _ in range(50))
    assert java_hash("M") == 77
    assert java_hash("") == 0
