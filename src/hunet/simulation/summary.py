"""From what a run left behind to the tables and the summary of its result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hunet.model import ProtocolError
from hunet.simulation.copies import figures
from hunet.simulation.metrics import deliveries, interested_pairs
from hunet.simulation.record import PIECE, Columns, Record, count, so_far
from hunet.simulation.result import Coded, Column, Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hunet.model import Contacts, Workload


class Outcome:
    """A run that is over: each table of the result is a method of its name, and so is the summary."""

    def __init__(
        self,
        name: dict[str, Any],
        contacts: Contacts,
        workload: Workload,
        record: Record,
        span: tuple[float, float],
        steps: NDArray[np.float64],
    ) -> None:
        publications = workload.publications
        self._name, self._record, self._span, self._upto = name, record, span, steps[1:]
        self._names = contacts.names
        self._ids = tuple(p.id for p in publications)
        self._topic_names = tuple(sorted({p.topic for p in publications}))
        number = {topic: i for i, topic in enumerate(self._topic_names)}
        self._topic = np.array([number[p.topic] for p in publications], np.int64)
        self._publisher = np.array([p.node for p in publications], np.int64)
        self._created = np.array([p.time for p in publications])
        self._size = np.array([p.size for p in publications], np.int64)
        self._ttl = np.array([np.nan if p.ttl is None else p.ttl for p in publications])

        nodes = len(contacts.names)
        self._pairs = interested_pairs(contacts, workload, span[1])
        # Deliveries stand by time, publication and node; forwards as the engine carried them out, so that within an
        # instant a packet stands after the one that brought its sender what it carries.
        served = deliveries(record, nodes)
        self._sent = record.sent_columns()
        order = np.lexsort((served.publication * nodes + served.node, served.time))
        self._served = served._replace(**{column: getattr(served, column)[order] for column in served._fields[:4]})
        self._copies = figures(
            record, self._created + np.where(np.isnan(self._ttl), np.inf, self._ttl), nodes, span, self._upto
        )
        self._refuse_unwanted_deliveries(nodes)

    def result(self, control: list[tuple[int, int, int]]) -> Result:
        """The result; ``control`` has the control packets and bytes so far at the end of each step."""
        tables = {
            "deliveries": self.deliveries(),
            "forwards": self.forwards(),
            "publications": self.publications(),
            "nodes": self.nodes(),
            "roles": self.roles(),
            "series": self.series(control),
        }
        return Result(self._name, self.summary(tables["publications"], tables["nodes"]), tables)

    def _refuse_unwanted_deliveries(self, nodes: int) -> None:
        served, pairs = self._served, self._pairs
        unwanted = ~np.isin(served.publication * nodes + served.node, pairs.publication * nodes + pairs.node)
        if unwanted.any():
            first = int(np.argmax(unwanted))
            message = int(served.publication[first])
            raise ProtocolError(
                f"{self._name['protocol']} delivered {self._ids[message]} ({self._topic_names[self._topic[message]]}) "
                f"to node {self._names[served.node[first]]}, which did not want it: deliver() is for a device's own "
                "topics, to others than the publisher, within the message's life"
            )

    def deliveries(self) -> dict[str, Column]:
        which = self._served.publication
        return {
            "publication": Coded(which, self._ids),
            "node": Coded(self._served.node, self._names),
            "time": self._served.time,
            "hops": self._served.hops,
            "topic": Coded(self._topic[which], self._topic_names),
            "publisher": Coded(self._publisher[which], self._names),
            "created": self._created[which],
            "delay": self._served.time - self._created[which],
        }

    def forwards(self) -> dict[str, Column]:
        time, sender, receiver, publication = self._sent
        if self._record.in_files:
            size = Columns("i8")
            for first in range(0, len(time), PIECE):
                size.append(self._size[publication[first : first + PIECE]])
            sizes = size.read()[0]
        else:
            sizes = self._size[publication]
        return {
            "time": time,
            "sender": Coded(sender, self._names),
            "receiver": Coded(receiver, self._names),
            "publication": Coded(publication, self._ids),
            "bytes": sizes,
        }

    def publications(self) -> dict[str, Column]:
        many, nodes = len(self._ids), len(self._names)
        _, _, receiver, publication = self._sent
        own = np.arange(many) * nodes + self._publisher
        received = np.zeros(many * nodes, bool)
        for first in range(0, len(receiver), PIECE):
            part = slice(first, first + PIECE)
            received[publication[part].astype(np.int64) * nodes + receiver[part]] = True
        received[own] = False
        ever = received | self._copies.ever
        ever[own] = True
        copies_ever = ever.reshape(many, nodes).sum(axis=1)
        return {
            "publication": Coded(np.arange(many), self._ids),
            "topic": Coded(self._topic, self._topic_names),
            "publisher": Coded(self._publisher, self._names),
            "created": self._created,
            "size": self._size,
            "ttl": self._ttl,
            "interested": count(self._pairs.publication, many),
            "reachable": count(self._pairs.publication[np.isfinite(self._pairs.reachable)], many),
            "delivered": count(self._served.publication, many),
            "infected": received.reshape(many, nodes).sum(axis=1),
            "copies": copies_ever,
            "copies_net": copies_ever - self._copies.overflow,
            "forwards": count(publication, many),
        }

    def nodes(self) -> dict[str, Column]:
        many = len(self._names)
        _, sender, receiver, _ = self._sent
        return {
            "node": Coded(np.arange(many), self._names),
            "published": count(self._publisher, many),
            "sent": count(sender, many),
            "received": count(receiver, many),
            "delivered": count(self._served.node, many),
            "dropped": self._copies.overflow_at,
            "buffer_avg": self._copies.time_at / self._length,
            "buffer_max": self._copies.peak_at,
        }

    def roles(self) -> dict[str, Column]:
        rows = self._record.roles
        names = tuple(sorted({row[2] for row in rows}))
        return {
            "time": np.array([row[0] for row in rows], np.float64),
            "node": Coded(np.array([row[1] for row in rows], np.int64), self._names),
            "role": Coded(np.array([names.index(row[2]) for row in rows], np.int64), names),
        }

    def series(self, control: list[tuple[int, int, int]]) -> dict[str, Column]:
        time, _, _, publication = self._sent
        sent = so_far(time, self._upto)
        between = zip([0, *sent.tolist()], sent.tolist(), strict=False)  # packets stand in order of time
        return {
            "time": self._upto,
            "published": so_far(self._created, self._upto),
            "delivered": so_far(self._served.time, self._upto),
            "data_packets": sent,
            "data_bytes": np.cumsum([self._size[publication[first:last]].sum() for first, last in between]),
            "control_packets": np.array([row[0] for row in control], np.int64),
            "control_bytes": np.array([row[1] for row in control], np.int64),
            "seen_bytes": np.array([row[2] for row in control], np.int64),
            "buffered": self._copies.buffered,
        }

    def summary(self, publications: dict[str, Column], nodes: dict[str, Column]) -> dict[str, Any]:
        record, pairs, served, dropped = self._record, self._pairs, self._served, self._copies.lost
        delay = served.time - self._created[served.publication]
        reachable = np.isfinite(pairs.reachable)
        bound = pairs.reachable[reachable] - self._created[pairs.publication[reachable]]
        many, delivered, relayed = len(pairs.node), len(served.time), len(self._sent[0])
        wanted, infected = publications["interested"] > 0, publications["infected"] > 0
        return {
            "created": len(self._ids),
            "unpublished": record.unpublished,
            "pairs": many,
            "delivered": delivered,
            "delivery_ratio": _divide(delivered, many),
            "reachable": len(bound),
            "reachable_ratio": _divide(len(bound), many),
            "delivery_prob": _divide(delivered, many),
            "message_delivery_ratio": _mean(publications["delivered"][wanted] > 0),
            "utility": _mean(publications["delivered"][wanted] / publications["interested"][wanted]),
            "efficiency": _mean(publications["delivered"][infected] / publications["infected"][infected]),
            "latency_avg": _mean(delay),
            "latency_med": _finite(_median(delay)) if delivered else None,
            "reachable_latency_avg": _mean(bound),
            "hopcount_avg": _mean(served.hops),
            "hopcount_max": int(served.hops.max()) if delivered else None,
            "relayed": relayed,
            "relayed_bytes": int((self._size * publications["forwards"]).sum()),
            "duplicates": relayed - int(publications["infected"].sum()),
            "aborted": record.aborted,
            "lost": record.lost,
            "overhead_ratio": _divide(relayed - delivered, delivered),
            "control_packets": record.control_packets,
            "control_bytes": record.control_bytes,
            "seen_bytes": record.seen_bytes,
            "out_of_band_packets": record.out_of_band_packets,
            "out_of_band_bytes": record.out_of_band_bytes,
            "copies_avg": _mean(publications["copies"]),
            "copies_net_avg": _mean(publications["copies_net"]),
            "copies_delivered_avg": _mean(publications["copies"][publications["delivered"] > 0]),
            "copies_net_delivered_avg": _mean(publications["copies_net"][publications["delivered"] > 0]),
            "dropped": sum(dropped.values()),
            "dropped_overflow": dropped["overflow"],
            "dropped_expired": dropped["expired"],
            "dropped_crash": dropped["crash"],
            "buffertime_avg": _mean(self._copies.times),
            "buffer_avg": _mean(nodes["buffer_avg"]),
            "buffer_max": int(nodes["buffer_max"].max(initial=0)),
            **self._roles(),
            "false_matches": len(record.false_matches) // 3,
            "repeated": served.repeated,
            "observed": dict(sorted(record.observed.items())),
        }

    @property
    def _length(self) -> float:
        return max(self._span[1] - self._span[0], math.ulp(0.0))

    def _roles(self) -> dict[str, Any]:
        """How often a node took another role, and for each role the number of nodes that had it, averaged over time."""
        changes = 0
        total: dict[str, float] = {}
        current: dict[int, tuple[float, str]] = {}
        for time, node, role in self._record.roles:
            since, before = current.get(node, (time, role))
            changes += role != before
            total[before] = total.get(before, 0.0) + time - since
            current[node] = (time, role)
        for since, role in current.values():
            total[role] = total.get(role, 0.0) + self._span[1] - since
        return {"role_changes": changes, "role_time": {role: total[role] / self._length for role in sorted(total)}}


def _divide(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _median(values: NDArray[np.float64]) -> float:
    """As numpy.median, which loads numpy's masked arrays first."""
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _mean(values: NDArray[Any]) -> float | None:
    return _finite(values.mean()) if len(values) else None


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
