"""Whether what happened to real devices is what a simulation says, and where it is not, why.

A simulated contact is usable from its first instant, and all is exchanged at that instant. Real devices have to find
each other and to shake hands, and while they talk to one neighbour they talk to others, too. So some deliveries differ.

:func:`compare` is given everything that real devices' protocols were shown, and when. It can therefore make protocols
live through the same again, here: a packet that a device has heard is the one that the *simulated* peer said, and only
the order and the times of events are from the log. If all devices behaved as their protocols say, what comes out are
the very deliveries that happened, at the same times. That is checked first.

Then it can stop at any moment, and let the simulator go on from there on the contacts as they were planned. Stopped at
the beginning, this is the simulation; at the end, it is what happened. For a delivery that differs there is a moment in
between at which the outcome changes from one to the other: the event of that moment is the cause, by experiment. It is
an explanation if the contact that it belongs to was late, or too short, by no more than the time that devices may take
to meet. A difference whose cause is something else (a link that broke, one that was never made) is not explained.
"""

from __future__ import annotations

from collections import deque
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model import Catalogue, Contacts, Workload, from_mapping
from hunet.model.randomness import Stream, node_rng
from hunet.protocols import Data, Packet, Protocol
from hunet.simulation.engine import Engine, Links, Rank
from hunet.simulation.record import columns
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hunet.protocols import Driver
    from hunet.protocols.contract import Logged

_SAME_TIME = 1e-3
Pair = tuple[str, int]
"""A publication and a subscriber."""


class Difference(NamedTuple):
    """A delivery that is not the same in both."""

    publication: str
    node: int
    simulated: float | None
    happened: float | None
    cause: str
    explained: bool


class Agreement(NamedTuple):
    """How many deliveries are the same, and which are not."""

    same: int
    differences: list[Difference]
    delays: list[float]
    """Of the same ones: by how much later than simulated they happened (s)."""
    meeting_times: list[float]
    """For each contact in which devices met: after how long both knew it (s)."""
    missed: int
    """Contacts in which they did not meet."""
    broken: list[str]
    """What devices did that their protocols, shown the same events, do not do: nothing, unless something is wrong."""

    @property
    def explained(self) -> bool:
        """Whether there is a reason for everything."""
        return not self.broken and all(each.explained for each in self.differences)


def compare(
    contacts: Contacts,
    workload: Workload,
    events: Sequence[Logged],
    delivered: Mapping[Pair, float],
    protocol: str,
    *,
    slowest: float,
    seed: int = 1,
    **parameters: Any,
) -> Agreement:
    """Compare deliveries one by one; ``slowest`` is what two devices may take to meet or part, in seconds of the trace.

    ``events`` are in the order in which they happened.
    """
    laboratory = _Laboratory(contacts, workload, events, protocol, seed, parameters)
    again = laboratory.outcome(len(laboratory.moments))
    broken = [*laboratory.surprises]
    for said, node in sorted(again.keys() | delivered.keys()):
        should, did = again.get((said, node)), delivered.get((said, node))
        if not _alike(should, did, _SAME_TIME):
            broken.append(f"{said} at {contacts.names[node]}: {_when(did)}, but its protocol says {_when(should)}")
    planned = laboratory.outcome(0)
    differences, delays = [], []
    for pair in sorted(planned.keys() | delivered.keys()):
        simulated, did = planned.get(pair), delivered.get(pair)
        if simulated is not None and did is not None and abs(did - simulated) <= slowest:
            delays.append(did - simulated)
        else:
            differences.append(Difference(*pair, simulated, did, *laboratory.explain(pair, did, slowest)))
    met = [each for each in laboratory.meetings if each]
    times = [each[0].both - float(contacts.start[i]) for i, each in enumerate(laboratory.meetings) if each]
    return Agreement(len(delays), differences, delays, times, len(contacts) - len(met), broken)


def _alike(one: float | None, other: float | None, slack: float) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= slack


def _when(time: float | None) -> str:
    return "not delivered" if time is None else f"delivered at {time:.1f} s"


class _Moment(NamedTuple):
    """A moment at which the experiment may stop: an event as planned, or as it was logged."""

    time: float
    rank: int
    what: str
    planned: tuple[Any, ...]
    logged: Logged | None


class _Meeting:
    """A session, as its two ends saw it."""

    def __init__(self) -> None:
        self.up: dict[int, float] = {}
        self.settled: dict[int, float] = {}
        self.down: dict[int, float] = {}

    @property
    def both(self) -> float:
        return max(self.up.values())

    @property
    def exchanged(self) -> float:
        return max(self.settled.values(), default=inf)


