"""Which system, and which parameters, suit a crowd: the cheapest that reaches a goal, judged from a study.

Theory of operation. The goal is a share of all (publication, interested subscriber) pairs that should be served within
a delay. Messages live as long as that delay, so that the delivery ratio of a run is the share that was served in time,
and nobody pays for what comes too late. All candidates see the same workloads, repetition by repetition. How sure a
judgement is follows from the spread of the repetitions: what their means leave open of the true means of all
candidates is a multivariate t distribution, which keeps what candidates share in a repetition. From it we draw many
times, and ask each time who reaches the goal and who of those is the cheapest.

This tells how much the judgement depends on who said what when, and on the protocols' coins. It does not tell how the
crowd would meet on another day: for that, give contacts of another day.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec
import numpy as np

from hunet.model.errors import ConfigurationError
from hunet.model.intervals import Interval
from hunet.model.run_files import complete
from hunet.pipeline.storage import is_uri
from hunet.pipeline.study_plan import StudyPlan, plan_study
from hunet.systems import Scales, protocol_class, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

__all__ = ["COSTS", "TRAINING", "Advice", "Candidate", "Goal", "advice_study", "judge", "recommended_run"]

TRAINING = 0.25
"""Share of the trace in which protocols only watch: MOPS learns from it, and all others wait as long."""

Cost = Literal["forwards", "bytes", "control", "copies"]

COSTS: dict[Cost, tuple[str, Callable[[dict[str, Any]], float]]] = {
    "forwards": ("data packets per publication", lambda row: row["relayed"] / row["created"]),
    "bytes": (
        "bytes sent per publication, data and control",
        lambda row: (row["relayed_bytes"] + row["control_bytes"]) / row["created"],
    ),
    "control": ("control bytes per publication", lambda row: row["control_bytes"] / row["created"]),
    "copies": ("devices that ever held or received a publication", lambda row: row["copies_avg"]),
}
"""What a candidate can cost: in words, and from a row of results."""

_MAY = 0.05
"""What is less probable than this is not worth a line."""
_DRAWS = 2000
_ROUNDING = 1e-9
"""What a mean of equal ratios may be off by."""


class Goal(NamedTuple):
    """What is wanted."""

    ratio: float
    """Share of the pairs to be served."""
    within: float
    """Delay, in seconds."""
    cost: Cost = "forwards"
    confidence: float = 0.9
    """How sure a recommendation should be to reach the ratio."""

    def check(self) -> None:
        """Refuse what cannot be a goal."""
        if not 0 < self.ratio <= 1:
            raise ConfigurationError(f"a ratio is above 0 and at most 1, not {self.ratio:g}")
        if not self.within > 0:
            raise ConfigurationError("a delay must be longer than nothing")
        if self.cost not in get_args(Cost):
            raise ConfigurationError(f"no cost '{self.cost}': known: {', '.join(get_args(Cost))}")


class Candidate(NamedTuple):
    """A protocol with its parameters, and how it did."""

    name: str
    protocol: str
    parameters: dict[str, Any]
    ratio: Interval
    cost: Interval
    meets: float
    """How probable it is that it reaches the goal."""
    wins: float
    """How probable it is that it is the cheapest that does."""


class Advice(NamedTuple):
    """What to use, and how sure that is."""

    goal: Goal
    repetitions: int
    bound: Interval
    """What contacts allow within the delay."""
    candidates: list[Candidate]
    """Those that reach the goal for sure enough first, cheapest first; then the others, the likeliest first."""
    best: Candidate | None
    """The recommendation; None if nothing reaches the goal."""
    sure: bool
    """Whether it reaches the goal as surely as was asked for."""
    runner_up: Candidate | None
    """The cheapest of another protocol that reaches the goal."""

    @property
    def near_misses(self) -> list[Candidate]:
        """All that are cheaper than the recommendation and may reach the goal; without one, all that may."""
        limit = self.best.cost.mean if self.best else np.inf
        return [each for each in self.candidates if each.cost.mean < limit and each.meets >= _MAY]

    @property
    def likely(self) -> Candidate | None:
        """The one that is most probably the cheapest that reaches the goal; None if that of all is hardly possible."""
        return max((each for each in self.candidates if each.wins >= _MAY), key=lambda each: each.wins, default=None)

    @property
    def undecided(self) -> bool:
        """Whether more runs may change the advice: what is recommended is not sure enough, or not the likely winner."""
        return self.likely is not None and (not self.sure or self.likely != self.best)


def advice_study(
    contacts: Path | str,
    goal: Goal,
    *,
    messages: int,
    topics: int,
    buffer: int | None,
    runs: int,
    quick: bool,
    start: Callable[[], SparkSession] | None = None,
) -> StudyPlan:
    """The study that answers the question; the ratio and the kind of cost do not change it.

    ``start`` is called for a session if contacts are at a URI, which only Spark can read.
    """
    from hunet.pipeline.traces import read_trace

    goal.check()
    scales = Scales.of(read_trace(contacts, start() if start and is_uri(contacts) else None), goal.within)
    span = scales.span
    longest = span * (1 - TRAINING) * 0.9
    if goal.within > longest:
        raise ConfigurationError(
            f"{contacts} covers {span:,.0f} s, of which the first quarter is for learning: that tells of delays up to "
            f"{longest:,.0f} s, not of {goal.within:,.0f} s; ask for a shorter delay or give a longer trace"
        )

    def buffers(protocol: str) -> dict[str, Any]:
        """A protocol of somebody else may have no such parameter."""
        known = {field.name for field in msgspec.structs.fields(protocol_class(protocol).Parameters)}
        return {"buffer": buffer or "none"} if "buffer" in known else {}

    return plan_study(
        {
            "contacts": str(contacts if is_uri(contacts) else Path(contacts).absolute()),
            "repetitions": runs,
            "train": TRAINING,
            "workload": {
                "messages": messages,
                "topics": topics,
                "ttl": goal.within,
                "first": TRAINING,
                "last": 1 - goal.within / span,  # so that every message has its time
            },
            "case": [
                {
                    "name": each.name,
                    "protocol": each.protocol,
                    "parameters": {**buffers(each.protocol), **each.parameters},
                }
                for each in settings(scales)
                if each.purpose in (("quick",) if quick else ("quick", "advise"))
            ],
        },
        Path("advice"),
        start=start,
    )


def judge(rows: list[dict[str, Any]], study: StudyPlan, goal: Goal) -> Advice:
    """The cheapest candidate that reaches the goal, from the rows of a study's runs."""
    goal.check()
    done: dict[int, dict[int, dict[str, Any]]] = {}
    for row in complete(row for row in rows if row["error"] is None and row["delivery_ratio"] is not None):
        done.setdefault(row["point"], {})[row["repetition"]] = row
    common = sorted(next(iter(done.values()), {}))
    if len(common) < 2:
        raise ConfigurationError("fewer than two runs delivered anything: more messages, topics or runs are needed")
    points = [point for point in study.points if point.number in done]
    cost_of = COSTS[goal.cost][1]
    ratios = np.array([[done[point.number][each]["delivery_ratio"] for each in common] for point in points])
    costs = np.array([[cost_of(done[point.number][each]) for each in common] for point in points])
    true_ratios, true_costs = _draw_means(np.array([ratios, costs]))
    needed = goal.ratio - _ROUNDING
    reached = true_ratios >= needed
    paid = np.where(reached, true_costs, np.inf)
    wins = np.bincount(paid.argmin(axis=0)[reached.any(axis=0)], minlength=len(points)) / _DRAWS
    candidates = [
        Candidate(
            point.axes["case"],
            point.protocol,
            point.settings["parameters"],
            Interval.of(ratios[index].tolist()),
            Interval.of(costs[index].tolist()),
            float(reached[index].mean()),
            float(wins[index]),
        )
        for index, point in enumerate(points)
    ]
    sure = [each for each in candidates if each.ratio.mean >= needed and each.meets >= goal.confidence]
    fit = sorted(
        sure or [each for each in candidates if each.ratio.mean >= needed],
        key=lambda each: (each.cost.mean, -each.ratio.mean, each.name),
    )
    rest = sorted(
        (each for each in candidates if each not in fit), key=lambda each: (-each.meets, -each.ratio.mean, each.name)
    )
    best = fit[0] if fit else None
    bound = Interval.of(done[points[0].number][each]["reachable_ratio"] for each in common)
    other = next((each for each in fit if best and each.protocol != best.protocol), None)
    return Advice(goal, len(common), bound, fit + rest, best, bool(sure), other)


def _draw_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the true means may be, given values with the repetitions along the last axis; draws take its place.

    Each mean alone follows Student's t, as in its confidence interval; the coins are common to all of them.
    """
    many = values.shape[-1]
    coins = np.random.default_rng(1)
    weights = coins.standard_normal((many, _DRAWS)) / np.sqrt(coins.chisquare(many - 1, _DRAWS) / (many - 1))
    means = values.mean(axis=-1, keepdims=True)
    drawn: NDArray[np.float64] = means + (values - means) @ weights / np.sqrt(many * (many - 1))
    return drawn


def recommended_run(study: StudyPlan, name: str, contacts: str) -> dict[str, Any]:
    """The settings of ``hunet run`` for the first run of a candidate; ``contacts`` as seen from where they stand."""
    point = next(point for point in study.points if point.axes["case"] == name)
    return {
        "contacts": contacts,
        "protocol": point.protocol,
        "seed": study.seeds[0],
        "train": point.settings["train"],
        "parameters": point.settings["parameters"],
        "workload": point.settings["workload"],
    }
