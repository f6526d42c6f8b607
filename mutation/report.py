"""What came out: kept as JSON for the next run, written as a page for people."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

BEFORE = """\
Figures of a sample that tests were written for flatter; what counts is a fresh one. Before there was this command, 298
mutants of 19 modules had been tried, and 79 % of those not equivalent were killed. Fresh samples, with the tests of
their day: seed 1, 79 % of 381; seed 2, 83 % of 58 in protocols, B-SUB and a part of MOPS, none judged; seed 3, 90.3 %
of 384 (327 killed, 22 equivalent); seed 4, 90.2 % of 383 (323 killed, 25 equivalent). After each, tests were written
for the survivors, or code was removed that they showed to be needless."""

Name = tuple[str, str, str]
"""Module, text of the line, change."""

HEAD = """\
# Mutation testing

`./run mutate` puts small errors, *mutants*, into the source, one by one, and runs the tests that come to the changed
line: a test that fails has killed the mutant. It changes comparisons, arithmetic, `and` and `or`, constants,
conditions, orders, `min` and `max`, and leaves out calls and returned values. Log lines and texts of errors
are not changed. The sample is drawn with a seed. It runs by hand, not in CI, and takes about an hour on two cores:

```text
./run mutate
./run mutate engine systems/b_sub
./run mutate --survivors
```

The first line tries everything, the second some modules and folders, the third what survived the last time. The command
writes this page, from `mutation/results.json`. A mutant meets the tests of its own module first; if it survives, wider
ones. What no test can tell from the original, or what changes speed or taste alone, is judged *equivalent*, with a
reason, in `mutation/equivalent.toml`.
"""
COLUMNS = "module", "lines of code", "mutants", "killed by own tests", "by wider tests", "survive", "equivalent"
LAST_COLUMN = "killed of those not equivalent"


@dataclass(slots=True)
class Survivor:
    """A mutant that no test noticed."""

    number: int
    line: str
    change: str
    executed: bool
    nth: int = 0
    """Which of those with the same line and change."""


@dataclass(slots=True)
class Outcome:
    """What became of the mutants of one module."""

    lines: int
    own: int = 0
    """Killed by the module's own tests."""
    wider: int = 0
    """Killed by others."""
    survivors: list[Survivor] = field(default_factory=list)

    @property
    def mutants(self) -> int:
        return self.own + self.wider + len(self.survivors)


def judgements(path: Path) -> dict[Name, str]:
    """The mutants judged equivalent, and why."""
    entries = tomllib.loads(path.read_text("utf-8")).get("mutant", [])
    return {(one["module"], one["line"], one["change"]): one["reason"] for one in entries}


def read_results(path: Path) -> dict[str, Outcome]:
    """By module."""
    if not path.exists():
        return {}
    return {
        module: Outcome(**{**one, "survivors": [Survivor(**survivor) for survivor in one["survivors"]]})
        for module, one in json.loads(path.read_text("utf-8")).items()
    }


def write_results(path: Path, results: dict[str, Outcome]) -> None:
    """Sorted, so that versions can be compared."""
    kept = {module: asdict(results[module]) for module in sorted(results)}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


def write_page(path: Path, results: dict[str, Outcome], judged: dict[Name, str], seed: int) -> None:
    """The table, the survivors one by one, and what was judged equivalent."""
    rows = []
    alive: list[str] = []
    equivalent: list[str] = []
    total = [0, 0, 0, 0, 0, 0]
    for module, one in sorted(results.items()):
        same = 0
        for survivor in one.survivors:
            reason = judged.get((module, survivor.line, survivor.change))
            same += reason is not None
            text = f"- `{module}:{survivor.number}` {_code(survivor.change)}"
            if reason is not None:
                equivalent.append(f"{text}: {reason}")
            else:
                alive.append(
                    f"{text}, in {_code(survivor.line)}" + ("" if survivor.executed else "; no test comes here")
                )
        row = [one.lines, one.mutants, one.own, one.wider, len(one.survivors) - same, same]
        total = [left + right for left, right in zip(total, row, strict=True)]
        rows.append(_row(module.removeprefix("hunet/").removesuffix(".py"), row))
    page = [
        HEAD,
        f"The last figures, with seed {seed}: of {total[1]} mutants {_share(total[2], total[1])} are killed by the",
        "tests of their own module. Of those that are not equivalent",
        f"{_share(total[2] + total[3], total[1] - total[5])} are killed by these and wider ones.",
        BEFORE,
        "",
        f"| {' | '.join(COLUMNS)} | {LAST_COLUMN} |",
        "|---" * (len(COLUMNS) + 1) + "|",
        *rows,
        _row("**all**", total),
        "",
        "## Survivors",
        "",
        *(alive or ["None."]),
        "",
        "## Judged equivalent",
        "",
        *(equivalent or ["None."]),
    ]
    path.write_text("\n".join(page) + "\n", "utf-8")


def _row(name: str, row: list[int]) -> str:
    share = _share(row[2] + row[3], row[1] - row[5])
    return f"| {name} | {' | '.join(str(cell) for cell in row)} | {share} |"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"
