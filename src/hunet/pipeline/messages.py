"""Records that arrive as messages of Kafka, for ``hunet trace follow``: a message holds one record, as a line of a log.

A record is known by its partition and its offset, and stands in ``rejected.parquet`` as ``TOPIC/PARTITION`` and that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.model.errors import ConfigurationError
from hunet.pipeline.schemas import names
from hunet.pipeline.sources import BLANKS, Head, LogFile, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HEAD_LINES = 200


def stream_of(spark: SparkSession, brokers: str, topic: str, most: int | None) -> DataFrame:
    """The messages of a topic from its first one on, at most so many in a batch."""
    from pyspark.errors import AnalysisException

    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", topic)
    stream = stream.option("startingOffsets", "earliest")
    if most is not None:
        stream = stream.option("maxOffsetsPerTrigger", most)
    try:
        return stream.load().select("partition", "offset", "value")
    except AnalysisException as error:
        raise ConfigurationError(
            f"--kafka {brokers}: this Spark has no connector for Kafka ({str(error).splitlines()[0][:120]}): start it "
            "with the package org.apache.spark:spark-sql-kafka-0-10 of its version, or let logs arrive in a folder"
        ) from None


class MessageSource(Source):
    """The messages of a batch, as :class:`Source` has the lines of files."""

    def __init__(self, found: DataFrame, topic: str) -> None:
        from pyspark.sql import functions as sf

        super().__init__(found.sparkSession, [LogFile(topic, "plain", topic, 0)])
        self._found, self._topic = found, topic
        long = found.agg(sf.sum(sf.octet_length("value"))).first()
        assert long is not None
        self.size = long[0] or 0

    def head(self) -> Head:
        """The first messages."""
        rows = self.rows().orderBy("source", "row").limit(_HEAD_LINES).collect()
        lines = [(number, row["text"]) for number, row in enumerate(rows, 1) if row["text"]]
        return Head(LogFile(self._topic, "plain", self._topic, self.size), lines)

    def rows(self, *, by_file: bool = False) -> DataFrame:
        """The messages as the table ``lines``."""
        from pyspark.sql import functions as sf

        text = sf.btrim(sf.make_valid_utf8(sf.col("value").cast("string")), sf.lit(BLANKS))
        columns = {
            "row": sf.col("offset"),
            "source": sf.col("partition").cast("bigint"),
            "file": sf.lit(self._topic if by_file else None).cast("string"),
            "text": sf.coalesce(text, sf.lit("")),
        }
        return self._found.select(*(columns[name].alias(name) for name in names("lines")))

    def locate(self, rows: DataFrame) -> DataFrame:
        """Rows get the place that they came from."""
        from pyspark.sql import functions as sf

        return rows.withColumns(
            {"file": sf.concat(sf.lit(f"{self._topic}/"), sf.col("source").cast("string")), "line": sf.col("row")}
        )
