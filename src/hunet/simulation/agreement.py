"""Whether real devices did what their protocols say, and which of their deliveries are not the simulator's.

A simulated contact is usable from its first instant, and everything is exchanged at that instant. Real devices have to
find each other and to shake hands, and they talk to several neighbours at the same time. So some deliveries differ.
:func:`compare` is given every event that the protocols of real devices were shown, and checks two things.

First, new protocol objects are shown the same events. A packet that a device received is the one that the replayed peer
sent; only the order and the times of events are from the log. They must deliver the same, at the same times.

Second, deliveries are compared with those of a simulation. One that was at most ``slowest`` seconds late is the same.
One that is missing needs a reason that was measured. For it the simulated path of the message is followed, to the first
hop that was not made at most ``slowest`` seconds after the sender had the message. These are reasons, and nothing else:

- at most ``slowest`` seconds were left of the contact, of the message's life, or of the subscription;
- the devices were linked until the end of the contact, and had not finished their exchange;
- they had finished it before the sender had the message, with a protocol that exchanges once in a contact;
- without the time in which the machine had none for the two, or for the conductor, it was at most ``slowest`` seconds.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import pairwise
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model import Catalogue, SharedCatalogue, from_mapping, matching_score, members, without
from hunet.model.randomness import Stream, node_rng
from hunet.protocols import Data, Packet
from hunet.protocols.capabilities import exchanges_once
from hunet.protocols.watcher import ACTIONS, CONDUCTOR, Stall
from hunet.simulation.run import run
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hunet.model import Contacts, Message, MessageSet, Publication, Workload
    from hunet.protocols import Protocol
    from hunet.protocols.watcher import Logged
    from hunet.simulation.result import Result

_SAME_TIME = 1e-3
Pair = tuple[str, int]
"""A publication and a subscriber."""


class Difference(NamedTuple):
    """A delivery that is not the same in both."""

    publication: str
    node: int
    simulated: float | None
    happened: float | None
    reason: str = ""
    """Why it is missing, as measured; empty if it is not missing, or if nothing was measured that is a reason."""


class Agreement(NamedTuple):
    """How many deliveries are the same, and which are not."""

    same: int
    differences: list[Difference]
    delays: list[float]
    """Of the same ones: by how much later than simulated they happened (s)."""
    meeting_times: list[float]
    """For each contact in which devices were linked: after how long both ends knew it (s)."""
    missed: int
    """Contacts in which they were not."""
    broken: list[str]
    """What devices did that their protocols, shown the same events, do not do: nothing, unless something is wrong."""

    @property
    def lost(self) -> list[Difference]:
        """Simulated deliveries that are missing without a reason."""
        return [each for each in self.differences if each.happened is None and not each.reason]


def compare(
    contacts: Contacts,
    workload: Workload,
    events: Sequence[Logged],
    delivered: Mapping[Pair, float],
    protocol: str,
    *,
    slowest: float,
    seed: int = 1,
    stalls: Sequence[Stall] = (),
    **parameters: Any,
) -> Agreement:
    """Compare deliveries one by one; ``slowest`` is what two devices may take to meet or part, in seconds of the trace.

    ``events`` are in the order in which they happened.
    """
    kind = protocol_class(protocol)
    chosen = from_mapping(kind.Parameters, parameters)

    def make(node: int, driver: Any) -> Protocol:
        return kind(node, chosen, driver, node_rng(seed, Stream.PROTOCOL, node, 0))

    replay = _Replay(contacts, workload, events, make)
    broken = replay.surprises
    for publication, node in sorted(replay.delivered.keys() | delivered.keys()):
        should, did = replay.delivered.get((publication, node), inf), delivered.get((publication, node), inf)
        if should != did and abs(should - did) > _SAME_TIME:
            broken.append(
                f"{publication} at {contacts.names[node]}: {_when(did)}, but its protocol says {_when(should)}"
            )
    simulation = run(contacts, workload, protocol, seed=seed, **parameters)
    links = _links(events)
    paths = _Paths(contacts, workload, simulation, links, replay.arrived, slowest, exchanges_once(kind), stalls)
    differences, delays = [], []
    for pair in sorted(paths.delivered.keys() | delivered.keys()):
        simulated, happened = paths.delivered.get(pair), delivered.get(pair)
        if simulated is not None and happened is not None and abs(happened - simulated) <= slowest:
            delays.append(happened - simulated)
        else:
            reason = paths.reason(*pair) if happened is None else ""
            differences.append(Difference(*pair, simulated, happened, reason))
    times = _meeting_times(paths.contacts, links)
    return Agreement(len(delays), differences, delays, times, len(contacts) - len(times), broken)


def _when(time: float) -> str:
    return "not delivered" if time == inf else f"delivered at {time:.1f} s"


# Links ----------------------------------------------------------------------------------------------------------------

Ends = tuple[int, int]
"""The two devices of a contact, the lower number first; or one end of a link and the other."""


class _LinkState:
    """A session, as its two ends logged it."""

    def __init__(self) -> None:
        self.up: dict[int, float] = {}
        self.settled: dict[int, float] = {}
        self.down: dict[int, float] = {}

    def __str__(self) -> str:
        return f"linked from {self.start:.1f} s " + ("on" if self.end == inf else f"to {self.end:.1f} s")

    @property
    def start(self) -> float:
        """When both ends knew it."""
        return max(self.up.values())

    @property
    def end(self) -> float:
        return min(self.down.values(), default=inf)

    @property
    def finished(self) -> bool:
        """Whether the exchange was finished: a link that goes down is settled in that very moment."""
        return all(self.settled.get(end, inf) < self.down.get(end, inf) for end in self.up)


def _links(events: Sequence[Logged]) -> dict[Ends, list[_LinkState]]:
    """The links that both ends saw, in order."""
    sessions: dict[str, _LinkState] = {}
    open_links: dict[Ends, _LinkState] = {}
    for event in events:
        end = (event.node, event.peer)
        if event.what == "link_up":
            open_links[end] = sessions.setdefault(event.argument, _LinkState())
            open_links[end].up[event.node] = event.time
        elif event.what == "settled":
            open_links[end].settled[event.node] = event.time
        elif event.what == "link_down":
            open_links.pop(end).down[event.node] = event.time
    found: dict[Ends, list[_LinkState]] = {}
    for link in sorted((each for each in sessions.values() if len(each.up) == 2), key=lambda each: each.start):
        found.setdefault((min(link.up), max(link.up)), []).append(link)
    return found


def _meeting_times(contacts: dict[Ends, list[tuple[float, float]]], links: dict[Ends, list[_LinkState]]) -> list[float]:
    """For each contact in which a link came up, after how long; a link belongs to the last contact that has begun."""
    times = []
    for pair, rows in contacts.items():
        for (start, _), (following, _) in pairwise([*rows, (inf, inf)]):
            first = next((each.start for each in links.get(pair, ()) if start <= each.start < following), None)
            if first is not None:
                times.append(first - start)
    return times


# Reasons --------------------------------------------------------------------------------------------------------------


class _Paths:
    """How messages travelled in a simulation, and how that compares with the links of real devices."""

    def __init__(
        self,
        contacts: Contacts,
        workload: Workload,
        simulation: Result,
        links: dict[Ends, list[_LinkState]],
        arrived: Mapping[Pair, float],
        slowest: float,
        once: bool,
        stalls: Sequence[Stall],
    ) -> None:
        self._stalls = sorted(stalls, key=lambda stall: stall.begin)
        self._names, self._workload = contacts.names, workload
        self._links, self._arrived, self._slowest, self._once = links, arrived, slowest, once
        self._said: dict[str, Publication] = {publication.id: publication for publication in workload.publications}
        self.contacts: dict[Ends, list[tuple[float, float]]] = {}
        columns = (contacts.a.tolist(), contacts.b.tolist(), contacts.start.tolist(), contacts.end.tolist())
        for a, b, start, end in zip(*columns, strict=True):
            self.contacts.setdefault((a, b), []).append((start, end))
        number = {name: node for node, name in enumerate(contacts.names)}
        self.delivered: dict[Pair, float] = {}
        deliveries = simulation.deliveries[["publication", "node", "time"]]
        for publication, node, time in deliveries.itertuples(index=False):
            self.delivered.setdefault((publication, number[node]), time)
        self._hops: dict[Pair, tuple[float, int]] = {}
        """When each device received each message first, and from whom."""
        forwards = simulation.forwards[["publication", "receiver", "time", "sender"]]
        for publication, receiver, time, sender in forwards.itertuples(index=False):
            self._hops.setdefault((publication, number[receiver]), (time, number[sender]))

    def reason(self, publication: str, node: int) -> str:
        """Why a simulated delivery did not happen, as measured; empty if nothing was measured that is a reason."""
        hops: list[tuple[float, int, int]] = []
        receiver = node
        while receiver != self._said[publication].node:
            if (publication, receiver) not in self._hops:
                return ""  # it came out of band, which no contact can explain
            time, sender = self._hops[publication, receiver]
            hops.append((time, sender, receiver))
            receiver = sender
        for time, sender, receiver in reversed(hops):
            had = self._arrived.get((publication, sender))
            received = self._arrived.get((publication, receiver), inf)
            if had is None:
                return ""  # it was not even published
            if receiver == node or received > max(time, had) + self._slowest:
                return self._shortage(publication, time, had, sender, receiver, last=receiver == node)
        return ""

    def _shortage(self, publication: str, time: float, had: float, sender: int, receiver: int, last: bool) -> str:
        """What kept a hop from being made that was simulated at a time; empty if nothing was measured that did."""
        pair, slowest = (min(sender, receiver), max(sender, receiver)), self._slowest
        number, (start, end) = next(
            (number, row) for number, row in enumerate(self.contacts[pair]) if row[0] <= time <= row[1]
        )
        links = [link for link in self._links.get(pair, ()) if link.start <= end and link.end >= start]
        one, two = self._names[sender], self._names[receiver]
        if links:
            link, apart = links[-1], start - self.contacts[pair][number - 1][1] if number else inf
            if link.end >= end and link.start - start <= slowest and not link.finished:
                return f"{one} and {two} were {link}, and did not finish their exchange"
            if self._once and link.start < had and (link.start >= start or apart <= slowest):
                return f"{one} had it at {had:.1f} s, and had exchanged with {two} since {link.start:.1f} s"
        until, what = self._deadline(publication, time, end, receiver if last else None)
        left, still = until - max(time, had), self._stood_still({sender, receiver, CONDUCTOR}, max(time, had), until)
        if left - still > slowest:
            return ""
        if left > slowest:
            what = f"for {still:.1f} s of it the machine had no time for them; {what}"
        linked = ", ".join(map(str, links)) or "not linked"
        return f"{one} had {max(0.0, left):.1f} s to give it to {two} ({what} ended at {until:.1f} s; {linked})"

    def _stood_still(self, nodes: set[int], begin: float, end: float) -> float:
        """For how long the machine had no time for one of these between two moments."""
        still = 0.0
        for node, since, until in self._stalls:
            if node in nodes and until > begin and since < end:
                still += min(until, end) - max(since, begin)
                begin = max(begin, min(until, end))
        return still

    def _deadline(self, publication: str, time: float, end: float, subscriber: int | None) -> tuple[float, str]:
        """Until when a hop could be made, and what ended then: the contact, the message's life, the subscription."""
        published, ends = self._said[publication], [(end, "the contact")]
        if published.ttl is not None:
            ends.append((published.time + published.ttl, "its life"))
        for node, topic, start, until in self._workload.subscriptions:
            if node == subscriber and start <= time <= until and matching_score(topic, published.topic):
                ends.append((until, "the subscription"))
        return min(ends)


