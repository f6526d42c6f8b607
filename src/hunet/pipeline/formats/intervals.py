"""Plain contact intervals: two nodes, start and end second, separated by blanks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut, number_rows
from hunet.pipeline.formats.milliseconds import in_milliseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

_FIELDS = (Field("scanner", 0), Field("seen", 1), Field("start", 2, number=True), Field("end", 3, number=True))


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:  # noqa: ARG001
    return lines.transform(cut, r"\s+", _FIELDS, (4,))


def _tell(head: Head) -> bool:
    return {len(row) for row in number_rows(head)} == {4} and not in_milliseconds(head)


INTERVALS = Format(
    name="intervals",
    summary="contact intervals: a, b, start s, end s",
    example="52 167 1211329764 1211329791",
    pattern=rf"\S+\s+\S+\s+{NUMBER}\s+{NUMBER}",
    parse=_parse,
    tell=_tell,
)
