"""Results as The ONE reports them: the same file names, fields, order and number formats.

What The ONE's reports say and hunet does not measure is ``NaN`` (as The ONE writes what it could not compute): round
trips, of which there are none, and the median time in a buffer. Where several subscribe to a topic, what The ONE counts
per message is counted per (publication, interested subscriber) pair.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model import InputError
from hunet.model.files import file_in_place
from hunet.report.runs import Runs, has_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hunet.model import Contacts

__all__ = ["CONTACT_REPORTS", "ONE_REPORTS", "write_contact_report", "write_one_reports"]


class _Run:
    """A result on disk."""

    def __init__(self, folder: Path, scenario: str) -> None:
        self.folder, self.scenario = folder, scenario
        try:
            self.summary = json.loads((folder / "summary.json").read_text("utf-8"))
        except (OSError, ValueError):
            raise InputError(
                folder, "holds no tables of a run: keep them, with tables = true in the study or hunet run --out"
            ) from None

    def table(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        import pyarrow.parquet as pq

        table = pq.read_table(self.folder / f"{name}.parquet", columns=list(columns))
        return list(zip(*(table.column(column).to_pylist() for column in columns), strict=True))

    @property
    def end(self) -> float:
        return float(self.table("series", "time")[-1][0])


def write_one_reports(results: Path, out: Path) -> list[Path]:
    """Write all reports of a run, or of each run of a study, into a folder; returns the files."""
    written = []
    for run in _runs(results):
        for report, lines in ONE_REPORTS.items():
            path = out / f"{run.scenario}_{report}.txt"
            with file_in_place(path) as partial:
                partial.write_text("".join(f"{line}\n" for line in lines(run)), encoding="utf-8")
            written.append(path)
    return written


def _runs(results: Path) -> list[_Run]:
    if (results / "summary.json").exists():
        return [_Run(results, results.absolute().name)]
    if not has_runs(results):
        raise InputError(results, "holds neither a run (hunet run --out) nor a study (hunet study)")
    runs = Runs.read(results)
    found = []
    for row in runs.rows:
        axes = dict(row["axes"])
        words = [axes.pop("case", row["protocol"]), *([axes.pop("contacts")] if "contacts" in axes else [])]
        words += [f"{key.split('.')[-1]}{axes[key]}" for key in axes]
        words += [f"run{row['repetition'] + 1}"] if runs.repetitions > 1 else []
        found.append(_Run(results / "tables" / row["key"], re.sub(r"[^\w.+-]+", "-", "_".join(words))))
    return found


def _message_stats(run: _Run) -> Iterable[str]:
    found = run.summary
    delays = sorted(delay for (delay,) in run.table("deliveries", "delay"))
    hops = sorted(hop for (hop,) in run.table("deliveries", "hops"))
    yield f"Message stats for scenario {run.scenario}"
    yield f"sim_time: {_number(run.end)}"
    yield f"created: {found['created']}"
    yield f"started: {found['relayed'] + found['aborted'] + found['lost']}"
    yield f"relayed: {found['relayed']}"
    yield f"aborted: {found['aborted']}"
    yield f"dropped: {found['dropped']}"
    yield "removed: 0"  # devices here remove nothing of their own accord
    yield f"delivered: {found['delivered']}"
    yield f"delivery_prob: {_number(found['delivery_prob'] or 0.0)}"
    yield f"response_prob: {_number(0.0)}"
    yield f"overhead_ratio: {_number(found['overhead_ratio'])}"
    yield f"latency_avg: {_number(found['latency_avg'])}"
    yield f"latency_med: {_number(_upper_median(delays))}"
    yield f"hopcount_avg: {_number(found['hopcount_avg'])}"
    yield f"hopcount_med: {int(_upper_median(hops) or 0)}"
    yield f"buffertime_avg: {_number(found['buffertime_avg'])}"
    yield f"buffertime_med: {_number(None)}"
    yield f"rtt_avg: {_number(None)}"
    yield f"rtt_med: {_number(None)}"


def _delivered_messages(run: _Run) -> Iterable[str]:
    yield "# time  ID  size  hopcount  deliveryTime  fromHost  toHost  remainingTtl  isResponse  path"
    published = {row[0]: row[1:] for row in run.table("publications", "publication", "size", "ttl")}
    came: dict[tuple[str, str], str] = {}
    for publication, sender, receiver in run.table("forwards", "publication", "sender", "receiver"):
        came.setdefault((publication, receiver), sender)
    columns = ("time", "publication", "hops", "delay", "publisher", "node")
    for time, publication, hops, delay, publisher, node in run.table("deliveries", *columns):
        size, ttl = published[publication]
        left = "n/a" if ttl is None or math.isnan(ttl) else str(int((ttl - delay) / 60))
        path = "->".join(_path(came, publication, publisher, node, hops))
        yield f"{_number(time)} {publication} {size} {hops} {_number(delay)} {publisher} {node} {left} N {path}"


def _path(came: dict[tuple[str, str], str], publication: str, publisher: str, node: str, hops: int) -> list[str]:
    """From hand to hand; ``n/a`` where the first copies to arrive do not make up the delivered one's way."""
    way = [node]
    while way[0] != publisher and len(way) <= hops and (publication, way[0]) in came:
        way.insert(0, came[publication, way[0]])
    return way if way[0] == publisher and len(way) == hops + 1 else ["n/a"]


