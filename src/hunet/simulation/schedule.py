"""The order of events in a run, and the loop that shows them to the engine.

Events of one instant happen in this order (ties within a line by node numbers, then as given):

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

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hunet.model import ConfigurationError
from hunet.model.errors import did_you_mean
from hunet.simulation.engine import Engine, Rank

if TYPE_CHECKING:
    from hunet.model import Contacts, Workload

_CHUNK = 1 << 14
_NEW_OBJECTS = 100_000
"""So many must have come into being before the event loop looks for cycles among them."""


class Crash(NamedTuple):
    """A device stops at ``time``, loses all that its protocol knew, and is back ``down`` seconds later."""

    node: int
    time: float
    down: float = 0.0


def crashes_from(given: Iterable[Mapping[str, Any]], contacts: Contacts) -> list[Crash]:
    """Crashes as configuration files tell them, with a node's name in the place of its number."""
    number = {name: i for i, name in enumerate(contacts.names)}
    crashes = []
    for row in given:
        if set(row) - {"node", "time", "down"} or not {"node", "time"} <= set(row):
            raise ConfigurationError(f"a crash has the fields node, time and, optionally, down, not {sorted(row)}")
        node = str(row["node"])
        if node not in number:
            raise ConfigurationError(f"crash of node '{node}', which has no contacts: {did_you_mean(node, number)}")
        crash = Crash(number[node], float(row["time"]), float(row.get("down", 0)))
        if crash.time < 0 or crash.down < 0:
            raise ConfigurationError(f"crash of node '{node}': times must not be negative")
        crashes.append(crash)
    return crashes


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the garbage collector look seldom: protocols make many objects that last, and hardly a cycle."""
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], _NEW_OBJECTS) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@_few_collections()
def play(
    engine: Engine, schedule: Schedule, steps: list[float], progress: Callable[[float], None] | None
) -> list[tuple[int, int, int]]:
    """The event loop, to the last step; returns the control packets and bytes so far at each of them."""
    control: list[tuple[int, int, int]] = []
    agenda = engine.agenda

    def take_steps(until: float) -> None:
        while len(control) < len(steps) and steps[len(control)] < until:
            engine.advance(steps[len(control)], Rank.LAST)
            engine.count_repeated()
            control.append((engine.record.control_packets, engine.record.control_bytes, engine.record.seen_bytes))

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
                step = steps[len(control)]
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
        if not schedule.crashes:  # a crash asks for the copies that a device holds
            engine.record.spill()
        if progress:
            progress(min(1.0, done / schedule.size))
    engine.settle()
    take_steps(inf)
    return control


class Schedule:
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
        for i, publication in enumerate(workload.publications):
            self._actions.append((publication.time, Rank.PUBLISH, "publish", (i,)))
        for wanted in workload.subscriptions:
            if wanted.start >= begin:  # what began before is there from the start
                self._actions.append((wanted.start, Rank.SUBSCRIBE, "subscribe", wanted[:2]))
            if begin <= wanted.end < inf:
                self._actions.append((wanted.end, Rank.UNSUBSCRIBE, "unsubscribe", wanted[:2]))
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
