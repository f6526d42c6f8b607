"""What contacts say as a graph: pairs and their times, hops, communities. Plain functions, without Spark and I/O."""

from hunet.graphs.communities import find_communities, modularity
from hunet.graphs.contact_statistics import ContactStatistics, contact_statistics
from hunet.graphs.hops import hop_counts
from hunet.graphs.pairs import Pairs, inter_contact_times, pairs_of
from hunet.graphs.power_law import PowerLaw, fit_times

__all__ = [
    "ContactStatistics",
    "Pairs",
    "PowerLaw",
    "contact_statistics",
    "find_communities",
    "fit_times",
    "hop_counts",
    "inter_contact_times",
    "modularity",
    "pairs_of",
]
