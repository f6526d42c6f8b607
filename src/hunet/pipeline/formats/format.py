"""What an input format is: how its lines look, how they are told from others, and how they become records.

A format is a :class:`Format`; ``hunet.pipeline.formats`` lists them. ``parse`` is a function from the table ``lines``
to one of the tables ``sightings``, ``positions`` or ``stays`` of ``hunet.pipeline.schemas``. A line that is no record
says so in ``fate`` (``blank``, ``comment``, ``header``), one that cannot be read is ``unreadable``, and ``detail``
tells why: nothing is thrown away here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from hunet.pipeline.sources import Head

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True)
class Reading:
    """What a parser may want to know beside the lines."""

    head: Head
    columns: dict[str, str] = field(default_factory=dict)
    """For formats with a header: our name of a column to the file's."""
    scan: float | None = None
    """The length of a sample, where a format has samples and the user says so (s)."""
    where: str | None = None
    """A condition of SQL on the input's columns: records that do not meet it are filtered out."""
    time_format: str | None = None
    """How times are written that are no numbers: iso, or a pattern of Spark."""
    schema: str | None = None
    """Names and types of the columns, where the input does not tell them."""


@dataclass(frozen=True)
class Format:
    """One input format."""

    name: str
    summary: str
    example: str
    pattern: str
    """A regular expression that data lines match."""
    parse: Callable[[DataFrame, Reading], DataFrame]
    makes: Literal["sightings", "positions", "stays"] = "sightings"
    tell: Callable[[Head], bool] | None = None
    """What else must hold of a file's beginning; a format without it is never guessed."""
    internal: str = "all"
    """Which nodes take part: ``all``, ``scanners``, or numbers such as ``1-41``."""
    gap: float = 0.0
    """Gaps that are joined unless the user says otherwise (s)."""
    unit: float = 1.0
    """Seconds in a unit of the log's times."""
    preamble: int = 0
    """Lines before the data, which ``pattern`` need not match."""
    by_file: bool = False
    """Whether ``parse`` needs the name of a line's file."""
    numbered: bool = False
    """Whether ``parse`` needs the number of every line, which takes one more scan of the log."""
    has_columns: bool = False
    """Whether the input's columns have names of their own, so that ``--column`` and ``--where`` know them."""
    check: Callable[[Sequence[Head], Reading], None] | None = None
    """Raises if the beginnings of the files do not go together, or lack what is asked of them."""

    def matches(self, head: Head) -> list[bool]:
        """For each line of a beginning, after the preamble, whether it looks like this format's."""
        line = re.compile(self.pattern)
        return [bool(line.fullmatch(text)) for number, text in head.lines if number > self.preamble]

    def recognises(self, head: Head) -> bool:
        """Whether a file looks like this format and like nothing else."""
        found = self.matches(head)
        return bool(found) and all(found) and self.tell is not None and self.tell(head)


class Field(NamedTuple):
    """A field of a line: where it stands, and whether it is a number."""

    name: str
    place: int
    number: bool = False


def cut(
    lines: DataFrame, separator: str | Column, fields: tuple[Field, ...], counts: tuple[int, ...], comment: str = "#"
) -> DataFrame:
    """Cut lines into named columns, with ``fate`` and ``detail``.

    ``separator`` is a regular expression, or an expression for the array of a line's fields.
    """
    from pyspark.sql import functions as sf

    parts = sf.split("text", separator) if isinstance(separator, str) else separator
    values = {
        each.name: number_in(sf.get(sf.col("_parts"), sf.lit(each.place)))
        if each.number
        else sf.trim(sf.get(sf.col("_parts"), sf.lit(each.place)))
        for each in fields
    }
    many = " or ".join(str(count) for count in counts)
    problem: Column = sf.when(
        ~sf.size("_parts").isin(*counts), sf.concat(sf.lit(f"expected {many} fields, found "), sf.size("_parts"))
    )
    for each in fields:
        if each.number:
            value = sf.col(each.name)
            bad = value.isNull() | sf.isnan(value) | (sf.abs(value) == float("inf"))
            problem = problem.when(bad, sf.lit(f"field {each.place + 1} ({each.name}) is not a number"))
        else:
            problem = problem.when(sf.col(each.name) == "", sf.lit(f"field {each.place + 1} ({each.name}) is empty"))
    return (
        lines.withColumn("_parts", parts)
        .withColumns(values)
        .withColumn("_problem", problem)
        .withColumn(
            "fate",
            sf.when(sf.col("text") == "", "blank")
            .when(sf.startswith("text", sf.lit(comment)), "comment")
            .when(sf.col("_problem").isNotNull(), "unreadable"),
        )
        .transform(unreadable("_problem"))
        .drop("_parts", "_problem")
    )


def number_in(text: Column) -> Column:
    """A number that is written as text; whole ones are read several times faster than others."""
    from pyspark.sql import functions as sf

    return sf.coalesce(text.try_cast("bigint").cast("double"), text.try_cast("double"))


def unreadable(problem: str) -> Callable[[DataFrame], DataFrame]:
    """Set ``detail`` of unreadable lines from a column that says what is wrong."""
    from pyspark.sql import functions as sf

    reason = sf.concat(sf.col(problem), sf.lit(": "), sf.substring(sf.make_valid_utf8("text"), 1, 200))
    return lambda rows: rows.withColumn("detail", sf.when(sf.col("fate") == "unreadable", reason))
