"""Spray and Wait, binary, for many receivers.

T. Spyropoulos, K. Psounis, C. S. Raghavendra, "Spray and Wait: An Efficient Routing Scheme for Intermittently
Connected Mobile Networks", WDTN 2005 (section 3, Binary Spray and Wait).

Theory of operation. A message starts with L tokens at its publisher. A carrier with n > 1 tokens that meets a device
without the message hands over a copy with floor(n/2) of them (spray). A carrier with one token keeps it and gives the
message only to those who want it (wait).

Two carriers on slow links may hand tokens to the same device at the same time; they add up there, so that tokens are
only ever lost with the copies that a full buffer, a crash or old age takes away.

Where we depart from the paper, and why. The paper routes to one destination and stops there. Here every subscriber is
a destination, so a delivery to one ends nothing and costs no token; the subscriber does not become a carrier, unless
``subscribers_serve`` says that it keeps the message, without tokens, for other subscribers. On a slow link deliveries
go before sprays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from hunet.model import Message, MessageSet, Node, Parameters, doc, members, without
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import Data, Driver, Packet
from hunet.protocols.router import QueueParameters, QueueRouter

if TYPE_CHECKING:
    from random import Random


class SprayAndWaitParameters(QueueParameters, frozen=True):
    """Spray and Wait's parameters."""

    copies: Annotated[int, doc("tokens of a new message: carriers it may have", symbol="L", ge=1)] = 8
    subscribers_serve: Annotated[
        bool,
        doc("whether subscribers keep what they wanted and give it to others who want it; not in the paper"),
    ] = False
    deliveries_cost: Annotated[bool, doc("whether a delivery takes half of the tokens, as in The ONE")] = False


class Spray(Carried, frozen=True, gc=False):
    """One message with tokens: 0 is a delivery, more make the receiver a carrier."""

    tokens: int


class SprayAndWait(QueueRouter):
    """Spread a fixed number of copies, then wait to meet the subscribers."""

    Parameters: ClassVar[type[Parameters]] = SprayAndWaitParameters

    saved: ClassVar[dict[str, Any]] = {
        "tokens": dict[MessageSet, int],
        "spraying": MessageSet,
    }

    def __init__(self, node: Node, parameters: SprayAndWaitParameters, driver: Driver, rng: Random) -> None:
        super().__init__(node, parameters, driver, rng)
        self.tokens: dict[MessageSet, int] = {}
        """For each message that this device has carried (as a set of one), its tokens."""
        self.spraying: MessageSet = 0
        """Messages of which this device has more than one token."""

    def publish(self, message: Message, now: float) -> None:
        self._set_tokens(message.bit, self.parameters.copies)
        super().publish(message, now)

    def offers(self, peer: Node, now: float) -> MessageSet:
        held = self.buffer.held(now)
        deliveries = held & self.wanted(self.interests.get(peer, ())) & ~self.known.get(peer, 0)
        return deliveries or held & self.spraying

    def poll(self, peer: Node, now: float, room: int) -> Data | None:  # noqa: ARG002
        return super().poll(peer, now, 1)  # tokens are counted message by message

    def packet(self, messages: MessageSet, peer: Node) -> Data:
        delivery = messages & self.wanted(self.interests.get(peer, ()))
        tokens = 0 if delivery else self.tokens[messages] // 2
        if tokens:  # set aside while they are under way: other links are served meanwhile
            self._set_tokens(messages, self.tokens[messages] - tokens)
        return Spray(messages, self.next_hops(messages), tokens)

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:
        assert isinstance(packet, Spray)
        return super().keeps(messages, packet) if packet.tokens or self.parameters.subscribers_serve else 0

    def receive(self, peer: Node, packet: Packet, now: float) -> None:
        if isinstance(packet, Spray) and packet.tokens:
            self._take_tokens(packet, now)
        super().receive(peer, packet, now)

    def sent(self, peer: Node, packet: Data, arrived: bool, now: float) -> None:
        assert isinstance(packet, Spray)
        if packet.tokens and not arrived:
            self._set_tokens(packet.messages, self.tokens[packet.messages] + packet.tokens)
        if self.parameters.deliveries_cost and arrived and not packet.tokens:
            self._set_tokens(packet.messages, self.tokens.get(packet.messages, 0) // 2)
        super().sent(peer, packet, arrived, now)

    def forget(self, messages: MessageSet) -> None:
        super().forget(messages)
        for number in members(without(messages, self.seen)):  # it may come again, and then with tokens of its own
            self.tokens.pop(1 << number, None)
            self.spraying &= ~(1 << number)

    def _take_tokens(self, packet: Spray, now: float) -> None:
        message = packet.messages
        if self.buffer.held(now) & message:
            self._set_tokens(message, self.tokens[message] + packet.tokens)
        elif message not in self.tokens:
            self._set_tokens(message, packet.tokens)
            if self.seen & message:  # so far it had only been delivered here
                self._store(message, now)

    def _set_tokens(self, message: MessageSet, tokens: int) -> None:
        self.tokens[message] = tokens
        if tokens > 1:
            self.spraying |= message
        else:
            self.spraying &= ~message
