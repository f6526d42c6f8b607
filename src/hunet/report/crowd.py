"""A crowd as pages draw it: who met whom, for how long, in which communities, and where each person is put.

Theory of operation. People are drawn apart, and drawn to each other by the time that they spent together (Fruchterman
and Reingold, 1991), with a pull to the middle so that strangers do not drift away. Everybody begins near its own
community, so that the picture is a function of the contacts: nothing is random. Of a dense graph only the strongest
ties are used and drawn: each person's few closest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hunet.graphs.pairs import pairs_of
from hunet.model import Contacts
from hunet.report.figures import COLOURS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOST_DRAWN = 600
"""With more people a picture of all of them shows nothing."""

_TIES = 4
"""Each person's closest so many are drawn."""
_ROUNDS = 200


@dataclass(frozen=True)
class Crowd:
    """Contacts, with what else is known of the people."""

    label: str
    contacts: Contacts
    communities: tuple[tuple[int, ...], ...]
    """Their members, by number of the node; nobody is in two."""
    found_by: str
    """Where the communities come from."""
    gaps: Floats
    """Times between contacts of a pair (s)."""

    def community(self) -> Integers:
        """The community of each node by number; -1 for none."""
        of = np.full(len(self.contacts.names), -1)
        for number, members in enumerate(self.communities):
            of[list(members)] = number
        return of

    @cached_property
    def ties(self) -> tuple[Integers, Floats]:
        """The strongest pairs, and the share of the time that each was together."""
        pairs, together, _ = pairs_of(self.contacts, shortest=1.0)
        order = np.argsort(-together, kind="stable")
        many = np.zeros(len(self.contacts.names), int)
        kept = []
        for row in order.tolist():
            a, b = pairs[row]
            if min(many[a], many[b]) < _TIES:
                kept.append(row)
                many[a] += 1
                many[b] += 1
        first, last = self.contacts.span
        return pairs[kept], together[kept] / max(last - first, 1.0)

    @cached_property
    def layout(self) -> Floats:
        """A place for everybody, in a square from 0 to 1."""
        many = len(self.contacts.names)
        spots = self._begin()
        # A round takes the square of the people: a crowd too large to be looked at stays in its circle.
        rounds = _ROUNDS if many <= MOST_DRAWN else 0
        pairs, weight = self.ties
        pull = np.zeros((many, many) if rounds else (0, 0))
        if rounds and len(pairs):
            pull[pairs[:, 0], pairs[:, 1]] = pull[pairs[:, 1], pairs[:, 0]] = np.sqrt(weight / weight.mean())
        ideal = 1 / np.sqrt(many)
        for step in range(rounds):
            apart = spots[:, None, :] - spots[None, :, :]
            distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-3)
            force = ideal**2 / distance**2 - pull * distance / ideal * 0.5
            np.fill_diagonal(force, 0.0)
            move = (apart * force[..., None]).sum(axis=1) - 0.8 * (spots - 0.5)
            length = np.maximum(np.hypot(move[:, 0], move[:, 1]), 1e-9)
            spots = spots + move * (np.minimum(length, 0.1 * (1 - step / _ROUNDS)) / length)[:, None]
        low, high = spots.min(axis=0), spots.max(axis=0)
        scaled: Floats = (spots - low) / np.maximum(high - low, 1e-9)
        return scaled

    def _begin(self) -> Floats:
        """On a circle, community by community, the members of each on a spiral of their own (the golden angle)."""
        alone = [(node,) for node in np.nonzero(self.community() < 0)[0].tolist()]
        groups = [*self.communities, *alone]
        spots = np.empty((len(self.contacts.names), 2))
        for number, members in enumerate(groups):
            angle = 2 * np.pi * number / len(groups)
            for nth, node in enumerate(members):
                radius, turn = 0.02 * np.sqrt(nth + 0.5), nth * 2.39996
                spots[node] = (
                    0.5 + 0.4 * np.cos(angle) + radius * np.cos(turn),
                    0.5 + 0.4 * np.sin(angle) + radius * np.sin(turn),
                )
        return spots

    def draw(self, panel: Any, brokers: Floats | None = None) -> None:
        """Draw the graph; ``brokers`` gives each node's share of the run as a broker."""
        from matplotlib.collections import LineCollection

        spots, community = self.layout, self.community()
        pairs, weight = self.ties
        widths = 0.3 + 2.2 * np.sqrt(weight / weight.max(initial=1e-9))
        panel.add_collection(LineCollection(list(spots[pairs]), colors="#00000055", linewidths=widths, zorder=1))
        size = float(np.clip(9000 / len(spots), 25, 130))
        served = np.zeros(len(spots)) if brokers is None else brokers
        for square in (False, True):
            chosen = (served >= 0.5) == square
            panel.scatter(
                *spots[chosen].T,
                s=size,
                c=[COLOURS[each % len(COLOURS)] if each >= 0 else "#ffffff" for each in community[chosen]],
                marker="s" if square else "o",
                edgecolors="#000000",
                linewidths=1.8 if square else 0.5,
                zorder=2,
            )
        for (x, y), each in zip(spots, community.tolist(), strict=True):
            ink = "#ffffff" if each >= 0 and COLOURS[each % len(COLOURS)] in _DARK else "#000000"
            style = {"ha": "center", "va": "center_baseline", "fontsize": float(np.sqrt(size)) * 0.55, "zorder": 3}
            panel.text(x, y, community_letter(each), color=ink, **style)
        panel.set(aspect="equal")
        panel.set_axis_off()


_DARK = ("#0072b2", "#000000", "#7f7f7f", "#d55e00", "#009e73")
"""Colours on which letters are white."""


def community_letter(number: int) -> str:
    """What a community is called where colours do not tell: A to Z, then AA and so on.

    >>> [community_letter(number) for number in (-1, 0, 25, 26, 52)]
    ['', 'A', 'Z', 'AA', 'BA']
    """
    if number < 0:
        return ""
    head, last = divmod(number, 26)
    return community_letter(head - 1) + chr(ord("A") + last)
