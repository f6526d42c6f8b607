"""Speed, as ratios in one run: ``./run bench`` measures everything, ``./run bench simulation`` one part.

``--small`` only shows that a part runs: in seconds, on data so small that its figures say nothing.

Each part is a module of this folder with a ``main``; what they print is what stands in docs/performance.md.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

PARTS = (
    "simulation",
    "systems",
    "worlds",
    "b_sub",
    "social_election",
    "mops",
    "socio_aware_overlay",
    "pipeline",
    "node",
)


def main() -> None:
    asked, rest = (sys.argv[1:2], sys.argv[2:]) if sys.argv[1:2] and sys.argv[1] in PARTS else (PARTS, sys.argv[1:])
    if rest not in ([], ["--small"]) and asked is PARTS:
        sys.exit(f"bench: no part '{rest[0]}': choose from {', '.join(PARTS)}")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # parts share what they measure with
    for part in asked:
        sys.argv = [part, *rest]
        runpy.run_path(str(Path(__file__).parent / f"{part}.py"), run_name="__main__")


if __name__ == "__main__":
    main()
