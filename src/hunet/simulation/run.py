"""One run: contacts and a workload in, a result out.

A run is named by its contacts, workload, protocol, parameters and seed; the same name gives the same bytes. It is
single-threaded. Events of one instant happen in this order (ties within a line by node numbers, then as given):

1. devices come back from a crash
2. contacts start: the ends of each exchange what they have before the next one starts, and what they have learnt
   travels on over other open contacts after the last start; a protocol that asks to be told when a link has settled
   is served to the end contact by contact
3. a phase begins
4. applications subscribe
5. applications publish
6. packets arrive on limited links and out of band; timers run out
7. applications unsubscribe
8. contacts end
9. devices crash

So contacts, subscriptions and lives of messages are all closed intervals: usable at both of their ends.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from hunet.model import Catalogue, ConfigurationError, Workload, from_mapping
from hunet.protocols import Protocol, protocol_class
from hunet.simulation.engine import Engine, Links, Rank
from hunet.simulation.randomness import Stream, node_rng
from hunet.simulation.summary import Outcome

if TYPE_CHECKING:
    from hunet.model import Contacts
    from hunet.protocols import Driver
    from hunet.simulation.event_log import EventLog
    from hunet.simulation.result import Result

__all__ = ["Crash", "run"]

_CHUNK = 1 << 14
SERIES_STEPS = 100


class Crash(NamedTuple):
    """A device stops at ``time``, loses all that its protocol knew, and is back ``down`` seconds later."""

    node: int
    time: float
    down: float = 0.0


def run(
    contacts: Contacts,
    workload: Workload,
    protocol: str | type[Protocol] = "push",
    *,
    seed: int = 1,
    links: Links | None = None,
    crashes: Sequence[Crash] = (),
    train: float = 0.0,
    log: EventLog | None = None,
    progress: Callable[[float], None] | None = None,
    **parameters: Any,
) -> Result:
    """Run one protocol on these contacts and this workload.

    ``parameters`` are the protocol's own (``hunet protocols`` lists them). ``train`` is the share of the trace during
    which protocols only watch. ``progress`` is called now and then with the share of the events that are done.

    >>> from hunet.model import Contacts, Publication, Subscription, Workload
    >>> line = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30), ("2", "3", 40, 50)])
    >>> news = Workload.of([Publication("m", 0.0, 0, "news")], [Subscription(3, "news")])
    >>> result = run(line, news, "push")
    >>> result.deliveries[["publication", "node", "time", "hops"]].values.tolist()
    [['m', '3', 40.0, 3]]
    >>> result.summary["delivery_ratio"], run(line, news, "pull").summary["delivery_ratio"]
    (1.0, 0.0)
    """
    if not len(contacts):
        raise ConfigurationError("the contact table is empty: there is nothing to simulate")
    if not 0 <= train <= 1:
        raise ConfigurationError(f"train is a share of the trace, from 0 to 1, not {train:g}")
    _refuse_strangers(contacts, workload, crashes)
    kind = protocol_class(protocol) if isinstance(protocol, str) else protocol
    chosen = from_mapping(kind.Parameters, parameters)
    links = links or Links()

    def trial(name: str, given: dict[str, Any]) -> dict[str, float]:
        silent = Workload.of([], [])
        shown = run(contacts, silent, name, seed=seed, links=links, crashes=crashes, train=train, **given)
        return dict(shown.summary["observed"])

    chosen = kind.matched(chosen, trial)
    messages = Catalogue()
    for said in workload.publications:
        messages.add(said.id, said.topic, said.node, said.time, said.size, said.ttl)

    def make(node: int, driver: Driver, starts: int) -> Protocol:
        def create(driver: Driver) -> Protocol:
            return kind(node, chosen, driver, node_rng(seed, Stream.PROTOCOL, node, starts))

        return log.recording(node, driver, create, starts) if log else create(driver)

    times = [said.time for said in workload.publications] + [crash.time for crash in crashes]
    begin, end = min([contacts.span[0], *times]), max([contacts.span[1], *times])
    name = {
        "contacts": {"sha256": contacts.fingerprint, "nodes": len(contacts.names), "about": contacts.about},
        "workload": {"sha256": workload.fingerprint, "about": workload.about},
        "protocol": protocol if isinstance(protocol, str) else f"{kind.__module__}:{kind.__qualname__}",
        "parameters": msgspec.to_builtins(chosen),
        "links": msgspec.to_builtins(links),
        "crashes": [list(crash) for crash in crashes],
        "train": train,
        "seed": seed,
        "versions": {
            "hunet": version("hunet"),
            "numpy": np.__version__,
            "python": ".".join(platform.python_version_tuple()[:2]),
        },
    }
    if log:
        log.begin(name, contacts.names, messages)
    loss_rng = node_rng(seed, Stream.LINKS)
    engine = Engine(len(contacts.names), messages, make, links, loss_rng, crashes=bool(crashes))
    engine.now = begin
    engine.start()
    schedule = _Schedule(contacts, workload, crashes, (begin, end), train)
    for subscription in workload.subscriptions:
        if subscription.start == -inf:
            engine.subscribe(subscription.node, subscription.topic)
    steps = np.linspace(begin, end, SERIES_STEPS + 1)
    control = _play(engine, schedule, steps[1:].tolist(), progress)
    engine.observe(end)
    return Outcome(name, contacts, workload, engine.record, (begin, end)).result(steps, control)


def _refuse_strangers(contacts: Contacts, workload: Workload, crashes: Sequence[Crash]) -> None:
    named = [(said.node, f"publication '{said.id}'") for said in workload.publications]
    named += [(wanted.node, f"a subscription to '{wanted.topic}'") for wanted in workload.subscriptions]
    named += [(crash.node, "a crash") for crash in crashes]
    for node, who in named:
        if not 0 <= node < len(contacts.names):
            raise ConfigurationError(
                f"{who} names node {node}, but the contacts have nodes 0 to {len(contacts.names) - 1}"
            )


def _play(
    engine: Engine, schedule: _Schedule, steps: list[float], progress: Callable[[float], None] | None
) -> list[tuple[int, int]]:
    """The event loop, to the last step; returns the control packets and bytes so far at each of them."""
    control: list[tuple[int, int]] = []
    agenda = engine.agenda

    def take_steps(until: float) -> None:
        while len(control) < len(steps) and steps[len(control)] < until:
            engine.advance(steps[len(control)], Rank.LAST)
            control.append((engine.record.control_packets, engine.record.control_bytes))

    start, finish = engine.contact_start if schedule.crashes else engine.connect, engine.contact_end
    contact_start, contact_end = Rank.CONTACT_START, Rank.CONTACT_END
    awake, control_queue = engine.awake, engine.control
    step, now = steps[0], -inf
    done = 0
    for chunk in schedule.chunks():
        for time, rank, x, y in chunk:
            if (awake or control_queue) and (rank != contact_start or time > now):
                engine.settle()
            now = time
            if time > step:
                take_steps(time)
                step = steps[len(control)] if len(control) < len(steps) else inf
            if agenda and agenda[0][:2] < (time, rank):
                engine.advance(time, rank)
            engine.now = time
            if rank == contact_start:
                start(x, y)
            elif rank == contact_end:
                finish(x, y)
            else:
                schedule.act(engine, x)
        done += _CHUNK
        if progress:
            progress(min(1.0, done / schedule.size))
    engine.settle()
    take_steps(inf)
    return control


class _Schedule:
    """All events that are known in advance, in order; the contacts stay in their columns."""

    def __init__(
        self,
        contacts: Contacts,
        workload: Workload,
        crashes: Sequence[Crash],
        span: tuple[float, float],
        train: float,
    ) -> None:
        begin, end = span
        self.crashes = bool(crashes)
        self._contacts = contacts
        self._ends = np.lexsort((contacts.a.astype(np.int64) << 32 | contacts.b, contacts.end))
        self._actions: list[tuple[float, int, str, tuple[Any, ...]]] = []
        for i, said in enumerate(workload.publications):
            self._actions.append((said.time, Rank.PUBLISH, "publish", (i,)))
        for wanted in workload.subscriptions:
            if wanted.start != -inf:
                self._actions.append((max(wanted.start, begin), Rank.SUBSCRIBE, "subscribe", wanted[:2]))
            if wanted.end != inf:
                self._actions.append((max(wanted.end, begin), Rank.UNSUBSCRIBE, "unsubscribe", wanted[:2]))
        for crash in crashes:
            self._actions.append((crash.time, Rank.CRASH, "crash", (crash.node,)))
            # A device that is down for no time comes back in the very moment of its crash.
            rank = Rank.RESTART if crash.down else Rank.CRASH
            self._actions.append((crash.time + crash.down, rank, "restart", (crash.node,)))
        if train:
            self._actions.append((begin, Rank.PHASE, "phase", ("train",)))
            self._actions.append((begin + train * (end - begin), Rank.PHASE, "phase", ("operate",)))
        self._actions = [action for action in self._actions if action[0] <= end]
        self._actions.sort(key=lambda action: action[:2])
        self.size = 2 * len(contacts) + len(self._actions)

    def act(self, engine: Engine, number: int) -> None:
        _, _, verb, arguments = self._actions[number]
        if verb == "publish":
            arguments = (engine.messages[arguments[0]],)
        getattr(engine, verb)(*arguments)

    def chunks(self) -> Iterator[Iterator[tuple[float, int, int, int]]]:
        """(time, rank, x, y): the nodes of a contact, or the number of an action."""
        contacts, ends = self._contacts, self._ends
        actions = np.array([action[0] for action in self._actions], np.float64)
        ranks = np.array([action[1] for action in self._actions], np.int8)
        numbers = np.arange(len(actions), dtype=np.int32)
        early, late = ranks == Rank.RESTART, ranks == Rank.CRASH
        between = ~(early | late)
        groups = [
            (actions[early], ranks[early], numbers[early], numbers[early]),
            (contacts.start, np.full(len(contacts), Rank.CONTACT_START, np.int8), contacts.a, contacts.b),
            (actions[between], ranks[between], numbers[between], numbers[between]),
            (
                contacts.end[ends],
                np.full(len(ends), Rank.CONTACT_END, np.int8),
                contacts.a[ends],
                contacts.b[ends],
            ),
            (actions[late], ranks[late], numbers[late], numbers[late]),
        ]
        time, rank, x, y = (np.concatenate([group[column] for group in groups]) for column in range(4))
        order = np.argsort(time, kind="stable")  # groups stand in order of rank, so ties fall into place
        for first in range(0, len(order), _CHUNK):
            part = order[first : first + _CHUNK]
            yield zip(time[part].tolist(), rank[part].tolist(), x[part].tolist(), y[part].tolist(), strict=True)
