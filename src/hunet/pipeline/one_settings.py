r"""The settings of The ONE: Java properties, run indexing, name spaces, numbers with suffixes.

Files are read in the order in which The ONE reads them: later ones win. A value in brackets has one part for each run,
``[EpidemicRouter; SprayAndWaitRouter]``; the parts begin again when there are more runs than parts. ``%%NAME%%`` in a
text stands for the value of another setting.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     file = Path(folder) / "settings.txt"
...     _ = file.write_text("Group.router = [EpidemicRouter; DirectDeliveryRouter]\nGroup.bufferSize = 5M\n"
...                         "Scenario.name = test-%%Group.router%%\n")
...     second = OneSettings.read([file]).at(1)
>>> second.filled("Scenario.name")
'test-DirectDeliveryRouter'
>>> second.whole("Group3.bufferSize", "Group.bufferSize")
5000000
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from hunet.model.errors import InputError
from hunet.model.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9}
_BLANKS = "".join(map(chr, range(33)))
"""What Java's trim takes away."""
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class OneSetting(NamedTuple):
    """A value as it was written, and where."""

    value: str
    path: Path
    line: int

    def error(self, problem: str) -> InputError:
        """What is wrong with it, with its file and line."""
        return InputError(self.path, problem, self.line)


class OneSettings:
    """All settings of a scenario, in one of its runs."""

    def __init__(self, entries: dict[str, OneSetting], run: int = 0, used: set[str] | None = None) -> None:
        self.entries = entries
        self._run = run
        self.used: set[str] = set() if used is None else used
        """Every setting that was ever asked for, in any run."""

    @classmethod
    def read(cls, paths: Iterable[Path]) -> OneSettings:
        """Read settings files, later ones win."""
        entries: dict[str, OneSetting] = {}
        for path in paths:
            entries |= read_properties(path)
        return cls(entries)

    def at(self, run: int) -> OneSettings:
        """The same settings in another run, counted from 0."""
        return OneSettings(self.entries, run, self.used)

    def parts(self, name: str) -> int:
        """How many runs a setting tells apart."""
        return len(_run_parts(self.entries[name].value))

    def find(self, *names: str) -> tuple[str, OneSetting] | None:
        """The first of these settings that has a value in this run (a group's own, then that of all groups)."""
        for name in names:
            setting = self.entries.get(name)
            if setting is not None:
                self.used.add(name)
                parts = _run_parts(setting.value)
                value = parts[self._run % len(parts)]
                if value:
                    return name, setting._replace(value=value)
        return None

    def text(self, *names: str, default: str | None = None) -> str:
        """A setting as it stands; without a default it must be there."""
        found = self.find(*names)
        if found is not None:
            return found[1].value
        if default is None:
            raise self.missing(names[-1])
        return default

    def missing(self, name: str) -> InputError:
        """The error of a setting that The ONE would ask for in vain."""
        files = list(dict.fromkeys(setting.path for setting in self.entries.values()))
        return InputError(files[-1] if files else "settings", f"has no setting '{name}', which The ONE needs: add it")

    def filled(self, *names: str) -> str:
        """A setting in which %%NAME%% has been replaced by the value of NAME."""
        found = self.find(*names)
        if found is None:
            raise self.missing(names[-1])
        pieces = found[1].value.split("%%")
        if len(pieces) % 2 == 0:
            raise found[1].error(f"'{found[0]}' has an odd number of %%: write %%NAME%%")
        for index in range(1, len(pieces), 2):
            if self.find(pieces[index]) is None:
                raise found[1].error(f"'{found[0]}' asks for '{pieces[index]}', which no file sets")
            pieces[index] = self.text(pieces[index])
        return "".join(pieces)

    def numbers(self, *names: str) -> list[float]:
        """Numbers that are separated by commas; k, M and G stand for thousands, millions and thousand millions."""
        found = self.find(*names)
        if found is None:
            raise self.missing(names[-1])
        name, setting = found
        values = []
        for written in setting.value.split(","):
            word = written.strip()
            factor = _SUFFIXES.get(word[-1:], 1)
            try:
                value = float(word[:-1] if factor > 1 else word) * factor
            except ValueError:
                raise setting.error(f"'{name}' must be a number, if wanted with k, M or G, not '{word}'") from None
            if not math.isfinite(value):
                raise setting.error(f"'{name}' must be a finite number, not '{word}'")
            values.append(value)
        return values

    def wholes(self, *names: str) -> list[int]:
        """The same for whole numbers."""
        values = self.numbers(*names)
        if not all(value.is_integer() for value in values):
            found = self.find(*names)
            assert found is not None
            raise found[1].error(f"'{found[0]}' must be whole, not '{found[1].value}'")
        return [int(value) for value in values]

    def number(self, *names: str) -> float:
        """One number."""
        return self._one(self.numbers(*names), names)

    def whole(self, *names: str) -> int:
        """One whole number."""
        return int(self._one([float(each) for each in self.wholes(*names)], names))

    def truth(self, *names: str, default: bool) -> bool:
        """A setting that is true or false, or 1 or 0."""
        found = self.find(*names)
        if found is None:
            return default
        known = {"true": True, "1": True, "false": False, "0": False}
        value = known.get(found[1].value.lower())
        if value is None:
            raise found[1].error(f"'{found[0]}' must be true or false, not '{found[1].value}'")
        return value

    def _one(self, values: list[float], names: tuple[str, ...]) -> float:
        if len(values) != 1:
            found = self.find(*names)
            assert found is not None
            raise found[1].error(f"'{found[0]}' must be one number, not '{found[1].value}'")
        return values[0]


def read_properties(path: Path) -> dict[str, OneSetting]:
    """A file of Java properties: keys with the value that was written last."""
    found: dict[str, OneSetting] = {}
    for line, text in _logical_lines(read_bytes(path).decode("latin-1")):
        split = re.match(r"((?:\\.|[^\\ \t\f=:])*)[ \t\f]*[=:]?[ \t\f]*(.*)", text, re.DOTALL)
        assert split is not None
        key, value = (_unescaped(part, path, line) for part in split.groups())
        found[key] = OneSetting(value.strip(_BLANKS), path, line)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, joined where a backslash ends them; each with the number of its first."""
    held, first = "", 0
    for number, row in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = row.lstrip(" \t\f")
        if not held and (not line or line[0] in "#!"):
            continue
        if not held:
            first = number
        continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        held += line[:-1] if continued else line
        if not continued:
            yield first, held
            held = ""
    if held:
        yield first, held


def _unescaped(text: str, path: Path, line: int) -> str:
    def letter(found: re.Match[str]) -> str:
        sign = found[1]
        if sign[0] != "u":
            return _ESCAPES.get(sign, sign)
        if len(sign) != 5:
            raise InputError(path, f"'\\{sign}' is no character: write \\u and four hexadecimal digits", line)
        return chr(int(sign[1:], 16))

    written = re.sub(r"\\(u[0-9a-fA-F]{4}|.|$)", lambda m: letter(m) if m[1] else "", text, flags=re.DOTALL)
    # Java keeps what is beyond 16 bits as two halves.
    return written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _run_parts(value: str) -> list[str]:
    """The parts of a value in brackets, or the value alone."""
    if len(value) < 3 or value[0] != "[" or value[-1] != "]":
        return [value]
    parts = [part.strip() for part in value[1:-1].split(";")]
    while len(parts) > 1 and not parts[-1]:  # as Java splits: what is empty at the end does not count
        parts.pop()
    return parts
