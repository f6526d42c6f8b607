"""What a protocol sees of the messages of a live node, where neighbours that flood have no more than a share.

Where there is more to send than fits into a packet, protocols take the newest messages. A flood is always newer than
what an honest neighbour brought a moment ago, which then would wait for as long as the flood lasts. So here, of many
messages, those that are chosen come from each neighbour that gave some in turns, the newest of each first.

It is in this package because a comparison of devices with the simulator shows simulated devices the same events, and
they have to choose alike.

>>> from hunet.model import Catalogue
>>> everything = Catalogue()
>>> for number in range(9):
...     message = everything.add(f"m{number}", "news", publisher=0, created=number)
>>> mine = SharedCatalogue(everything)
>>> mine.show((1 << 9) - 1)
>>> mine.givers.update({0: 1, 1: 1} | dict.fromkeys(range(2, 9), 2))
>>> bin(mine.newest(mine.shown, 4))
'0b110000011'
"""

from __future__ import annotations

from hunet.model.messages import Catalogue, DeviceCatalogue, MessageSet, Node, members, set_of, without

_OWN = -1


class SharedCatalogue(DeviceCatalogue):
    """A device's catalogue that knows who gave each message."""

    __slots__ = ("givers", "pooled")

    def __init__(self, messages: Catalogue) -> None:
        super().__init__(messages)
        self.givers: dict[int, Node] = {}
        """The neighbour that gave each message of others, by number."""
        self.pooled: MessageSet = 0
        """What was given by those who brought too much: one share together, which comes last."""

    def newest(self, messages: MessageSet, most: int = 1) -> MessageSet:
        """Of a set, ``most`` messages: the last one, or of several those that each giver gave last, in turns."""
        if most == 1 or messages.bit_count() <= most:
            return super().newest(messages, most)
        shares: dict[Node, list[int]] = {}
        candidates = members(without(messages & self.shown, self.pooled))
        for number in sorted(candidates, key=lambda number: (self[number].created, number), reverse=True):
            shares.setdefault(self.givers.get(number, _OWN), []).append(number)
        chosen: list[int] = []
        turn = 0
        while shares and len(chosen) < most:
            shares = {giver: share for giver, share in shares.items() if len(share) > turn}
            chosen += [share[turn] for share in shares.values()][: most - len(chosen)]
            turn += 1
        rest = most - len(chosen)
        return set_of(chosen) | (super().newest(messages & self.pooled, rest) if rest else 0)
