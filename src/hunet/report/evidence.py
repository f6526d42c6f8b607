"""Evidence: the runs that judge a system's claims, kept beside its studies.

One row for each judging run: the study, the protocol, the seed, the point (JSON), and the figures that rules ask for.
Results of which only means were kept have no seed: ``runs`` says over how many runs, and ``FIGURE ±`` is half of the
95 % interval. A test judges every claim from these rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hunet.model.files import file_in_place
from hunet.model.run_files import add_figures
from hunet.report.claims import Rules
from hunet.report.paper_figures import Panel, draw_figures
from hunet.report.runs import Row, Runs, Studies, axes_of, read_studies
from hunet.report.yardstick import At, names_of

EVIDENCE = "evidence.parquet"
"""Its name in the folder of a system's studies."""
_KEYS = ("study", "protocol", "seed", "runs", "coordinates")


class Evaluation(NamedTuple):
    """A paper's evaluation done again: the rules, the figures that the paper reports, and the folder of the studies."""

    rules: Rules
    figures: Mapping[str, Callable[[Row], float | None]]
    folder: Path
    coordinates: Callable[[Row], Row] = axes_of
    panels: Sequence[Panel] = ()
    """The figures of the paper."""

    def read(self, results: Path) -> Studies:
        """The studies that have results for all their points, with the paper's own figures as columns."""
        names = sorted(file.stem for file in self.folder.glob("*.toml"))
        found = read_studies(results, names, self.coordinates)
        whole = {name: runs for name, runs in found.items() if _whole(results / name, runs)}
        for runs in whole.values():
            add_figures(runs.rows, self.figures)
        return whole

    def section(self, studies: Studies) -> str:
        """The table of the claims, judged by these studies and, of the others, by the rows that are kept."""
        judges, kept = judging(studies, self.folder)
        return self.rules.section(judges, kept)

    def comparisons(self, studies: Studies) -> str:
        """All comparisons of all claims, point by point."""
        details = self.rules.details(judging(studies, self.folder)[0])
        texts = (
            [f"### {claim.id}: {claim.verdict}", *(f"- {each.text}" for each in judged)] for claim, judged in details
        )
        return "\n\n".join("\n".join(lines) for lines in texts)

    def draw(self, studies: Studies, path: Path) -> bool:
        """Draw the figures of the paper, in all readings; returns whether there was anything to draw."""
        return draw_figures(self.panels, self.rules.found(judging(studies, self.folder)[0]), path)

    def origins(self, studies: Studies) -> str:
        """Which studies were run anew, and of which rows are kept."""
        kept = judging(studies, self.folder)[1]
        return f"judged by {len(studies)} studies that were run and by kept rows of {len(kept)}"

    def keep(self, studies: Studies) -> int:
        """Keep the rows of these studies that the rules ask for, and what is kept of others; returns how many."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        asked = _asked(
            self.rules, [at for panel in self.panels for each in panel.curves for at in each.points().values()]
        )
        judges, _ = judging(studies, self.folder)
        rows = [row for name, runs in judges.items() for row in _kept(name, runs, asked.get(name, ()))]
        rows.sort(key=lambda row: (row["study"], row["protocol"] or "", row["coordinates"], row["seed"] or 0))
        figures = sorted({name for row in rows for name in row} - set(_KEYS))
        types = {"seed": pa.int64(), "runs": pa.int32()} | dict.fromkeys(
            ("study", "protocol", "coordinates"), pa.string()
        )
        columns = {
            name: pa.array([row.get(name) for row in rows], types.get(name, pa.float64()))
            for name in (*_KEYS, *figures)
        }
        with file_in_place(self.folder / EVIDENCE) as partial:
            pq.write_table(pa.table(columns), partial, compression="zstd")
        return len(rows)


def _asked(rules: Rules, drawn: list[At]) -> dict[str, set[str]]:
    """The metrics that rules and figures ask for, by study; a study of a reading has those of what it stands for."""
    asked: dict[str, set[str]] = {}
    for at in (*names_of(rules.rules), *drawn):
        for suffix in ("", *rules.suffixes.values()):
            asked.setdefault(at.study + suffix, set()).add(at.metric)
    return asked


def _whole(folder: Path, runs: Runs) -> bool:
    """Whether a study has runs at all the points of its plan."""
    plan = folder / "study.json"
    planned = json.loads(plan.read_text("utf-8")).get("points", []) if plan.exists() else []
    return len({row["point"] for row in runs.rows}) >= len(planned)


def read_evidence(folder: Path) -> Studies:
    """The studies that are kept in a folder, none if it keeps none."""
    import pyarrow.parquet as pq

    path = folder / EVIDENCE
    if not path.exists():
        return {}
    found: dict[str, list[Row]] = {}
    for row in pq.read_table(path).to_pylist():
        kept = {name: value for name, value in row.items() if value is not None}
        found.setdefault(row["study"], []).append(
            {**kept, "coordinates": json.loads(row["coordinates"]), "seed": row["seed"]}
        )
    return {study: Runs(_numbered(rows)) for study, rows in found.items()}


def _numbered(rows: list[Row]) -> list[Row]:
    """With a repetition for each seed."""
    seeds = sorted({row["seed"] for row in rows if row["seed"] is not None})
    return [{**row, "repetition": seeds.index(row["seed"]) if row["seed"] is not None else 0} for row in rows]


def judging(results: Studies, folder: Path) -> tuple[Studies, list[str]]:
    """The studies that judge: those with results, and of the others what is kept; and the names of the latter."""
    kept = {name: runs for name, runs in read_evidence(folder).items() if name not in results}
    return {**kept, **results}, sorted(kept)


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
            yield {**keys, "coordinates": json.dumps(row["coordinates"], sort_keys=True, ensure_ascii=False), **figures}
