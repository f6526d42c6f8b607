"""Haggle/CRAWDAD contact tables in one file: seer, seen, first and last second, and if there a number and a gap.

Who scans takes part; whoever was only ever seen is an external device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut, number_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIELDS = (Field("scanner", 0), Field("seen", 1), Field("start", 2, number=True), Field("end", 3, number=True))


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    return lines.transform(cut, r"\s+", _FIELDS, (4, 5, 6))


HAGGLE = Format(
    name="haggle",
    summary="Haggle/CRAWDAD contact table: seer, seen, first s, last s, number, gap",
    example="1 40 21574 21687 1 0",
    pattern=rf"\S+\s+\S+\s+{NUMBER}\s+{NUMBER}(?:\s+\d+){{0,2}}",
    parse=_parse,
    tell=lambda head: {len(row) for row in number_rows(head)} == {6},
    internal="scanners",
)