class _Laboratory:
    """Experiments: live through the first so many moments as they were, and simulate the rest as it was planned."""

    def __init__(
        self,
        contacts: Contacts,
        workload: Workload,
        events: Sequence[Logged],
        protocol: str,
        seed: int,
        parameters: Mapping[str, Any],
    ) -> None:
        self._contacts, self._workload, self._seed = contacts, workload, seed
        self._kind = protocol_class(protocol)
        self._parameters = from_mapping(self._kind.Parameters, parameters)
        columns = (contacts.a.tolist(), contacts.b.tolist(), contacts.start.tolist(), contacts.end.tolist())
        self.rows: list[tuple[int, int, float, float]] = list(zip(*columns, strict=True))
        self._of_pair: dict[tuple[int, int], list[int]] = {}
        for i, row in enumerate(self.rows):
            self._of_pair.setdefault(row[:2], []).append(i)
        self.moments = sorted([*self._plan(), *_log(events)], key=lambda moment: moment[:2])
        self.meetings = self._meet(events)
        self.surprises: list[str] = []
        self.late_timers: dict[Logged, float] = {}
        self._outcomes: dict[int, dict[Pair, float]] = {}

    def _plan(self) -> Iterator[_Moment]:
        for i, row in enumerate(self.rows):
            yield _Moment(row[2], Rank.CONTACT_START, "meet", (i,), None)
        for i in sorted(range(len(self.rows)), key=lambda i: (self.rows[i][3], *self.rows[i][:2])):
            yield _Moment(self.rows[i][3], Rank.CONTACT_END, "part", (i,), None)
        for said in self._workload.publications:
            yield _Moment(said.time, Rank.PUBLISH, "publish", (said.id,), None)
        for wanted in self._workload.subscriptions:
            yield _Moment(wanted.start, Rank.SUBSCRIBE, "subscribe", wanted[:2], None)
            if wanted.end != inf:
                yield _Moment(wanted.end, Rank.UNSUBSCRIBE, "unsubscribe", wanted[:2], None)

    def _meet(self, events: Sequence[Logged]) -> list[list[_Meeting]]:
        """For each contact, the sessions that both ends saw in it."""
        sessions: dict[str, _Meeting] = {}
        where: dict[tuple[int, int], str] = {}
        for event in events:
            link = (event.node, event.peer)
            if event.what == "link_up":
                where[link] = event.about
                sessions.setdefault(event.about, _Meeting()).up[event.node] = event.time
            elif event.what in ("settled", "link_down") and link in where:
                ends = sessions[where[link]]
                (ends.settled if event.what == "settled" else ends.down)[event.node] = event.time
        found: list[list[_Meeting]] = [[] for _ in self.rows]
        for meeting in sessions.values():
            if len(meeting.up) == 2:
                one, two = sorted(meeting.up)
                contact = self._contact_at(one, two, max(meeting.up.values()))
                if contact is not None:
                    found[contact].append(meeting)
        return found

    def _contact_at(self, one: int, two: int, time: float) -> int | None:
        """Nothing happens before it is planned, so what happens belongs to the last contact that has begun."""
        begun = [i for i in self._of_pair.get((min(one, two), max(one, two)), ()) if self.rows[i][2] <= time]
        return begun[-1] if begun else None

    # Experiments ------------------------------------------------------------------------------------------------------

    def outcome(self, lived: int) -> dict[Pair, float]:
        """When each delivery happens if the first ``lived`` moments are as they were."""
        if lived not in self._outcomes:
            replay = _Replay(self._engine(self.moments[:lived]), self._contacts.names)
            for moment in self.moments[:lived]:
                if moment.logged:
                    replay.show(moment.logged)
            if lived == len(self.moments):
                self.surprises, self.late_timers = replay.surprises, replay.late_timers
            else:
                self._go_on(replay, lived)
            self._outcomes[lived] = replay.deliveries()
        return self._outcomes[lived]

    def _engine(self, lived: Sequence[_Moment]) -> Engine:
        created = {said.id: said.time for said in self._workload.publications}
        created |= {m.logged.about: m.time for m in lived if m.logged and m.what == "publish"}
        messages = Catalogue()
        for said in sorted(self._workload.publications, key=lambda said: (created[said.id], said.id)):
            messages.add(said.id, said.topic, said.node, created[said.id], said.size, said.ttl)

        def make(node: int, driver: Driver, starts: int) -> Protocol:
            return self._kind(node, self._parameters, driver, node_rng(self._seed, Stream.PROTOCOL, node, starts))

        engine = Engine(len(self._contacts.names), messages, make, Links(), Random(0))
        times = [said.time for said in self._workload.publications]
        engine.now = min([self._contacts.span[0], *times])
        engine.start()
        return engine

    def _go_on(self, replay: _Replay, lived: int) -> None:
        """From here on all goes as planned: who should be in contact is, and exchanges what there is, at once."""
        engine = replay.engine
        engine.now = max([engine.now, *(moment.time for moment in self.moments[max(0, lived - 1) : lived])])
        near, wanted, said = self._state(lived)
        replay.settle({self.rows[i][:2] for i in sorted(near)})
        for node, topic in sorted(wanted ^ replay.wanted):
            (engine.subscribe if (node, topic) in wanted else engine.unsubscribe)(node, topic)
        for publication in said:
            if publication not in replay.published:
                engine.publish(engine.messages.by_id(publication))
        now = engine.now
        for moment in self.moments[lived:]:
            if moment.logged is None:
                time = max(moment.time, now)
                if (engine.awake or engine.control) and (moment.rank != Rank.CONTACT_START or time > now):
                    engine.settle()
                engine.advance(time, moment.rank)
                now = time
                self._act(engine, moment, replay)
        engine.settle()

    def _state(self, lived: int) -> tuple[set[int], set[tuple[Any, ...]], list[str]]:
        """Which contacts are on, who wants what, and what has been said, if all went as planned."""
        near: set[int] = set()
        wanted: set[tuple[Any, ...]] = set()
        said: list[str] = []
        for moment in self.moments[:lived]:
            if moment.logged is None:
                if moment.what == "meet":
                    near.add(moment.planned[0])
                elif moment.what == "part":
                    near.discard(moment.planned[0])
                elif moment.what == "publish":
                    said.append(moment.planned[0])
                else:
                    (wanted.add if moment.what == "subscribe" else wanted.discard)(moment.planned)
        return near, wanted, said

    def _act(self, engine: Engine, moment: _Moment, replay: _Replay) -> None:
        if moment.what == "meet":
            engine.connect(*self.rows[moment.planned[0]][:2])
        elif moment.what == "part":
            engine.contact_end(*self.rows[moment.planned[0]][:2])
        elif moment.what == "publish":
            if moment.planned[0] not in replay.published:
                engine.publish(engine.messages.by_id(moment.planned[0]))
        elif moment.what == "subscribe":
            engine.subscribe(*moment.planned)
        else:
            engine.unsubscribe(*moment.planned)

    # Causes -----------------------------------------------------------------------------------------------------------

    def explain(self, pair: Pair, did: float | None, slowest: float) -> tuple[str, bool]:
        """The moment at which the outcome turns into what it was, in words, and whether that explains it."""
        unlike, alike = 0, len(self.moments)
        if not _alike(self.outcome(alike).get(pair), did, _SAME_TIME):
            return "the device did not do as its protocol says", False
        while alike - unlike > 1:
            middle = (unlike + alike) // 2
            if _alike(self.outcome(middle).get(pair), did, slowest):
                alike = middle
            else:
                unlike = middle
        return self._tell(self.moments[alike - 1], slowest)

    def _tell(self, moment: _Moment, slowest: float) -> tuple[str, bool]:
        logged = moment.logged
        if logged and logged.peer >= 0:
            contact = self._contact_at(logged.node, logged.peer, logged.time)
            if contact is None:
                return f"{self._names(logged.node, logged.peer)} met without being in reach", False
            return self._tell_contact(contact, moment, slowest)
        if moment.what in ("meet", "part"):
            return self._tell_contact(moment.planned[0], moment, slowest)
        if moment.what == "timer":
            assert logged is not None
            late = self.late_timers[logged]
            return f"a timer of {self._contacts.names[logged.node]} rang {late:.1f} s late", late <= slowest
        return self._tell_application(moment, slowest)

    def _tell_application(self, moment: _Moment, slowest: float) -> tuple[str, bool]:
        """A publication or a subscription that was not at the time at which it was planned."""
        what, key = moment.what, self._key(moment)
        same = [each for each in self.moments if each.what == what and self._key(each) == key]
        planned = max((each.time for each in same if not each.logged and each.time <= moment.time), default=inf)
        did = min((each.time for each in same if each.logged and each.time >= planned), default=inf)
        return f"a device was {did - planned:.1f} s late to {what} {key[-1]}", did - planned <= slowest

    @staticmethod
    def _key(moment: _Moment) -> tuple[Any, ...]:
        """Whose publication or subscription of what."""
        logged = moment.logged
        if logged is None:
            return moment.planned
        return (logged.about,) if moment.what == "publish" else (logged.node, logged.about)

    def _tell_contact(self, contact: int, moment: _Moment, slowest: float) -> tuple[str, bool]:
        a, b, start, end = self.rows[contact]
        about, meetings = f"{self._names(a, b)}, in reach from {start:g} s to {end:g} s,", self.meetings[contact]
        if not meetings and self._stayed_linked(contact, slowest):
            return f"{about} had not noticed that they had been apart before, and did not begin anew", True
        if not meetings:
            return f"{about} had no time to meet", end - start <= slowest
        if len(meetings) > 1:
            return f"{about} lost each other and met again", False
        met = meetings[0].both - start
        if moment.what == "link_down" or (moment.what == "part" and meetings[0].exchanged <= end):
            late = moment.time - end
            return f"{about} parted {late:.1f} s late", met <= slowest and 0 <= late <= slowest
        done = meetings[0].exchanged - start
        if done == inf or meetings[0].exchanged > end:
            return f"{about} met {met:.1f} s later and parted in the middle of their exchange", end - start <= slowest
        text = f"{about} met {met:.1f} s later and had exchanged what they had after {done:.1f} s"
        others = sorted({name for end_ in (a, b) for name in self._busy_with(end_, (a, b), meetings[0])})
        text += f", while they did so with {', '.join(others)} too" if others else ""
        return text, done <= slowest

    def _stayed_linked(self, contact: int, slowest: float) -> bool:
        """Whether two were in reach a moment before, and their session outlived the time between."""
        a, b, start, _ = self.rows[contact]
        before = [i for i, (one, two, _, end) in enumerate(self.rows) if (one, two) == (a, b) and end < start]
        last = max(before, key=lambda i: self.rows[i][3], default=None)
        if last is None or start - self.rows[last][3] > slowest:
            return False
        if not self.meetings[last]:
            return self._stayed_linked(last, slowest)
        return min(self.meetings[last][-1].down.values(), default=inf) >= start

    def _busy_with(self, node: int, pair: tuple[int, int], meeting: _Meeting) -> Iterator[str]:
        """Whom a device was exchanging with while it did in a meeting."""
        for (a, b, *_), others in zip(self.rows, self.meetings, strict=True):
            if node in (a, b) and (a, b) != pair:
                for other in others:
                    if other.both <= meeting.exchanged and meeting.both <= other.exchanged:
                        yield self._contacts.names[b if a == node else a]

    def _names(self, one: int, two: int) -> str:
        names = self._contacts.names
        return f"{names[min(one, two)]} and {names[max(one, two)]}"


