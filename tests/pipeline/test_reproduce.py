"""``hunet reproduce``: studies run, pages written, what is missing said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STUDY = """
protocol = ["b-sub", "b-sub-p", "b-sub-push", "b-sub-pull"]
repetitions = 3
[[world]]
name = "waypoint"
nodes = 8
duration = 600
[parameters]
exact = true
[parameters.b-sub]
decay_cycle = [16, 256]
[parameters.b-sub-p]
decay_cycle = [16, 256]
[workload]
kind = "tags"
max_interval = 60
ttl = 300
"""


def test_a_paper_is_done_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hunet: Any
) -> None:
    del spark  # the session that the command finds running
    monkeypatch.chdir(tmp_path)

    assert "did you mean 'b-sub'?" in hunet("reproduce", "bsub")[2]
    assert "did you mean 'figure-9-reality'?" in hunet("reproduce", "b-sub", "--study", "figure-9-realty")[2]

    for folder in ("studies", "docs/systems"):
        Path(folder).mkdir(parents=True)
    Path("studies/figure-9-made-up-crowd.toml").write_text(STUDY)
    Path("studies/figure-9-infocom06.toml").write_text('contacts = "infocom06"\n')
    monkeypatch.setattr("hunet.systems.studies_of", lambda _: sorted(Path("studies").glob("*.toml")))
    page = Path("docs/systems/b-sub.md")
    names = ("figure 9, made-up crowd", "claims")
    page.write_text("".join(f"<!-- {name} -->\n<!-- end of {name} -->\n" for name in names))
    summary = Path("docs/claims.md")
    for place in (summary, Path("README.md")):
        place.write_text("<!-- claims -->\n<!-- end of claims -->\n")
    status, said, problem = hunet("reproduce", "b-sub", "--quick", "--docs", "docs")
    assert status == 0
    assert "figure-9-made-up-crowd: 12 runs, 0 failed" in said
    assert f"figure-9-infocom06: left out: {Path('traces/b-sub/infocom06')}: no such file" in problem
    assert "judged by 1 studies that were run and by kept rows of " in said
    assert page.read_text().count("| b-sub") == 6
    assert " ± " in page.read_text()
    assert Path("results/b-sub/claims.md").read_text().count("| b-sub") == 6
    assert "### BS-1: not reproduced\n- delivery_ratio of b-sub-push" in Path("results/b-sub/claims.md").read_text()
    assert "| [B-SUB](systems/b-sub.md) |" in summary.read_text()
    assert "| BS-8 | reproduced | reproduced |" in summary.read_text()
    assert "| [B-SUB](docs/systems/b-sub.md) |" in Path("README.md").read_text()
    # Rows that are kept judge in seconds, and nothing is run.
    status, said, _ = hunet("reproduce", "b-sub", "--kept", "-o", "none")
    assert (status, "runs" in said) == (0, False)
    assert "judged by 0 studies that were run" in said
    # A full run goes on from the quick one; without --docs no page is touched.
    page.write_text("ours")
    assert "figure-9-made-up-crowd: 18 runs, 0 failed" in hunet("reproduce", "b-sub")[1]
    assert len(list(Path("results/b-sub/figure-9-made-up-crowd/runs").glob("*/*.parquet"))) == 18
    assert page.read_text() == "ours"
