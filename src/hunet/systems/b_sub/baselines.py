"""B-SUB's own PUSH and PULL: its buffer rules, its filters, one exchange in a contact.

Y. Zhao, J. Wu, "The Design and Evaluation of An Information Sharing System for Human Networks", IEEE TPDS 2013,
section 6.1.

Theory of operation. PUSH sends a peer everything that it has not seen. PULL's publishers send their messages to peers
whose genuine filter matches; receivers do not pass them on, so only its own messages are in a device's buffer. Both
have B-SUB's buffer (100 messages, the oldest goes), and exchange when a contact begins; what is published while
it lasts goes as in B-SUB.

Where they differ from the protocols ``push`` and ``pull``. Those go on exchanging while a contact lasts, and match
topics exactly. B-SUB's contacts have no length (section 6.1), so a comparison with it needs these.

Where we depart from the paper, and why. B-SUB runs in the background of PUSH (section 6.3) and says of each message
whether it would have sent it: with ``exact``, PUSH's false positives are those that it would not have. For that PUSH's
devices send B-SUB's filters; the paper's PUSH has no control packets, and these are not to be counted.
"""

from __future__ import annotations

from hunet.model import MessageSet
from hunet.protocols.contract import Data
from hunet.systems.b_sub.b_sub import BSub, Plan
from hunet.systems.b_sub.packets import Filters


class BSubPush(BSub):
    """Give everything to everyone, once in a contact."""

    def plan(self, filters: Filters, mine: bytes, held: MessageSet, now: float) -> Plan | None:
        offers = held ^ (held & filters.seen)
        if not offers:
            return None
        approved = super().plan(filters, mine, held, now) or Plan(now, 0, 0, {})
        return Plan(now, offers, approved.direct, approved.preferences, unasked=offers ^ approved.left)

    def still_better(self, plan: Plan) -> MessageSet:
        return plan.left


class BSubPull(BSub):
    """Take what your filter matches from its publisher, once in a contact."""

    def greeting(self) -> tuple[Filters]:
        truth = self.watch.truth(self.keys, relays=False) if self.watch else None
        return (self.filters_of(self.genuine_wire, self.shape.empty().counters, truth),)

    def keeps(self, messages: MessageSet, packet: Data) -> MessageSet:  # noqa: ARG002
        return 0
