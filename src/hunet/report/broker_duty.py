"""Who was a broker when: from the table of roles that a run leaves behind to the curves of the social election paper.

A *term* is an uninterrupted time as broker. A node's *duty time* is the sum of its terms, its *duty cycle* their mean
length (section V.C).

>>> duty = BrokerDuty([(2.0, "ann", "broker"), (5.0, "ann", "user"), (4.0, "bob", "broker")], span=(0.0, 8.0), nodes=3)
>>> duty.brokers()
[0, 0, 1, 1, 2, 1, 1, 1, 1]
>>> duty.brokers_at([1.0, 4.5, 6.0])
[0, 2, 1]
>>> duty.duty_times(), duty.duty_cycles()
([0.0, 3.0, 4.0], [3.0, 4.0])
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from math import ceil
from statistics import mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class BrokerDuty:
    """All terms of a run."""

    def __init__(self, roles: Iterable[tuple[float, str, str]], span: tuple[float, float], nodes: int) -> None:
        self.span, self.nodes = span, nodes
        self.terms: dict[str, list[tuple[float, float]]] = defaultdict(list)
        since: dict[str, float] = {}
        for time, node, role in roles:
            if role == "broker":
                since.setdefault(node, time)
            elif node in since:
                self.terms[node].append((since.pop(node), time))
        for node, time in since.items():
            self.terms[node].append((time, span[1]))

    @classmethod
    def read(cls, tables: Path) -> BrokerDuty:
        """From the tables of a run that ``hunet study`` kept."""
        import pyarrow.parquet as pq

        roles, series, nodes = (pq.read_table(tables / f"{name}.parquet") for name in ("roles", "series", "nodes"))
        first, second, *_, last = series.column("time").to_pylist()
        rows = zip(*(roles.column(name).to_pylist() for name in ("time", "node", "role")), strict=True)
        return cls(rows, (first - (second - first), last), nodes.num_rows)

    def brokers(self) -> list[int]:
        """The number of brokers at every whole second of the run."""
        begin, end = self.span
        change = [0] * (int(end - begin) + 2)
        for terms in self.terms.values():
            for start, stop in terms:
                change[ceil(start - begin)] += 1
                change[ceil(stop - begin) if stop < end else -1] -= 1
        return list(accumulate(change[:-1]))

    def brokers_at(self, times: Iterable[float]) -> list[int]:
        """The number of brokers at each of some instants: terms that have begun less those that have ended."""
        terms = [term for each in self.terms.values() for term in each]
        starts, stops = sorted(start for start, _ in terms), sorted(stop for _, stop in terms)
        return [bisect_right(starts, time) - bisect_right(stops, time) for time in times]

    def duty_times(self) -> list[float]:
        """Seconds as broker of every node, in ascending order (Fig. 2c)."""
        served = [sum(stop - start for start, stop in terms) for terms in self.terms.values()]
        return sorted([0.0] * (self.nodes - len(served)) + served)

    def duty_cycles(self) -> list[float]:
        """The mean length of the terms of every node that had one, in ascending order (Fig. 2d)."""
        return sorted(mean(stop - start for start, stop in terms) for terms in self.terms.values())
