"""The project's own encounter log: what a live node writes down of whom it met.

JSON lines, one per contact that has ended, appended as it ends::

    {"device": "ann", "met": "bob", "start": 1700000000.25, "end": 1700000360.5}

``device`` is the node whose log it is; both names are pseudonyms, unless its owner wants otherwise. Times are Unix
seconds by the node's own clock; other keys are ignored. Each node keeps its own log, so a contact stands in two of
them, a little apart: joining contacts that overlap makes one of the two. For that, all logs must call a device by the
same pseudonym.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hunet.pipeline.formats.format import Format, Reading
from hunet.pipeline.formats.named_columns import JSON

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _parse(lines: DataFrame, reading: Reading) -> DataFrame:
    return JSON.parse(lines, replace(reading, columns={"a": "device", "b": "met", "end": "end", **reading.columns}))


ENCOUNTERS = Format(
    name="encounters",
    summary="hunet's own encounter log: JSON lines with device, met, start, end",
    example='{"device": "ann", "met": "bob", "start": 1700000000.25, "end": 1700000360.5}',
    pattern=r"\{.*",  # also a line that a node could not finish
    parse=_parse,
    tell=lambda head: any('"device"' in text and '"met"' in text for _, text in head.lines),
    has_columns=True,
)