def _created_messages(run: _Run) -> Iterable[str]:
    yield "# time  ID  size  fromHost  toHost  TTL  isResponse"
    columns = ("created", "publication", "size", "publisher", "topic", "ttl")
    for created, publication, size, publisher, topic, ttl in run.table("publications", *columns):
        life = "n/a" if ttl is None or math.isnan(ttl) else str(int(ttl / 60))
        yield f"{_number(created)} {publication} {size} {publisher} {topic} {life} N "


def _message_delays(run: _Run) -> Iterable[str]:
    yield "# messageDelay  cumulativeProbability"
    delays = sorted(delay for (delay,) in run.table("deliveries", "delay"))
    if not delays:
        yield f"# no messages delivered in sim time {_number(run.end)}"
    for many, delay in enumerate(delays, 1):
        yield f"{_number(delay)} {_number(many / run.summary['pairs'])}"


ONE_REPORTS: dict[str, Callable[[_Run], Iterable[str]]] = {
    "MessageStatsReport": _message_stats,
    "DeliveredMessagesReport": _delivered_messages,
    "CreatedMessagesReport": _created_messages,
    "MessageDelayReport": _message_delays,
}
"""The ONE's reports that hunet writes."""


def write_contact_report(contacts: Contacts, path: Path) -> None:
    """How many contacts, or times between the contacts of a pair, lasted for each number of whole seconds.

    The path's name ends with one of ``CONTACT_REPORTS``. A contact that ends with the trace is still open for The ONE,
    which counts none of those.
    """
    between = path.name.endswith(CONTACT_REPORTS[1])
    lengths: Counter[int] = Counter()
    last: dict[tuple[str, str], float] = {}
    for one, two, start, end in contacts.records():
        if between and (one, two) in last:
            lengths[int(start - last[one, two])] += 1
        elif not between and end < contacts.span[1]:
            lengths[int(end - start)] += 1
        last[one, two] = end
    lines = [f"{seconds}.0 {lengths[seconds]}\n" for seconds in range(max(lengths) + 2)] if lengths else []
    with file_in_place(path) as partial:
        partial.write_text("".join(lines), encoding="utf-8")


CONTACT_REPORTS = ("_ContactTimesReport.txt", "_InterContactTimesReport.txt")
"""How the names of The ONE's reports on contacts end."""


def _number(value: float | None) -> str:
    return "NaN" if value is None else f"{value:.4f}"


def _upper_median(values: list[float]) -> float | None:
    """The ONE's median: of an even number of values the upper one in the middle."""
    return values[len(values) // 2] if values else None
