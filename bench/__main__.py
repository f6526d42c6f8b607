"""Speed, as ratios in one run: ``./run bench all`` measures everything, ``./run bench simulation`` one part.

All of them are small by default: in minutes, on data so small that the figures say little. ``--full`` measures what
stands in docs/performance.md, and ``--write`` puts what the parts print there, between their marks. Each part is a
module of this folder with a ``main``; where hunet is compiled (``./run compile``) its figures have marks of their own.
"""

from __future__ import annotations

import io
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

PARTS = (
    "simulation",
    "systems",
    "scaling",
    "worlds",
    "foresight",
    "b_sub",
    "social_election",
    "mops",
    "socio_aware_overlay",
    "pipeline",
    "node",
    "crowd",
    "kill",
)
PAGES = [Path(__file__).resolve().parents[1] / "docs" / name for name in ("performance.md", "node.md")]
LONGER = {"--people": "the largest", "--minutes": "for minutes"}


class Tee(io.StringIO):
    """Keeps what is printed, and shows it."""

    def __init__(self, shown: TextIO) -> None:
        super().__init__()
        self._shown = shown

    def write(self, text: str) -> int:
        self._shown.write(text)
        self._shown.flush()
        return super().write(text)


def main() -> None:
    asked, *rest = sys.argv[1:] or ["all"]
    if asked not in (*PARTS, "all"):
        sys.exit(f"bench: no part '{asked}': choose from {', '.join(PARTS)}, all")
    write = "--write" in rest
    rest = [word for word in rest if word != "--write"]
    if asked == "all":
        rest = [word for word in rest if word not in ("--full", "--small")] + ["--small"] * ("--full" not in rest)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # parts share what they measure with
    for part in PARTS if asked == "all" else (asked,):
        sys.argv = [part, *rest]
        with redirect_stdout(Tee(sys.stdout)) as printed:
            runpy.run_path(str(Path(__file__).parent / f"{part}.py"), run_name="__main__")
        if write:
            put_into_page(", ".join([part, *(LONGER[word] for word in rest if word in LONGER)]), printed.getvalue())


def put_into_page(part: str, text: str) -> None:
    """Put what a part printed into the page, if it has a place there."""
    from hunet.report.claims import replace_section
    from hunet.simulation import engine

    name = f"bench {part}" + ("" if str(engine.__file__).endswith(".py") else ", compiled")
    for page in PAGES:
        if f"<!-- {name} -->" in page.read_text("utf-8"):
            replace_section(page, text.strip(), name)
            print(f"{page.name}: {name} written", file=sys.stderr)


if __name__ == "__main__":
    main()
