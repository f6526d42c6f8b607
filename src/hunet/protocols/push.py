"""PUSH: epidemic routing.

A. Vahdat and D. Becker, "Epidemic Routing for Partially-Connected Ad Hoc Networks", Duke University, CS-200006, 2000;
the upper baseline of B-SUB (section 6.1) and MOPS (section V.A, "pure push").

Theory of operation. Two devices that meet exchange the list of messages that they have seen, and send each other
everything that the other has not, newest first. With unlimited buffers and links this reaches everybody who can be
reached at all, as early as possible: it *is* the reachable bound, at the price of the most copies.

Where we depart from the paper, and why. While contacts last, a device announces each message that it receives to its
other neighbours, so that two of them do not send it the same message; the paper exchanges summaries at the start of a
contact only, and its contacts are short.
"""

from __future__ import annotations

from typing import ClassVar

from hunet.model import MessageSet, Node
from hunet.protocols.router import QueueRouter


class Push(QueueRouter):
    """Give everything to everyone."""

    tells_interests: ClassVar[bool] = False

    def offers(self, peer: Node, now: float) -> MessageSet:  # noqa: ARG002
        return self.buffer.held(now)

    def lacking(self, peer: Node, known: MessageSet, now: float) -> MessageSet:  # noqa: ARG002
        held = self.buffer.held(now)
        return held ^ (held & known)
