"""The baseline of SocialCast's paper: the same protocol without prediction (section V.A)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunet.model import Node, members, without
from hunet.systems.socialcast.socialcast import SocialCast

if TYPE_CHECKING:
    from hunet.model import MessageSet, Topic


class SocialCastRandom(SocialCast):
    """SocialCast without prediction: each message stays, or goes to a neighbour drawn by lot (section V.A)."""

    def update_own_utilities(self, ticks: int = 1) -> None:
        """Nobody asks for them."""

    def may_move(self, peer: Node) -> bool:
        return without(self.held, self.has[peer]) != 0  # lots are drawn at every tick

    def choose_carriers(self, topics: list[Topic], mine: MessageSet) -> None:  # noqa: ARG002
        peers = list(self.rows)
        for number in reversed(members(mine)):
            drawn = int(self.rng.random() * (len(peers) + 1))
            if drawn < len(peers) and not self.has[peers[drawn]] >> number & 1:
                peer = peers[drawn]
                self._handovers[peer] = self._handovers.get(peer, 0) | 1 << number
