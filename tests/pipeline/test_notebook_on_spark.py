"""Studies of a notebook on Spark give what they give in its own process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import hunet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_study_on_spark_is_the_same_as_here(spark: SparkSession) -> None:
    crowd = hunet.make_world("waypoint", seed=1, nodes=12, duration=300)
    told: dict[str, Any] = {"repetitions": 2, "workload": {"messages": 10, "topics": 2}}
    here = hunet.study(crowd, ["push", "pull"], **told)
    there = hunet.study(crowd, ["push", "pull"], spark=spark, **told)
    assert here.table.equals(there.table)