# The same events again ------------------------------------------------------------------------------------------------


class _Replay:
    """Protocols that are shown what devices were shown; the packets are each other's."""

    def __init__(
        self,
        contacts: Contacts,
        workload: Workload,
        events: Sequence[Logged],
        make: Callable[[int, Any], Protocol],
    ) -> None:
        self.surprises: list[str] = []
        self.delivered: dict[Pair, float] = {}
        self.arrived: dict[Pair, float] = {}
        """When each device had each message."""
        self._names = contacts.names
        self._sessions: dict[Ends, str] = {}
        """For each end of a link that is up, the session."""
        self._wires: dict[tuple[str, int], deque[Packet]] = {}
        """For each session and sender, what the other end has not received yet."""
        self._under_way: dict[Ends, Data] = {}
        self.messages = Catalogue()
        created = {publication.id: publication.time for publication in workload.publications}
        created |= {event.argument: event.time for event in events if event.what == "publish"}
        for publication in sorted(
            workload.publications, key=lambda publication: (created[publication.id], publication.id)
        ):
            self.messages.add(
                publication.id,
                publication.topic,
                publication.node,
                created[publication.id],
                publication.size,
                publication.ttl,
            )
        self._shown = [SharedCatalogue(self.messages) for _ in contacts.names]
        self._now = min([contacts.span[0], *(publication.time for publication in workload.publications)])
        self._protocols = [make(node, self._driver(node)) for node in range(len(contacts.names))]
        for protocol in self._protocols:
            protocol.start(self._now)
        for event in events:
            self._show(event)

    def _driver(self, node: int) -> Any:
        """Of all actions only those have an effect here that others see: timers ring when the log says so."""
        effects: dict[str, Any] = dict.fromkeys(ACTIONS, lambda *_: None)
        effects["send"] = effects["send_out_of_band"] = lambda peer, packet: self._send((node, peer), packet)
        effects["broadcast"] = partial(self._broadcast, node)
        effects["deliver"] = partial(self._deliver, node)
        return SimpleNamespace(messages=self._shown[node], **effects)

    def _deliver(self, node: int, message: Message, hops: int) -> None:  # noqa: ARG002
        self.delivered.setdefault((message.id, node), self._now)

    def _show(self, event: Logged) -> None:
        _, now, node, what, peer, argument = event
        self._now = now  # which may be a little before that of another device's last event
        protocol, link = self._protocols[node], (node, peer)
        if what == "publish":
            message = self.messages.by_id(argument)
            self._arrive(node, message.bit)
            protocol.publish(message, now)
        elif what == "link_up":
            self._sessions[link] = argument
            self._send(link, *protocol.link_up(peer, now))
        elif what in ("receive", "receive_out_of_band"):
            packet = self._receive(link, argument)
            if packet is not None:
                getattr(protocol, what)(peer, packet, now)
        elif what == "poll":
            data = protocol.poll(peer, now, argument)
            if data is not None:
                self._under_way[link] = data
                self._send(link, data)
        elif what == "sent":
            if link in self._under_way:
                protocol.sent(peer, self._under_way.pop(link), argument, now)
            else:
                self.surprises.append(f"{self._names[node]} sent at {now:.1f} s what its protocol does not send")
        elif what == "settled":  # noted of every link, and asked for by few
            getattr(protocol, what, lambda *_: None)(peer, now)
        elif what == "link_down":
            self._wires.pop((self._sessions.pop(link, ""), peer), None)
            self._under_way.pop(link, None)
            protocol.link_down(peer, now)
        else:  # subscribe, unsubscribe, timer
            getattr(protocol, what)(argument, now)

    def _send(self, link: Ends, *packets: Packet) -> None:
        """What is sent to a neighbour waits until the log says that it was received."""
        if link in self._sessions:
            self._wires.setdefault((self._sessions[link], link[0]), deque()).extend(packets)

    def _broadcast(self, node: int, packet: Packet, but: int | None = None) -> None:
        for sender, peer in self._sessions:
            if sender == node and peer != but:
                self._send((node, peer), packet)

    def _receive(self, link: Ends, kind: str) -> Packet | None:
        node, peer = link
        wire = self._wires.get((self._sessions.get(link, ""), peer))
        if not wire or type(wire[0]).__name__ != kind:
            sent = f"a {type(wire[0]).__name__}" if wire else "nothing"
            self.surprises.append(
                f"{self._names[node]} received a {kind} of {self._names[peer]}, whose protocol sent {sent}"
            )
            return None
        packet = wire.popleft()
        if isinstance(packet, Data):
            new = without(packet.messages, self._shown[node].shown)
            self._shown[node].givers.update(dict.fromkeys(members(new), peer))
            self._arrive(node, packet.messages)
        return packet

    def _arrive(self, node: int, messages: MessageSet) -> None:
        self._shown[node].show(messages)
        for number in members(messages):
            self.arrived.setdefault((self.messages[number].id, node), self._now)
