"""The figures of MOPS's paper that a run's summary does not have by itself."""

from __future__ import annotations

from hunet.report.metrics import community_sizes
from hunet.report.runs import Figure, Row


def observed(name: str) -> Figure:
    return lambda row: float(row["observed"].get(name, 0.0))


COMMUNITIES, BROKER_COUNT, LISTS = observed("communities"), observed("brokers"), observed("lists_sent")


def product_of_both(row: Row) -> float | None:
    """Utility times efficiency: the paper does not say how the two are to be taken together."""
    utility, efficiency = row["utility"], row["efficiency"]
    return None if None in (utility, efficiency) else float(utility * efficiency)


def _share(hops: int) -> Figure:
    """Of all virtual links, those that a path of so many hops decides."""

    def share(row: Row) -> float:
        counts = {name: value for name, value in row["observed"].items() if name.startswith("decided_by_")}
        return float(counts[f"decided_by_{hops}"] / sum(counts.values()))

    return share


def _largest_community(row: Row) -> float | None:
    return max(community_sizes(row["observed"]), default=None)


def _all_forwardings(row: Row) -> float:
    """Of events and of lists: the paper blames the latter for the cost of a small T."""
    return float(row["relayed"] + row["observed"]["lists_sent"])


FIGURES: dict[str, Figure] = {
    "communities": COMMUNITIES,
    "largest_community": _largest_community,
    "broker_count": BROKER_COUNT,
    "list_forwardings": LISTS,
    "all_forwardings": _all_forwardings,
    "utility_times_efficiency": product_of_both,
    "direct_share": _share(1),
    "two_hop_share": _share(2),
}
"""Fig. 3 and 10, section V.B and section III.A, as columns of summaries, reports and claims."""
