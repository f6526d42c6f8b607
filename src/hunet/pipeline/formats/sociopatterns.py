"""SocioPatterns: ``t i j`` or ``i j t``, with or without classes: in contact during the 20 seconds up to t."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut, number_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

SAMPLE = 20.0
"""Seconds between two samples of the badges."""


def _parser(time: int, i: int, j: int) -> Callable[[DataFrame, Reading], DataFrame]:
    def parse(lines: DataFrame, reading: Reading) -> DataFrame:
        from pyspark.sql import functions as sf

        fields = (Field("end", time, number=True), Field("scanner", i), Field("seen", j))
        begin = sf.col("end") - sf.lit(SAMPLE if reading.scan is None else reading.scan)
        # The first sample of a log that counts from 0 has no 20 seconds before it.
        begin = sf.when(sf.col("end") >= 0, sf.greatest(begin, sf.lit(0.0))).otherwise(begin)
        return lines.transform(cut, r"\s+", fields, (3, 5)).withColumn("start", begin)

    return parse


def _sampled(place: int) -> Callable[[Head], bool]:
    def tell(head: Head) -> bool:
        if any(len(text.split()) not in (3, 5) or " CONN " in text for _, text in head.lines):
            return False
        times = [float(text.split()[place]) for _, text in head.lines]
        steady = all(before <= after for before, after in pairwise(times))
        return steady and all(time % SAMPLE == 0 for time in times)

    return tell


SOCIOPATTERNS = Format(
    name="sociopatterns",
    summary="SocioPatterns: t, i, j, and if there their classes; in contact from t - 20 s to t",
    example="1385982020 1 939 2BIO3 2BIO3",
    pattern=rf"{NUMBER}\s+\S+\s+\S+(?:\s+\S+\s+\S+)?",
    parse=_parser(0, 1, 2),
    tell=_sampled(0),
)

SOCIOPATTERNS_IJT = Format(
    name="sociopatterns-ijt",
    summary="SocioPatterns co-presence: i, j, t; in contact from t - 20 s to t",
    example="1507 1512 31500",
    pattern=rf"\S+\s+\S+\s+{NUMBER}(?:\s+\S+\s+\S+)?",
    parse=_parser(2, 0, 1),
    tell=lambda head: bool(number_rows(head)) and _sampled(2)(head) and not _sampled(0)(head),
)
