"""Every program of bench/ still runs, on its smallest size, and writes nothing where it is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
PICTURES = {"gallery_figures", "mops_figure", "worlds_figures"}
QUICK = {"b_sub", "mops_figure"}
PROGRAMS = sorted(path.stem for path in BENCH.glob("*.py") if path.stem != "__main__")


def bench(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in PROGRAMS]
)
def test_every_bench_runs(tmp_path: Path, name: str) -> None:
    if name in PICTURES:
        bench(tmp_path, str(BENCH / f"{name}.py"), "drawn")
        assert list((tmp_path / "drawn").glob("*.svg"))
    else:
        assert bench(tmp_path, str(BENCH), name, "--small")
        assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_study_is_measured(tmp_path: Path) -> None:
    assert "16 runs" in bench(tmp_path, str(BENCH), "pipeline", "--study", "--runs", "16")


def test_one_size_is_measured(tmp_path: Path) -> None:
    assert "| push | 20 | 2,000 | 1,000 |" in bench(
        tmp_path, str(BENCH), "scaling", "--people", "20", "--systems", "push"
    )


def test_unknown_parts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no part 'nothing': choose from simulation"):
        bench(tmp_path, str(BENCH), "nothing")
