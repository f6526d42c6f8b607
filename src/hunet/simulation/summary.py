"""From what a run left behind to the tables and the summary of its result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hunet.model import ProtocolError
from hunet.simulation.metrics import Copies, copies, deliveries, interested_pairs
from hunet.simulation.record import Record, spread
from hunet.simulation.result import Coded, Column, Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hunet.model import Contacts, Workload


class Outcome:
    """A run that is over: each table of the result is a method of its name, and so is the summary."""

    def __init__(
        self, name: dict[str, Any], contacts: Contacts, workload: Workload, record: Record, span: tuple[float, float]
    ) -> None:
        said = workload.publications
        self._name, self._record, self._span = name, record, span
        self._names = contacts.names
        self._ids = tuple(p.id for p in said)
        self._topic_names = tuple(sorted({p.topic for p in said}))
        number = {topic: i for i, topic in enumerate(self._topic_names)}
        self._topic = np.array([number[p.topic] for p in said], np.int64)
        self._publisher = np.array([p.node for p in said], np.int64)
        self._created = np.array([p.time for p in said])
        self._size = np.array([p.size for p in said], np.int64)
        self._ttl = np.array([np.nan if p.ttl is None else p.ttl for p in said])

        nodes = len(contacts.names)
        self._pairs = interested_pairs(contacts, workload, span[1])
        # Deliveries and copies stand by time, publication and node; forwards as the engine carried them out, so that
        # within an instant a packet stands after the one that brought its sender what it carries.
        served, held = deliveries(record, nodes), copies(record, workload, nodes, span[1])
        self._sent = spread(record.forwards, 4, record.forwarded_messages)
        order = np.lexsort((served.publication * nodes + served.node, served.time))
        self._served = served._replace(**{column: getattr(served, column)[order] for column in served._fields[:4]})
        order = np.lexsort((held.publication * nodes + held.node, held.start))
        self._held = held._replace(**{column: getattr(held, column)[order] for column in held._fields})
        self._refuse_unwanted_deliveries(nodes)

    def result(self, steps: NDArray[np.float64], control: list[tuple[int, int]]) -> Result:
        """The result; ``control`` has the control packets and bytes so far at the end of each step."""
        tables = {
            "deliveries": self.deliveries(),
            "forwards": self.forwards(),
            "publications": self.publications(),
            "nodes": self.nodes(),
            "roles": self.roles(),
            "series": self.series(steps, control),
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
        return {
            "time": time,
            "sender": Coded(sender.astype(np.int64), self._names),
            "receiver": Coded(receiver.astype(np.int64), self._names),
            "publication": Coded(publication, self._ids),
            "bytes": self._size[publication],
        }

    def publications(self) -> dict[str, Column]:
        many, nodes = len(self._ids), len(self._names)
        _, _, receiver, publication = self._sent
        received = _distinct(many * nodes, publication * nodes + receiver.astype(np.int64))
        received = received[received % nodes != self._publisher[received // nodes]]
        own = np.arange(many) * nodes + self._publisher
        ever = _distinct(many * nodes, received, own, self._held.publication * nodes + self._held.node)
        copies_ever = _count(ever // nodes, many)
        return {
            "publication": Coded(np.arange(many), self._ids),
            "topic": Coded(self._topic, self._topic_names),
            "publisher": Coded(self._publisher, self._names),
            "created": self._created,
            "size": self._size,
            "ttl": self._ttl,
            "interested": _count(self._pairs.publication, many),
            "reachable": _count(self._pairs.publication[np.isfinite(self._pairs.reachable)], many),
            "delivered": _count(self._served.publication, many),
            "infected": _count(received // nodes, many),
            "copies": copies_ever,
            "copies_net": copies_ever - _count(self._held.publication[self._removed("overflow")], many),
            "forwards": _count(publication, many),
        }

    def nodes(self) -> dict[str, Column]:
        many = len(self._names)
        _, sender, receiver, _ = self._sent
        time = np.bincount(self._held.node, self._held.end - self._held.start, minlength=many)
        return {
            "node": Coded(np.arange(many), self._names),
            "published": _count(self._publisher, many),
            "sent": _count(sender.astype(np.int64), many),
            "received": _count(receiver.astype(np.int64), many),
            "delivered": _count(self._served.node, many),
            "dropped": _count(self._held.node[self._removed("overflow")], many),
            "buffer_avg": time / self._length,
            "buffer_max": _peaks(self._held, many),
        }

    def roles(self) -> dict[str, Column]:
        rows = self._record.roles
        names = tuple(sorted({row[2] for row in rows}))
        return {
            "time": np.array([row[0] for row in rows], np.float64),
            "node": Coded(np.array([row[1] for row in rows], np.int64), self._names),
            "role": Coded(np.array([names.index(row[2]) for row in rows], np.int64), names),
        }

    def series(self, steps: NDArray[np.float64], control: list[tuple[int, int]]) -> dict[str, Column]:
        upto = steps[1:]
        time, _, _, publication = self._sent
        sent = _so_far(time, upto)
        bytes_so_far = np.concatenate([[0], np.cumsum(self._size[publication])])
        gone = np.where(self._kept, np.inf, self._held.end)
        return {
            "time": upto,
            "published": _so_far(self._created, upto),
            "delivered": _so_far(self._served.time, upto),
            "data_packets": sent,
            "data_bytes": bytes_so_far[sent],
            "control_packets": np.array([row[0] for row in control], np.int64),
            "control_bytes": np.array([row[1] for row in control], np.int64),
            "buffered": _so_far(self._held.start, upto) - _so_far(gone, upto),
        }

    def summary(self, publications: dict[str, Column], nodes: dict[str, Column]) -> dict[str, Any]:
        record, pairs, served, held = self._record, self._pairs, self._served, self._held
        delay = served.time - self._created[served.publication]
        reachable = np.isfinite(pairs.reachable)
        bound = pairs.reachable[reachable] - self._created[pairs.publication[reachable]]
        many, delivered, relayed = len(pairs.node), len(served.time), len(self._sent[0])
        wanted, infected = publications["interested"] > 0, publications["infected"] > 0
        gone = ~self._kept
        dropped = {reason: int(self._removed(reason).sum()) for reason in ("overflow", "crash")}
        dropped["expired"] = int((gone & (held.reason < 0)).sum())
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
            "relayed_bytes": int(self._size[self._sent[3]].sum()),
            "duplicates": relayed - int(publications["infected"].sum()),
            "aborted": record.aborted,
            "lost": record.lost,
            "overhead_ratio": _divide(relayed - delivered, delivered),
            "control_packets": record.control_packets,
            "control_bytes": record.control_bytes,
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
            "buffertime_avg": _mean((held.end - held.start)[gone]),
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

    @property
    def _kept(self) -> NDArray[np.bool_]:
        """Copies that were still there when the run ended."""
        return (self._held.reason < 0) & (self._held.end >= self._span[1])

    def _removed(self, reason: str) -> NDArray[np.bool_]:
        reasons = self._record.reasons
        number = reasons.index(reason) if reason in reasons else len(reasons)
        return np.equal(self._held.reason, number)

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


def _peaks(held: Copies, nodes: int) -> NDArray[np.int64]:
    """The most copies that each node held at once; at one instant, what goes makes room for what comes."""
    last = held.end.max(initial=0)
    if ((held.reason < 0) & (held.end == last)).all():  # nothing ever went
        return _count(held.node, nodes)
    # A copy that came and went in one instant (dropped on arrival) was never held.
    lasting = held.start < held.end
    node = np.tile(held.node[lasting], 2)
    time = np.concatenate([held.start[lasting], held.end[lasting]])
    change = np.repeat(np.array([1, -1]), int(lasting.sum()))
    order = np.lexsort((change, time, node))
    level = np.cumsum(change[order])
    # Every node begins and ends at zero, so one running sum serves all of them.
    peaks = np.zeros(nodes, np.int64)
    np.maximum.at(peaks, node[order], level)
    return peaks


def _distinct(size: int, *keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct keys, all below ``size``, in order: by marking them, which beats sorting them."""
    marked = np.zeros(size, bool)
    for some in keys:
        marked[some] = True
    return np.flatnonzero(marked)


def _count(which: NDArray[np.int64], many: int) -> NDArray[np.int64]:
    return np.bincount(which, minlength=many)


def _so_far(times: NDArray[np.float64], upto: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.searchsorted(np.sort(times), upto, side="right").astype(np.int64)


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
