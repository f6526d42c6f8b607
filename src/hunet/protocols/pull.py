"""PULL: direct delivery.

The lower baseline of B-SUB (section 6.1) and MOPS (section V.A, "direct pull"): a subscriber takes what it wants from
the publishers that it meets itself. Nobody carries anything for anybody else, so no transmission is ever wasted.

Theory of operation. On meeting, each names its topics and what it has seen; the other sends those of its own
publications that match, newest first.

Where the papers leave a choice. MOPS says "directly met nodes" without saying whether a receiver may serve others;
its efficiency of 1 "since there is no relay" says no. With ``from_anyone`` it may.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from hunet.model import MessageSet, Node, Parameters, doc
from hunet.protocols.contract import Data
from hunet.protocols.router import QueueParameters, QueueRouter


class PullParameters(QueueParameters, frozen=True):
    """PULL's parameters."""

    from_anyone: Annotated[bool, doc("whether receivers pass on what they wanted themselves")] = False


class Pull(QueueRouter):
    """Take what you want from its publisher."""

    Parameters: ClassVar[type[Parameters]] = PullParameters

    def offers(self, peer: Node, now: float) -> MessageSet:
        return self.buffer.held(now) & self.wanted(self.interests.get(peer, ()))

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:  # noqa: ARG002
        return messages & self.wanted(self.topics) if self.parameters.from_anyone else 0
