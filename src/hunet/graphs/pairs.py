"""Pairs of a contact table that fits into memory: time together, number of contacts, times between contacts.

What ``hunet trace pairs`` computes on Spark for a table of any size; a test holds the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hunet.model.contacts import Contacts

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


class Pairs(NamedTuple):
    """Every pair that met, in order of its nodes, as columns."""

    nodes: Integers
    """Two columns: the lower and the higher node."""
    seconds: Floats
    """Time together."""
    contacts: Integers
    """Number of contacts."""

    def edges(self) -> list[tuple[int, int]]:
        """The pairs as plain tuples."""
        return [(one, two) for one, two in self.nodes.tolist()]


def pairs_of(contacts: Contacts, shortest: float = 0.0) -> Pairs:
    """Sum up the contacts of each pair; a contact counts for at least ``shortest`` seconds.

    >>> from hunet.model.contacts import Contacts
    >>> met = Contacts.from_records([("a", "b", 0, 10), ("a", "b", 20, 25), ("b", "c", 7, 7)])
    >>> [column.tolist() for column in pairs_of(met, shortest=1.0)]
    [[[0, 1], [1, 2]], [15.0, 1.0], [2, 1]]
    """
    many = len(contacts.names)
    keys, pair_of = np.unique(contacts.a.astype(np.int64) * many + contacts.b, return_inverse=True)
    length = np.maximum(contacts.end - contacts.start, shortest)
    seconds = np.bincount(pair_of, length, minlength=len(keys)).astype(np.float64)
    return Pairs(np.stack([keys // many, keys % many], axis=1), seconds, np.bincount(pair_of, minlength=len(keys)))


def inter_contact_times(contacts: Contacts) -> Floats:
    """The gaps between consecutive contacts of each pair, pair by pair."""
    order = np.lexsort((contacts.start, contacts.b, contacts.a))
    a, b, start, end = contacts.a[order], contacts.b[order], contacts.start[order], contacts.end[order]
    same = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
    gaps: Floats = (start[1:] - end[:-1])[same]
    return gaps
