"""Whether anything acknowledged is lost or comes twice when nodes are killed: ``tests/node/kill.py``, 200 times.

./run bench kill --write
./run bench kill --small                  3 kills
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from pathlib import Path

from tests.node.kill import torture

from hunet import Node

TIMES, SEED = (3 if "--small" in sys.argv else 200), 1


def main() -> None:
    protocol = inspect.signature(Node).parameters["protocol"].default
    with tempfile.TemporaryDirectory() as folder:
        found = torture(TIMES, SEED, Path(folder))  # which raises AssertionError if something is lost or doubled
    print(f"{found['kills']} times kill -9 of one of two nodes with {protocol}, the default, seed {SEED}:")
    print(
        f"{found['acknowledged']:,} publications acknowledged, {found['delivered']:,} delivered; none lost, none twice."
    )


if __name__ == "__main__":
    main()
