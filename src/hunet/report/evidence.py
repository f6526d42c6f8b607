"""Evidence: the runs that judge a system's claims, kept beside its studies.

One row for each judging run: the study, the protocol, the seed, the point (JSON), and the figures that rules ask for.
Results of which only means were kept have no seed: ``runs`` says over how many runs, and ``FIGURE ±`` is half of the
95 % interval. A test judges every claim from these rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hunet.model.files import file_in_place
from hunet.report.claims import Rules, points_of
from hunet.report.runs import Metric, Row, Runs, Studies, axes_of, read_studies

EVIDENCE = "evidence.parquet"
"""Its name in the folder of a system's studies."""
_KEYS = ("study", "protocol", "seed", "runs", "place")


class Evaluation(NamedTuple):
    """A paper's evaluation done again: the rules, the figures that the paper reports, and the folder of the studies."""

    rules: Rules
    figures: Mapping[str, Metric]
    folder: Path
    place: Callable[[Row], Row] = axes_of

    def read(self, results: Path) -> Studies:
        """The studies that have results for all their points, with the paper's own figures as columns."""
        names = sorted(file.stem for file in self.folder.glob("*.toml"))
        found = read_studies(results, names, self.place)
        whole = {name: runs for name, runs in found.items() if _whole(results / name, runs)}
        return with_figures(whole, self.figures)

    def section(self, studies: Studies) -> str:
        """The table of the claims, judged by these studies and, of the others, by the rows that are kept."""
        judges, kept = judging(studies, self.folder)
        return self.rules.section(judges, kept)


def _whole(folder: Path, runs: Runs) -> bool:
    """Whether a study has runs at all the points of its plan."""
    plan = folder / "study.json"
    planned = json.loads(plan.read_text("utf-8")).get("points", []) if plan.exists() else []
    return len({row["point"] for row in runs.rows}) >= len(planned)


def with_figures(studies: Studies, figures: Mapping[str, Metric]) -> Studies:
    """The studies, with a system's own figures as columns of each run."""
    for runs in studies.values():
        for row in runs.rows:
            row |= {name: value for name, figure in figures.items() if (value := _figure(row, figure)) is not None}
    return studies


def _figure(row: Row, figure: Metric) -> float | None:
    """None where a run has not what it is made of."""
    try:
        return row[figure] if isinstance(figure, str) else figure(row)
    except (KeyError, TypeError, FileNotFoundError):
        return None


def read_evidence(folder: Path) -> Studies:
    """The studies that are kept in a folder, none if it keeps none."""
    import pyarrow.parquet as pq

    path = folder / EVIDENCE
    if not path.exists():
        return {}
    found: dict[str, list[Row]] = {}
    for row in pq.read_table(path).to_pylist():
        kept = {name: value for name, value in row.items() if value is not None}
        found.setdefault(row["study"], []).append({**kept, "place": json.loads(row["place"]), "seed": row["seed"]})
    return {study: Runs(_numbered(rows)) for study, rows in found.items()}


def _numbered(rows: list[Row]) -> list[Row]:
    """With a repetition for each seed."""
    seeds = sorted({row["seed"] for row in rows if row["seed"] is not None})
    return [{**row, "repetition": seeds.index(row["seed"]) if row["seed"] is not None else 0} for row in rows]


def judging(results: Studies, folder: Path) -> tuple[Studies, list[str]]:
    """The studies that judge: those with results, and of the others what is kept; and the names of the latter."""
    kept = {name: runs for name, runs in read_evidence(folder).items() if name not in results}
    return {**kept, **results}, sorted(kept)


def keep(folder: Path, studies: Studies, rules: Rules) -> int:
    """Keep the rows that the rules ask for; returns how many. What is kept of other studies stays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    asked: dict[str, set[str]] = {}
    for rule in rules.rules:
        reasons = [at for reason in rule.reasons for each in reason.shown for at in each.names()]
        sweeps = [c for core in (rule.sweep.cores.values() if rule.sweep else ()) for c in core]
        swept = [at for c in sweeps for v in c.values() if not isinstance(v, (int, float)) for at in v.names()]
        for at in (*points_of(rule), *reasons, *swept):
            asked.setdefault(at.study, set()).add(at.metric)
    rows = [
        kept for name, runs in judging(studies, folder)[0].items() for kept in _kept(name, runs, asked.get(name, ()))
    ]
    rows.sort(key=lambda row: (row["study"], row["protocol"] or "", row["place"], row["seed"] or 0))
    figures = sorted({name for row in rows for name in row} - set(_KEYS))
    columns = {name: [row.get(name) for row in rows] for name in (*_KEYS, *figures)}
    types = {"seed": pa.int64(), "runs": pa.int32()} | dict.fromkeys(("study", "protocol", "place"), pa.string())
    made = {name: pa.array(values, types.get(name, pa.float64())) for name, values in columns.items()}
    with file_in_place(folder / EVIDENCE) as place:
        pq.write_table(pa.table(made), place, compression="zstd")
    return len(rows)


def _kept(study: str, runs: Runs, metrics: Iterable[str]) -> Iterable[Row]:
    """The rows of a study with the figures that are asked for."""
    asked = [name for metric in metrics for name in (metric, f"{metric} ±")]
    for row in runs.rows:
        figures: dict[str, Any] = {name: float(row[name]) for name in asked if row.get(name) is not None}
        if figures:
            keys = {
                "study": study,
                "protocol": row.get("protocol"),
                "seed": row.get("seed"),
                "runs": row.get("runs", 1),
            }
            yield {**keys, "place": json.dumps(row["place"], sort_keys=True, ensure_ascii=False), **figures}
