"""Advice in words, for a terminal and for its page: what to use, what else may do, and whether more runs would tell."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from hunet.report.chart import Chart, ChartPoint, Series, write_rows
from hunet.report.field import Alternative, with_front
from hunet.report.figures import panels
from hunet.report.html import picture, table
from hunet.report.metrics import duration

if TYPE_CHECKING:
    from pathlib import Path

    from hunet.pipeline.advice import Advice, Candidate

FEW = 12
"""Candidates in a table that is looked at; near misses are never left out."""


def advice_text(advice: Advice, cost: str) -> list[str]:
    """The advice as sentences, the answer first; ``cost`` says what is paid."""
    goal, best = advice.goal, advice.best
    wanted = f"{100 * goal.ratio:g} % within {_delay(goal.within)}"
    bound = f"Contacts allow {100 * advice.bound.mean:.1f} % within that delay at best."
    if best is None:
        nearest = max(advice.candidates, key=lambda each: each.ratio.mean)
        possible = advice.bound.mean >= goal.ratio
        lines = [
            f"Nothing reaches {wanted}. {bound} Nearest: {nearest.name}, {100 * nearest.ratio.mean:.1f} %. "
            + ("Try more room or other settings." if possible else "Ask for less, or for a longer delay.")
        ]
    else:
        lines = [
            f"For {wanted} use {best.name}: {100 * best.ratio.mean:.1f} % in time at {best.cost.brief(1)} {cost}. "
            f"That it reaches the goal is {_percent(best.meets)} sure"
            + ("" if advice.sure else f" (not the {100 * goal.confidence:g} % that were asked for)")
            + f", that it is the cheapest that does {_percent(best.wins)}. {bound}"
        ]
    if near := advice.near_misses:
        what = "Cheaper, and may reach it too" if best else "What may reach it after all"
        lines.append(f"{what}: " + "; ".join(f"{each.name} ({_chance(each)})" for each in near) + ".")
    if advice.undecided and (likely := advice.likely):
        winner = "" if likely == best else f" The likely winner is {likely.name} ({_percent(likely.wins)})."
        lines.append(f"Undecided: more runs will tell, such as --runs {2 * advice.repetitions}.{winner}")
    if advice.runner_up is not None:
        lines.append(f"Runner-up of another kind: {advice.runner_up.name}, at {advice.runner_up.cost.brief(1)}.")
    return lines


def shown(advice: Advice) -> list[Candidate]:
    """The candidates that are worth a line: the first few, and all near misses."""
    near = [each.name for each in advice.near_misses]
    return [each for index, each in enumerate(advice.candidates) if index < FEW or each.name in near]


def advice_parts(advice: Advice, cost: str, folder: Path) -> list[str]:
    """The head of the page: the answer, the candidates, and their field with what was asked for."""
    answer, *rest = advice_text(advice, cost)
    head = ["", "in time", cost, "reaches the goal", "cheapest that does"]
    lines = [
        [each.name, f"{each.ratio.brief(1, 0.01)} %", each.cost.brief(1), _percent(each.meets), _percent(each.wins)]
        for each in shown(advice)
    ]
    left = len(advice.candidates) - len(lines)
    more = f"; {left} more candidates are below" if left else ""
    return [
        f"<p class=answer>{escape(answer)}</p>",
        *(f"<p>{escape(text)}</p>" for text in rest),
        table(head, lines),
        f"<p>The last two columns: how probable that is, after {advice.repetitions} runs{more}.</p>",
        _field(advice, cost, folder / "advice"),
    ]


def _field(advice: Advice, cost: str, path: Path) -> str:
    placed = with_front([Alternative(each.name, each.ratio, each.cost) for each in advice.candidates])
    costs = [each.cost.mean for each in placed]
    chart = Chart(
        path.name,
        cost,
        f"share within {_delay(advice.goal.within)}",
        [Series(each.name, [ChartPoint(each.cost, each.delivery)], each.front) for each in placed],
        lines=False,
        log=0 < 20 * min(costs) < max(costs),
        top=1.05,
        bound=advice.bound.mean,
        goal=advice.goal.ratio,
    )
    with panels(path.with_suffix(".svg"), 1, 1, width=5.2, height=4.0) as [panel]:
        chart.draw(panel)
    write_rows(path.with_suffix(".csv"), chart.rows())
    caption = "All candidates; the line is the Pareto front: nothing delivers more for less."
    return picture(path.with_suffix(".svg"), caption, f" Data: {path.name}.csv", narrow=True)


def _chance(each: Candidate) -> str:
    return f"{_percent(each.meets)} likely, at {each.cost.brief(1)}"


def _delay(seconds: float) -> str:
    """As somebody asks for it.

    >>> _delay(1800), _delay(5400)
    ('30 min', '90 min')
    """
    return duration(seconds).replace(".0 ", " ")


def _percent(share: float) -> str:
    """As people say it: nothing is 0 or 100 % sure after some runs.

    >>> _percent(0.9996), _percent(0.424), _percent(0.001), _percent(0.0)
    ('above 99 %', '42 %', 'below 1 %', 'below 1 %')
    """
    if share > 0.99:
        return "above 99 %"
    return "below 1 %" if share < 0.01 else f"{100 * share:.0f} %"
