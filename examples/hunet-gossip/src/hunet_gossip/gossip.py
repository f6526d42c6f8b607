"""The device: GOSSIP1(p, k)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from hunet.model import MessageSet, Node, Parameters, doc, members
from hunet.protocols import Data
from hunet.protocols.carrier import BufferParameters, Carrier


class GossipParameters(BufferParameters, frozen=True):
    """The two parameters of GOSSIP1."""

    probability: Annotated[float, doc("of passing a message on", symbol="p", source="section II", ge=0, le=1)] = 0.7
    sure_hops: Annotated[int, doc("hops in which everybody passes on", symbol="k", source="section II", ge=0)] = 1


class Gossip(Carrier):
    """Everybody who receives a message tosses a coin, once."""

    Parameters: ClassVar[type[Parameters]] = GossipParameters
    tells_interests: ClassVar[bool] = False

    def offers(self, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        """Everything that it carries, for everybody."""
        return self.buffer.held(now)

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:  # noqa: ARG002
        """Of messages that have just arrived, those that it passes on."""
        kept = 0
        for number in members(messages):
            if self.hops[number] < self.parameters.sure_hops or self.rng.random() < self.parameters.probability:
                kept |= 1 << number
        return kept
