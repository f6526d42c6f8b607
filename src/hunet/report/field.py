"""The field of alternatives: what each delivers and what it costs, which of them to look at, and the answer in words.

An alternative is on the *Pareto front* if no other delivers at least as much for at most as many packets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hunet.model.intervals import Interval
from hunet.report.comparison import Placement, compare_with_best
from hunet.report.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hunet.model.run_files import Row
    from hunet.report.study import StudyResults

COST = METRICS["forwards"]
_NEAR = 0.9
"""Runs that vary much leave open that nearly anything is the best: an answer has this share of the highest mean."""


class Alternative(NamedTuple):
    """A protocol with its own parameters, in certain surroundings."""

    name: str
    delivery: Interval
    cost: Interval
    front: bool = False
    """Whether it is on the Pareto front."""
    out_of_band: float = 0.0
    """Packets per publication that went beside contacts: they are no part of the cost."""


class Alternatives(NamedTuple):
    """All alternatives in the same surroundings."""

    point: str
    """The surroundings, where there are several."""
    bound: Interval
    """What contacts allow."""
    alternatives: list[Alternative]
    """The highest delivery first."""
    standings: dict[str, Placement]
    """How far each is from the highest delivery."""

    def rivals(self) -> list[Alternative]:
        """Those that may deliver most and come near the highest mean."""
        enough = _NEAR * self.alternatives[0].delivery.mean
        return [
            each for each in self.alternatives if self.standings[each.name].may_be_best and each.delivery.mean >= enough
        ]

    def choice(self) -> Alternative:
        """The cheapest of the rivals."""
        return min(self.rivals(), key=lambda each: (each.cost.mean, -each.delivery.mean))

    def answer(self) -> str:
        """Which system, at what cost, how sure."""
        top, choice = self.alternatives[0], self.choice()
        where = f"{self.point}: " if self.point else ""
        beside = f", and {choice.out_of_band:,.1f} out of band" if choice.out_of_band else ""
        text = (
            f"{where}{choice.name} delivers {_percent(choice.delivery)} (contacts allow {_percent(self.bound)}) at "
            f"{choice.cost.brief(1)} data packets per publication{beside}"
        )
        if top.delivery.runs < 2:
            return f"{text}; one run does not tell how sure that is."
        if len(self.alternatives) == 1:
            return f"{text}."
        possible = [each.name for each in self.standings.values() if each.may_be_best and each.name != choice.name]
        if not possible:
            nearest = self.standings[self.alternatives[1].name]
            return (
                f"{text}; with 95 % confidence all others deliver less, the nearest, {nearest.name}, by "
                f"{100 * nearest.near:.1f} to {100 * nearest.far:.1f} points."
            )
        if len(self.rivals()) == 1:
            return (
                f"{text}; no other comes near, but {choice.delivery.runs} runs vary so much that {', '.join(possible)} "
                "may be as good: more runs will tell."
            )
        above = "" if choice is top else f" ({top.name}, {_percent(top.delivery)}, at {top.cost.brief(1)})"
        far = 100 * self.standings[choice.name].far
        return (
            f"{text}: the cheapest of {len(self.rivals())} that come near the highest delivery{above}; "
            f"with 95 % confidence it is at most {far:.1f} points below the best."
        )

    def others(self) -> str:
        """What more or less would cost: the rest of the front."""
        rest = [each for each in self.alternatives if each.front and each is not self.choice()]
        texts = [f"{each.name} {100 * each.delivery.mean:.0f} % at {each.cost.mean:,.1f}" for each in rest]
        return f"Also on the front: {'; '.join(texts)}." if texts else ""


def fields_of(study: StudyResults) -> list[Alternatives]:
    """The fields of a study, one for each of its surroundings in which something was delivered to somebody."""
    found = [_field(point, alternatives) for point, alternatives in study.alternatives().items()]
    return [each for each in found if each.alternatives]


def _field(point: str, alternatives: dict[str, list[Row]]) -> Alternatives:
    ratios = {name: by_repetition(rows, "delivery_ratio") for name, rows in alternatives.items()}
    ratios = {name: values for name, values in ratios.items() if values}
    standings = compare_with_best(ratios, ceiling=ceiling_of(alternatives))
    placed = [
        Alternative(
            each.name,
            METRICS["delivery_ratio"].of(alternatives[each.name]),
            COST.of(alternatives[each.name]),
            out_of_band=_out_of_band(alternatives[each.name]),
        )
        for each in standings
    ]
    first = alternatives[placed[0].name] if placed else []
    bound = METRICS["reachable_ratio"].of(first)
    return Alternatives(point, bound, with_front(placed), {each.name: each for each in standings})


def with_front(alternatives: Sequence[Alternative]) -> list[Alternative]:
    """The same with the Pareto front marked.

    >>> points = [("push", 0.9, 50.0), ("spray", 0.8, 8.0), ("slow", 0.7, 9.0), ("pull", 0.3, 1.0)]
    >>> placed = [Alternative(name, Interval(ratio, 0, 3), Interval(cost, 0, 3)) for name, ratio, cost in points]
    >>> [each.name for each in with_front(placed) if each.front]
    ['push', 'spray', 'pull']
    """
    known = [(each.delivery.mean, each.cost.mean) for each in alternatives if each.cost.runs]

    def best(each: Alternative) -> bool:
        mine = (each.delivery.mean, each.cost.mean)
        return bool(each.cost.runs) and not any(
            other != mine and other[0] >= mine[0] and other[1] <= mine[1] for other in known
        )

    return [each._replace(front=best(each)) for each in alternatives]


def by_repetition(rows: Iterable[Row], metric: str) -> dict[int, float]:
    """The values of a metric, where there are any."""
    return {row["repetition"]: row[metric] for row in rows if row[metric] is not None}


def ceiling_of(alternatives: Mapping[str, list[Row]]) -> dict[int, float]:
    """What contacts allow, repetition by repetition: the same for all alternatives."""
    return by_repetition((row for rows in alternatives.values() for row in rows), "reachable_ratio")


def _out_of_band(rows: Sequence[Row]) -> float:
    sent = sum(row.get("out_of_band_packets") or 0.0 for row in rows)
    created = sum(row.get("created") or 0.0 for row in rows)
    return sent / created if created else 0.0


def _percent(interval: Interval) -> str:
    return f"{interval.brief(1, 0.01)} %"
