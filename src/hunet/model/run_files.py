"""The results of a study as rows, one a run, from the files that ``hunet study`` writes.

``runs/protocol=NAME/KEY.parquet`` has the row of a run, ``failed/protocol=NAME/KEY.parquet`` that of a run that failed
(``hunet.pipeline.study_results.RUNS`` describes the columns). Reports, claims, summaries and advice all read results
here, and mean the same by a complete repetition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]

_JSON = ("axes", "name", "observed", "role_time")


def read_runs(folder: Path | str) -> list[Row]:
    """The rows of all runs, in the order of the grid; where ``error`` is not None the run failed.

    ``brokers`` is the mean number of nodes that were brokers, if the protocol has any, and ``forwards`` the data
    packets per publication.
    """
    import pyarrow.parquet as pq

    rows = {}
    for kind in ("failed", "runs"):  # a result wins over an earlier failure
        for path in sorted(Path(folder).glob(f"{kind}/protocol=*/*.parquet")):
            with pq.ParquetFile(path) as file:
                found = read_table(file.read())
            for row in found:  # one, or many if Spark wrote the file
                rows[row["key"]] = row | {"protocol": path.parent.name.removeprefix("protocol=")}
    return sorted(rows.values(), key=lambda row: (row["point"], row["repetition"]))


def read_table(table: pa.Table) -> list[Row]:
    """The rows of a table of runs."""
    rows: list[Row] = table.to_pylist()
    for row in rows:
        row |= {column: json.loads(row[column]) for column in _JSON if row.get(column) is not None}
        row["brokers"] = (row.get("role_time") or {}).get("broker")
        row["forwards"] = row["relayed"] / row["created"] if row.get("created") and "relayed" in row else None
    return rows


def add_figures(rows: Iterable[Row], figures: Mapping[str, Callable[[Row], float | None]]) -> None:
    """Add the papers' own figures to runs; None where a run has not what a figure is made of.

    >>> rows = [{"observed": {"score": 3}}, {"observed": {}}]
    >>> add_figures(rows, {"throughput": lambda row: row["observed"]["score"]})
    >>> [row["throughput"] for row in rows]
    [3, None]
    """
    for row in rows:
        for name, figure in figures.items():
            try:
                row[name] = figure(row)
            except (KeyError, AttributeError, TypeError, ValueError, ZeroDivisionError, FileNotFoundError):
                row[name] = None


def complete(rows: Iterable[Row]) -> list[Row]:
    """The rows of the repetitions in which no point is missing that another repetition has.

    A repetition that is under way would have some protocols judged on other seeds than the rest.

    >>> done = [{"repetition": 0, "point": 0}, {"repetition": 0, "point": 1}, {"repetition": 1, "point": 0}]
    >>> complete(done) == done[:2]
    True
    """
    rows = list(rows)
    points: dict[int, set[int]] = {}
    for row in rows:
        points.setdefault(row["repetition"], set()).add(row["point"])
    known = set().union(*points.values())
    return [row for row in rows if points[row["repetition"]] == known]
