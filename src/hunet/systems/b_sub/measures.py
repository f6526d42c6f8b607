"""The figures of B-SUB's paper that a run's summary does not have by itself."""

from __future__ import annotations

from hunet.report.runs import Figure, Row

B_SUB, PRIVATE, PUSH, PULL = "b-sub", "b-sub-p", "b-sub-push", "b-sub-pull"
AXIS = "decay_cycle"


def _nodes(row: Row) -> int:
    return int(row["name"]["result"]["contacts"]["nodes"])


def dropped(row: Row) -> float:
    """Messages that overflow dropped, per node."""
    return float(row["dropped_overflow"] / _nodes(row))


def observed(part: str, whole: str | None = None) -> Figure:
    """A ratio of two numbers that the protocols counted; without the second, per node."""

    def ratio(row: Row) -> float | None:
        seen = row["observed"]
        if part not in seen:
            return None
        below = _nodes(row) if whole is None else seen[whole]
        return float(seen[part] / below) if below else None

    return ratio


FALSE_POSITIVES, RELAYED_TAGS = observed("false_forwards", "forwards"), observed("relayed_tags")
RELAYED_TAGS_MEAN = observed("relayed_tags_mean")
FILTER_SIZE, STRING_SIZE = observed("filter_bytes", "greetings"), observed("string_bytes", "greetings")
FIGURES: dict[str, Figure] = {
    "false_positives": FALSE_POSITIVES,
    "relayed_tags": RELAYED_TAGS,
    "relayed_tags_mean": RELAYED_TAGS_MEAN,
    "greeting_bytes": FILTER_SIZE,
    "string_bytes": STRING_SIZE,
    "dropped_per_node": dropped,
}
"""Fig. 9d, 9g (at the end and over time), 9h (filters and strings) and 9e, as columns of summaries, reports, claims."""
