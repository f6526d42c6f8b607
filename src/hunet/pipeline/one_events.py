"""The ONE's events: connections and messages from files, and messages from its generator.

``MessageEventGenerator`` draws from Java's ``java.util.Random`` with the hash of the message prefix as its seed. Both
are small and defined to the bit, so that the messages here are those that The ONE makes from the same settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hunet.model.contact_files import parse_connection, parse_time
from hunet.model.errors import InputError
from hunet.model.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hunet.pipeline.one_settings import OneSettings


class OneMessage(NamedTuple):
    """A message from one host to one other."""

    id: str
    time: float
    source: int
    target: int
    size: int


class Connection(NamedTuple):
    """Two hosts connect, or disconnect."""

    time: float
    one: int
    two: int
    up: bool


def contacts_of(events: list[Connection], end: float) -> list[tuple[int, int, float, float]]:
    """Contacts (host, host, start, end) as The ONE keeps them: what is up cannot go up, what is down cannot go down.

    Those that are still open end with the simulation. A contact table that is read from such a file follows another
    rule, that of logs which both devices write: it goes down as often as it went up (``hunet.model.contact_files``).
    """
    opened: dict[tuple[int, int], float] = {}
    over: list[tuple[int, int, float, float]] = []
    for event in sorted(events, key=lambda event: event.time):
        pair = (min(event.one, event.two), max(event.one, event.two))
        if event.up:
            opened.setdefault(pair, event.time)
        elif pair in opened:
            over.append((*pair, opened.pop(pair), event.time))
    return over + [(*pair, since, end) for pair, since in opened.items()]


def read_events(path: Path, end: float, hosts: int) -> Iterator[Connection | OneMessage]:
    """The events of a file for ``ExternalEventsQueue``, as far as the simulation goes."""
    for line, row in enumerate(_text(path).splitlines(), 1):
        if not row.strip() or row.startswith("#"):
            continue
        try:
            event = _connection(row) if row.split()[1:2] == ["CONN"] else _message(row)
        except ValueError as error:
            raise InputError(path, str(error), line) from None
        one, two = (event.one, event.two) if isinstance(event, Connection) else (event.source, event.target)
        if one == two:
            raise InputError(path, f"a host with itself ({one})", line)
        if max(one, two) >= hosts:
            raise InputError(path, f"host {max(one, two)}, but the groups have hosts 0 to {hosts - 1} only", line)
        if event.time <= end:
            yield event


def _connection(row: str) -> Connection:
    time, one, two, up = parse_connection(row)
    return Connection(time, _address(one), _address(two), up)


def _message(row: str) -> OneMessage:
    words = row.split()
    if len(words) not in (6, 7) or words[1] != "C" or not words[5].isdecimal():
        raise ValueError(f"expected 'time CONN a b up|down' or 'time C id from to size', found '{row.strip()[:60]}'")
    if words[6:] not in ([], ["0"]):
        raise ValueError("asks for a response, which hunet does not know: drop the last number")
    return OneMessage(words[2], parse_time(words[0]), _address(words[3]), _address(words[4]), int(words[5]))


def generate_messages(settings: OneSettings, space: str, end: float, hosts: int) -> Iterator[OneMessage]:
    """The messages of a ``MessageEventGenerator``, bit by bit those of The ONE."""
    size = _bounds(settings, f"{space}.size")
    interval = _bounds(settings, f"{space}.interval")
    sources = _bounds(settings, f"{space}.hosts")
    targets = _bounds(settings, f"{space}.tohosts") if settings.find(f"{space}.tohosts") else sources
    prefix = settings.text(f"{space}.prefix")
    first, last = _window(settings, f"{space}.time") if settings.find(f"{space}.time") else (0.0, end)
    lone = sources == targets and sources[1] - sources[0] < 2
    if interval[0] < 1 or lone or max(sources[1], targets[1]) > hosts:
        found = settings.find(f"{space}.interval" if interval[0] < 1 else f"{space}.hosts")
        assert found is not None
        needs = "a second between messages" if interval[0] < 1 else f"at least two of the {hosts} hosts"
        raise found[1].error(f"'{found[0]}' needs {needs}, not '{found[1].value}'")
    draws = JavaRandom(java_hash(prefix))

    def within(low: int, high: int) -> int:
        return low + (draws.below(high - low) if high > low else 0)

    time, number = first + within(*interval), 0
    # The ONE's generator makes its first message also beyond the end of its time.
    while time <= end and (number == 0 or time <= last):
        number += 1
        source = within(*sources)
        target = within(*targets)
        while target == source:
            target = within(*targets)
        yield OneMessage(f"{prefix}{number}", time, source, target, within(*size))
        time += within(*interval)


class JavaRandom:
    """The generator of ``java.util.Random``: a linear congruence modulo 2^48, as its documentation defines it.

    >>> draws = JavaRandom(42)
    >>> [draws.below(100) for _ in range(5)]
    [30, 63, 48, 84, 70]
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) % (1 << 48)

    def below(self, bound: int) -> int:
        """A whole number from 0 to below the bound (``nextInt``)."""
        if bound & (bound - 1) == 0:
            return bound * self._bits() >> 31
        while True:
            bits = self._bits()
            value = bits % bound
            if bits - value + bound - 1 < 1 << 31:
                return value

    def _bits(self) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) % (1 << 48)
        return self._state >> 17


def java_hash(text: str) -> int:
    """The hash of a Java string.

    >>> java_hash("hello"), java_hash("polygenelubricants")
    (99162322, -2147483648)
    """
    value = 0
    units = text.encode("utf-16-be")
    for index in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[index : index + 2], "big")) % (1 << 32)
    return value - (1 << 32) if value >= 1 << 31 else value


def _bounds(settings: OneSettings, name: str) -> tuple[int, int]:
    """Both ends of a range; one number is both."""
    values = settings.wholes(name)
    if len(values) > 2 or values[0] > values[-1] or values[0] < 0:
        found = settings.find(name)
        assert found is not None
        raise found[1].error(f"'{name}' must be one number or two that rise, not '{found[1].value}'")
    return values[0], values[-1]


def _window(settings: OneSettings, name: str) -> tuple[float, float]:
    """From when to when messages are made."""
    values = settings.numbers(name)
    if len(values) != 2:
        found = settings.find(name)
        assert found is not None
        raise found[1].error(f"'{name}' must be two times, not '{found[1].value}'")
    return values[0], values[1]


def _address(word: str) -> int:
    """A host's number: what follows its group's letters."""
    found = re.fullmatch(r"\D*(\d+)", word)
    if not found:
        raise ValueError(f"'{word}' is no host: expected a number, or the letters of its group and a number")
    return int(found[1])


def _text(path: Path) -> str:
    import gzip
    import zlib

    content = read_bytes(path)
    try:
        return (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8")
    except (UnicodeDecodeError, EOFError, OSError, zlib.error):
        raise InputError(path, "is not text: write the events as text ('time CONN a b up')") from None
