"""What can go wrong, by whose fault it is; every message tells the reader what to do.

One root, so that a caller can catch everything of ours with one clause. The command line prints the message as
one line and exits with a non-zero status; it never shows a traceback for these.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class HunetError(Exception):
    """The root of all errors that hunet raises on purpose."""


class ConfigurationError(HunetError):
    """A name, a parameter or a combination of them that cannot work: the caller's to change."""


class InputError(HunetError):
    """A file that cannot be used as it is, with the line where that was noticed."""

    def __init__(self, path: Path | str, problem: str, line: int | None = None) -> None:
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {problem}")
        self.path, self.line, self.problem = path, line, problem


class OutputError(HunetError):
    """A result that could not be written; what stood there before is untouched."""


class PeerError(HunetError):
    """Something received from a peer that no honest peer sends: its fault, and refused."""


class ProtocolError(HunetError):
    """A protocol of this node broke the contract: a mistake in its code."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The tail of an error message: the nearest known name, or all of them if none is near.

    >>> did_you_mean("pusch", ["push", "pull"])
    "did you mean 'push'?"
    """
    names = sorted(known)
    near = get_close_matches(word, names, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names) or 'none'}"
