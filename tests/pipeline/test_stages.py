"""Stages are told with their tasks to whoever asked, and nothing else happens."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hunet.cli.progress import progress_of_stages
from hunet.pipeline.session import cores, is_connect, stage, stages_told, watched

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2] / "src" / "hunet"


def test_stages_are_told_with_their_tasks(spark: SparkSession) -> None:
    told: list[tuple[str, int, int]] = []
    with stages_told(lambda *said: told.append(said)):
        with stage("counting"):
            assert spark.range(0, 10, 1, 5).count() == 10
        with stage("counting again"):
            assert spark.range(0, 10, 1, 3).count() == 10
    assert told[0] == ("counting", 0, 0)
    first, second = ([said for said in told if said[0] == name] for name in ("counting", "counting again"))
    assert first[-1] == ("counting", 6, 6), "five tasks that count, and one that adds up"
    assert second[-1] == ("counting again", 4, 4), "jobs of another stage are not counted"
    assert all(done <= known for _, done, known in told)


def test_nobody_listens(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then Spark is not even asked."""
    monkeypatch.setattr("hunet.pipeline.classic.watched", None)
    with stage("counting"), watched(spark, None):
        pass
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_stage(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with progress_of_stages(), stage("joining"):
        spark.range(0, 4, 1, 2).count()
    assert "joining" in terminal.getvalue()


def test_nothing_is_shown_elsewhere(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    with progress_of_stages(), stage("joining"):
        spark.range(0, 4, 1, 2).count()
    assert capfd.readouterr() == ("", "")


def test_the_users_own_job_group_comes_back(spark: SparkSession) -> None:
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", "theirs")
    try:
        with watched(spark, lambda done, known: None):
            assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") != "theirs"
        assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == "theirs"
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_what_a_session_says_of_itself(spark: SparkSession) -> None:
    assert not is_connect(spark)
    assert cores(spark) == 2


def test_only_one_module_needs_classic_spark() -> None:
    """Everything else runs on Spark Connect, which has none of these."""
    words = re.compile(r"sparkContext|SparkContext|_jvm\b|_jsc\b|\.rdd\b|statusTracker|\.broadcast\(\(")
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if words.search("\n".join(line for line in path.read_text().splitlines() if "``" not in line))
    }
    assert found == {"pipeline/classic.py"}
