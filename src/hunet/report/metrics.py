"""How each metric is shown to people: its title, its unit and its digits, in this one place.

What a metric means and how it is computed is said by ``hunet.simulation.SUMMARY``; all names are from there but
``brokers`` (the mean number of nodes with that role) and ``forwards`` (data packets per publication).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hunet.model.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NEARLY_ALL = 0.9
"""The share of people from which on a community holds nearly everybody."""
_UNITS = {"number": ("", 1.0), "ratio": ("", 1.0), "seconds": (" (min)", 60.0), "bytes": (" (MB)", 1e6)}


def community_sizes(observed: Mapping[str, float] | None) -> dict[int, int]:
    """How many communities of each size a system has found, the largest first; a run that failed has found none."""
    start = "communities_of_"
    sizes = {int(name.removeprefix(start)): int(n) for name, n in (observed or {}).items() if name.startswith(start)}
    return dict(sorted(sizes.items(), reverse=True))


def community_warning(observed: Mapping[str, float] | None) -> str:
    """A sentence for people where one community holds nearly everybody, so that a system has little to decide."""
    sizes = community_sizes(observed)
    people, largest = sum(size * n for size, n in sizes.items()), max(sizes, default=0)
    if largest < max(NEARLY_ALL * people, 2):
        return ""
    return f"One community holds {largest} of {people} people: a higher threshold finds more of them."


class Metric(NamedTuple):
    """A number of a result as people read it."""

    name: str
    label: str
    """Without the unit: a table of one run chooses its units itself."""
    kind: Literal["number", "ratio", "seconds", "bytes"] = "number"
    digits: int = 2
    """Of a mean over runs, in its unit."""
    remark: str = ""
    """Beside the value of one run."""
    heading: str = ""
    """Over a narrow column, with ratios in percent and times in the unit that fits; empty if there is none."""
    sparse: bool = False
    """Whether 0 everywhere is not worth a column."""

    @property
    def title(self) -> str:
        """The label and the unit of means over runs."""
        return self.label + _UNITS[self.kind][0]

    @property
    def unit(self) -> float:
        """The unit of means over runs, in that of the results."""
        return _UNITS[self.kind][1]

    def of(self, rows: list[dict[str, Any]]) -> Interval:
        """Its mean over some runs, with the confidence interval."""
        return Interval.of(row[self.name] for row in rows)

    def shown(self, values: Iterable[float | None]) -> bool:
        """Whether there is anything to show: nothing in a column that is 0 everywhere, if it is sparse."""
        return any(value if self.sparse else value is not None for value in values)


_PAIRS = "of all (publication, interested subscriber) pairs"
METRICS = {
    metric.name: metric
    for metric in (
        Metric("delivery_ratio", "delivery ratio", "ratio", 3, _PAIRS, "deliv-\nered %"),
        Metric("reachable_ratio", "reachable bound", "ratio", 3, "what contacts allow at best", "bound\n%"),
        Metric("latency_avg", "delay", "seconds", 1, "mean over deliveries", "delay\n{time}"),
        Metric("latency_med", "delay, median", "seconds", 1),
        Metric("hopcount_avg", "hops", digits=1, remark="mean over deliveries"),
        Metric("relayed", "data packets", remark="messages that changed hands"),
        Metric("overhead_ratio", "overhead ratio", digits=1, remark="further packets per delivery"),
        Metric("forwards", "data packets per publication", digits=1, heading="packets\nper msg"),
        Metric("copies_avg", "copies per message", "number", 1, "devices that ever held or received it"),
        Metric("control_bytes", "control", "bytes", 1, "bytes", heading="control\nMB"),
        Metric("seen_bytes", "lists of seen messages", "bytes", 1, "of the control", "lists\nMB"),
        Metric("out_of_band_bytes", "out of band", "bytes", 1, heading="out of\nband MB", sparse=True),
        Metric("efficiency", "efficiency", "ratio", 3, "share of the receivers that wanted it"),
        Metric("dropped_overflow", "dropped: full buffer", remark="copies"),
        Metric("dropped_expired", "dropped: old age", remark="copies"),
        Metric("aborted", "cut off", remark="packets under way when a contact ended"),
        Metric("buffer_avg", "messages in a buffer", digits=1),
        Metric("brokers", "brokers", digits=1, heading="bro-\nkers"),
    )
}


def duration(seconds: float) -> str:
    """A time in the unit that fits.

    >>> duration(5400), duration(90), duration(7 * 86400)
    ('90.0 min', '90.0 s', '7.0 d')
    """
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
