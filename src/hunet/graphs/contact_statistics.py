"""What a contact table looks like in numbers: the statistics by which worlds are checked and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hunet.graphs.pairs import inter_contact_times, pairs_of

if TYPE_CHECKING:
    from hunet.graphs.pairs import Floats
    from hunet.model.contacts import Contacts


@dataclass(frozen=True, slots=True)
class ContactStatistics:
    """The usual figures of a contact table; a figure of nothing is not a number."""

    contacts: int
    pair_rate: float
    """Contacts that begin after the observation did, per pair and second."""
    mean_degree: float
    """Time average of the number of neighbours."""
    mean_duration: float
    """Seconds, over the contacts that neither end of the observation cut."""
    pairs_that_meet: float
    """Share of all pairs."""
    mean_inter_contact: float
    """Seconds from the end of a contact to the next start of the same pair."""
    inter_contact_variation: float
    """Standard deviation of the inter-contact times over their mean; 1 for an exponential law."""


def contact_statistics(contacts: Contacts) -> ContactStatistics:
    """Measure a contact table.

    >>> from hunet.model.contacts import Contacts
    >>> seen = Contacts.from_records([("a", "b", 0, 10), ("a", "b", 30, 40), ("b", "c", 20, 60)])
    >>> measured = contact_statistics(seen)
    >>> measured.mean_degree, measured.mean_duration, measured.mean_inter_contact
    (0.6666666666666666, 10.0, 20.0)
    """
    begin, finish = contacts.span
    nodes, observed = len(contacts.names), finish - begin
    pairs = nodes * (nodes - 1) / 2
    length = contacts.end - contacts.start
    whole = (contacts.start > begin) & (contacts.end < finish)
    with_contacts = len(pairs_of(contacts).nodes)
    gaps = inter_contact_times(contacts)
    mean_gap = _mean(gaps)
    return ContactStatistics(
        contacts=len(contacts),
        pair_rate=float((contacts.start > begin).sum() / (pairs * observed)) if pairs and observed else np.nan,
        mean_degree=float(2 * length.sum() / (nodes * observed)) if nodes and observed else np.nan,
        mean_duration=_mean(length[whole]),
        pairs_that_meet=with_contacts / pairs if pairs else np.nan,
        mean_inter_contact=mean_gap,
        inter_contact_variation=float(gaps.std() / mean_gap) if len(gaps) else np.nan,
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