def _log(events: Sequence[Logged]) -> Iterator[_Moment]:
    time = -inf
    for event in events:  # an event has the time at which it came in; those of two devices may overlap a little
        time = max(time, event.time)
        yield _Moment(time, Rank.LAST, event.what, (), event)


class _Replay:
    """Protocols that are shown what devices were shown, packets included, but that these are each other's own."""

    def __init__(self, engine: Engine, names: Sequence[str]) -> None:
        self.engine, self._names = engine, names
        self.surprises: list[str] = []
        self.late_timers: dict[Logged, float] = {}
        """By how much each timer was late (s)."""
        self.published: set[str] = set()
        self.wanted: set[tuple[int, str]] = set()
        self._session: dict[tuple[int, int], str] = {}
        """For each end of a link that is up, the session."""
        self._wires: dict[tuple[str, int], deque[Packet]] = {}
        """For each session and speaker, what the other end has not heard yet."""
        self._under_way: dict[tuple[int, int], Data] = {}
        self._settled: set[tuple[int, int]] = set()

    def show(self, event: Logged) -> None:
        """One event as it was."""
        self.engine.now = event.time  # which may be a little before that of another device's last event
        if event.peer >= 0:
            self._show_link(event)
        else:
            self._show_application(event)
        self._transmit()

    def _show_application(self, event: Logged) -> None:
        engine, (_, now, node, what, _, about) = self.engine, event
        protocol, device = engine.protocols[node], engine.devices[node]
        if what == "timer":
            number = device.timers.pop(about, 0)
            self.late_timers[event] = now - next((each[0] for each in engine.agenda if each[2] == number), -inf)
            protocol.timer(about, now)
        elif what == "publish":
            self.published.add(about)
            protocol.publish(engine.messages.by_id(about), now)
        elif what == "subscribe":
            self.wanted.add((node, about))
            device.topics.append(about)
            protocol.subscribe(about, now)
        else:
            self.wanted.discard((node, about))
            device.topics.remove(about)
            protocol.unsubscribe(about, now)

    def _show_link(self, event: Logged) -> None:
        engine, (_, now, node, what, peer, about) = self.engine, event
        protocol, link = engine.protocols[node], (node, peer)
        if what == "link_up":
            self._session[link] = about
            engine.devices[node].neighbours[peer] = None
            self._say(link, *protocol.link_up(peer, now))
        elif what == "receive":
            packet = self._hear(link, about)
            if packet is not None:
                protocol.receive(peer, packet, now)
        elif what == "poll":
            data = protocol.poll(peer, now, about)
            if data is not None:
                self._under_way[link] = data
                self._say(link, data)
        elif what == "sent":
            if link in self._under_way:
                protocol.sent(peer, self._under_way.pop(link), about, now)
            else:
                self.surprises.append(f"{self._names[node]} sent at {now:.1f} s what its protocol does not send")
        elif what == "settled":
            self._settled.add(link)
            protocol.settled(peer, now)
        else:
            self._forget(link)
            protocol.link_down(peer, now)

    def _say(self, link: tuple[int, int], *packets: Packet) -> None:
        if link in self._session:
            self._wires.setdefault((self._session[link], link[0]), deque()).extend(packets)

    def _hear(self, link: tuple[int, int], kind: str) -> Packet | None:
        node, peer = link
        wire = self._wires.get((self._session.get(link, ""), peer))
        if not wire or type(wire[0]).__name__ != kind:
            said = type(wire[0]).__name__ if wire else "nothing"
            self.surprises.append(
                f"{self._names[node]} heard a {kind} of {self._names[peer]}, whose protocol says {said}"
            )
            return None
        return wire.popleft()

    def _transmit(self) -> None:
        """What protocols say to neighbours waits until it is logged that they heard it."""
        engine = self.engine
        while engine.control:
            sender, hearers, packet = engine.control.popleft()
            for hearer in hearers:
                self._say((sender, hearer), packet)
        engine.awake.clear()
        engine.woken.clear()

    def _forget(self, link: tuple[int, int]) -> None:
        node, peer = link
        session = self._session.pop(link, "")
        self._wires.pop((session, peer), None)
        self._under_way.pop(link, None)
        self._settled.discard(link)
        self.engine.devices[node].neighbours.pop(peer, None)

    def settle(self, near: set[tuple[int, int]]) -> None:
        """Leave links open between those who are near, whatever was going on, and between nobody else."""
        engine, now = self.engine, self.engine.now
        for node, peer in list(self._session):
            if (min(node, peer), max(node, peer)) not in near:
                self._forget((node, peer))
                engine.protocols[node].link_down(peer, now)
        for a, b in sorted(near):
            sessions = {self._session.get((a, b)), self._session.get((b, a))}
            if len(sessions) == 1 and None not in sessions:
                self._finish(a, b)
            else:
                for node, peer in ((a, b), (b, a)):
                    if (node, peer) in self._session:
                        self._forget((node, peer))
                        engine.protocols[node].link_down(peer, now)
                self._transmit()
                engine.connect(a, b)
            engine.settle()

    def _finish(self, a: int, b: int) -> None:
        """Let two devices that were at it finish at once."""
        engine, now = self.engine, self.engine.now
        session, ends = self._session[a, b], ((a, b), (b, a))
        for node, peer in ends:
            wire = self._wires.get((session, peer), deque())
            while wire:
                engine.protocols[node].receive(peer, wire.popleft(), now)
        for node, peer in ends:
            data = self._under_way.pop((node, peer), None)
            if data is not None:
                engine.protocols[node].sent(peer, data, True, now)
            engine.devices[node].wake(peer)
        engine.settle()
        for node, peer in ends:
            if (node, peer) not in self._settled:
                engine.protocols[node].settled(peer, now)

    def deliveries(self) -> dict[Pair, float]:
        """The first delivery of each publication at each device."""
        found: dict[Pair, float] = {}
        time, node, number, _ = columns(self.engine.record.deliveries, 4)
        for t, n, m in zip(time.tolist(), node.astype(int).tolist(), number.astype(int).tolist(), strict=True):
            found.setdefault((self.engine.messages[m].id, n), t)
        return found
