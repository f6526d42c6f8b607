"""Haggle/CRAWDAD contacts with one file per scanner: seen, first and last second; the seer is the file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import NUMBER, Field, Format, Reading, cut, number_rows
from hunet.pipeline.formats.sociopatterns import SAMPLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hunet.pipeline.sources import Head

_FIELDS = (Field("seen", 0), Field("start", 1, number=True), Field("end", 2, number=True))


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:
    from pyspark.sql import functions as sf

    stems = sf.array(*(sf.lit(log.stem) for log in reading.files))
    return lines.transform(cut, r"\s+", _FIELDS, (3, 4, 5)).withColumn("scanner", sf.get(stems, "file"))


def _tell(head: Head) -> bool:
    rows = number_rows(head)
    if not head.file.stem.isdigit() or not rows or {len(row) for row in rows} - {3, 4, 5}:
        return False
    samples = all(row[0] % SAMPLE == 0 for row in rows) or all(row[2] % SAMPLE == 0 for row in rows)
    return not samples and all(row[2] - row[1] < row[1] or row[2] < row[1] for row in rows)


SCANNER_FILES = Format(
    name="scanner-files",
    summary="Haggle/CRAWDAD contacts, one file per scanner, which its name tells: seen, first s, last s",
    example="3 1130493728 1130493728",
    pattern=rf"\S+\s+{NUMBER}\s+{NUMBER}(?:\s+\d+){{0,2}}",
    parse=_parse,
    tell=_tell,
    internal="scanners",
)
