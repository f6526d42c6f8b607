"""Claims of a paper against results of ours: rules that are data, and tables in Markdown that are generated.

A system's ``claims`` has a table of :class:`Rule`: what the paper says, its core and its numbers as comparisons of the
:mod:`~hunet.report.yardstick`, reasons that studies have shown, and the verdict under the rule before. The table in
Markdown stands in the system's page between two comments and is replaced as a whole::

    <!-- claims -->
    <!-- end of claims -->

Other tables that come from results stand between comments with a name of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from hunet.model import InputError
from hunet.model.files import file_in_place
from hunet.model.intervals import Interval
from hunet.report.runs import NotRunError, Studies
from hunet.report.yardstick import Comparison, Found, Judged, Quantity, Verdict, names_of, points_of

OPEN = "open"
"""The reason of a claim that differs, where no study has shown one."""


class Reason(NamedTuple):
    """Why results differ, and the points of studies that show it."""

    text: str
    shown: Sequence[Quantity]
    given: Sequence[Comparison] = ()
    """What must not fail for it to be a reason."""

    def written(self, found: Found) -> str:
        """With what the studies gave; nothing if they contradict it."""
        if any(each.holds is False for each in _compared(self.given, found)):
            return ""
        return f"{self.text}: " + "; ".join(f"{each} {each.sample(found).text()}" for each in self.shown)


class Sweep(NamedTuple):
    """A parameter that the paper does not give, and the core of the claim at some of its values."""

    parameter: str
    cores: Mapping[str, Sequence[Comparison]]


class Number(NamedTuple):
    """A number of a printed table, and where ours stands."""

    ours: Quantity
    paper: float


class Rule(NamedTuple):
    """A claim of a paper, and how it is judged."""

    id: str
    paper: str
    """What the paper says, with its figure."""
    core: Sequence[Comparison] = ()
    numbers: Sequence[Comparison] = ()
    reasons: Sequence[Reason] = ()
    before: str | Mapping[str, str] = ""
    """The verdict under the rule before this one, by reading if there are several."""
    sweep: Sweep | None = None
    table: Sequence[Number] = ()
    """The numbers of a printed table: judged by how many are met."""
    untestable: str = ""
    """Why nothing can be run for it."""
    readings: bool = True
    """Whether the readings of the system differ for it."""


class Rules(NamedTuple):
    """The claims of a paper in its order, and what they are judged by."""

    since: str
    """The date of the rules; what was run later is judged by rules that were fixed before."""
    fitted: str
    """Constants that were fitted, on which claims and seeds."""
    rules: Sequence[Rule]
    readings: Mapping[str, Mapping[str, Any]] = {"": {}}
    """Named sets of parameters where the paper leaves something open; the first is the default."""
    suffixes: Mapping[str, str] = {}
    """How the names of the studies of a reading end, if it has files of its own; it is judged once one was run."""
    apart: frozenset[str] = frozenset()
    """The studies that such a reading has files of its own for."""
    chosen: str = ""
    """Why the first reading is the default."""
    fixed: frozenset[str] = frozenset()
    """The studies in which nothing is random."""

    def judged(self, studies: Studies) -> list[Claim]:
        """All claims in all readings, judged by the studies that have results."""
        return [claim for claim, _ in self.details(studies)]

    def details(self, studies: Studies) -> list[tuple[Claim, list[Judged]]]:
        """The same, each with all its comparisons."""
        found = []
        readings = self.found(studies)
        for rule in self.rules:
            for name, here in readings.items() if rule.readings else [("", Found(studies, {}, self.fixed))]:
                label = f"{rule.id}, {name}" if name else rule.id
                before = rule.before if isinstance(rule.before, str) else rule.before.get(name, "")
                found.append(_judge(rule, here, label, before))
        return found

    def found(self, studies: Studies) -> dict[str, Found]:
        """What there is to judge by, in each reading that there are results for."""
        ends = {name: self.suffixes.get(name, "") for name in self.readings}
        known = [name for name, end in ends.items() if not end or any(study.endswith(end) for study in studies)]
        return {name: Found(studies, self.readings[name], self.fixed, ends[name], self.apart) for name in known}

    def section(self, studies: Studies, kept: Iterable[str] = ()) -> str:
        """The table of the claims, with the rules' date, and what judged them: kept or run anew, on which seeds."""
        claims = self.judged(studies)
        kept = set(kept)
        sources = (
            f"`{name}` ({'kept' if name in kept else 'run anew'}, {runs.seeds})" for name, runs in studies.items()
        )
        notes = [
            f"Rules of {self.since}. Fitted constants: {self.fitted}. Judged by {', '.join(sources) or 'nothing'}."
        ]
        if len(self.readings) > 1:
            notes.append(f"Default reading: {next(iter(self.readings))}; {self.chosen}.")
        text = " ".join(notes)
        side_by_side = self._side_by_side(claims, list(self.found(studies)))
        return "\n\n".join(filter(None, [side_by_side, claims_table(claims), text]))

    def _side_by_side(self, claims: list[Claim], readings: list[str]) -> str:
        """The verdicts of the readings beside each other."""
        if len(readings) < 2:
            return ""
        verdict = {claim.id: claim.verdict for claim in claims}
        rows = (
            [rule.id, *(verdict[f"{rule.id}, {name}"] for name in readings)] for rule in self.rules if rule.readings
        )
        return table(f"claim | {' | '.join(readings)}", rows)


class Claim(NamedTuple):
    """A claim that has been judged: one line of the table in Markdown."""

    id: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""
    before: str = ""


def _judge(rule: Rule, found: Found, label: str, before: str) -> tuple[Claim, list[Judged]]:
    """A claim by its rule."""
    if rule.untestable:
        return Claim(label, rule.paper, "nothing to run", "not testable", rule.untestable, before), []
    try:
        if rule.table:
            return _of_table(rule, found, label, before), []
    except NotRunError:
        return Claim(label, rule.paper, "–", "not run", OPEN, before), []
    core, numbers = (_compared(some, found) for some in (rule.core, rule.numbers))
    verdict, why = _verdict(core, numbers), ""
    if rule.sweep is not None and verdict not in ("not known", "not run"):
        swept = {at: _compared(some, found) for at, some in rule.sweep.cores.items()}
        swept = {at: some for at, some in swept.items() if not any(each.missing for each in some)}
        answers = {at: all(each.holds for each in some) for at, some in swept.items()}
        if len({*answers.values(), verdict in ("reproduced", "shape only")}) > 1:
            shown = "; ".join(
                f"{at}: {'holds' if answers[at] else 'fails'} ({some[0].text})" for at, some in swept.items()
            )
            verdict, why = "not testable", f"{rule.sweep.parameter}, which the paper does not give: {shown}"
    if verdict != "reproduced":
        why = why or _why(rule, found, [*core, *numbers], verdict)
    return Claim(label, rule.paper, _ours(core, numbers), verdict, why, before), [*core, *numbers]


def _compared(comparisons: Sequence[Comparison], found: Found) -> list[Judged]:
    points = sum(points_of(each) for each in comparisons)
    judged = []
    for each in comparisons:
        try:
            judged.append(each.judge(found, points))
        except NotRunError:
            judged.append(Judged(None, f"not run: {names_of(each)[0]}", missing=True))
    return judged


def _verdict(core: list[Judged], numbers: list[Judged]) -> Verdict:
    """What the comparisons of a claim say."""
    if any(each.holds is False and not each.ceiling for each in core):
        return "not reproduced"
    if any(each.ceiling for each in core):
        return "not testable"
    if any(each.missing for each in core):
        return "not run"
    if any(each.holds is None for each in core):
        return "not known"
    return "reproduced" if all(each.holds for each in numbers) else "shape only"


def _why(rule: Rule, found: Found, judged: list[Judged], verdict: Verdict) -> str:
    if verdict == "not testable":
        return next(each.text for each in judged if each.ceiling)
    if verdict == "not run":
        return f"{sum(each.missing for each in judged)} of {len(judged)} points have no results that are kept"
    if verdict == "not known":
        return "there are too few runs, or only their means are kept, to tell"
    reasons = []
    for reason in rule.reasons:
        try:
            reasons.append(reason.written(found))
        except NotRunError:
            continue
    return "; ".join(filter(None, reasons)) or OPEN


def _ours(core: list[Judged], numbers: list[Judged]) -> str:
    """How many comparisons hold, and those that matter most: what fails, then what holds."""
    parts = []
    for name, judged in (("core", core), ("numbers", numbers)):
        if judged:
            shown = sorted(judged, key=lambda each: (each.holds is True, each.holds is None))[:3]
            text = "; ".join(each.text for each in shown) + ("; …" if len(judged) > len(shown) else "")
            parts.append(f"{name} {sum(each.holds is True for each in judged)} of {len(judged)}: {text}")
    return ". ".join(parts)


def _of_table(rule: Rule, found: Found, label: str, before: str) -> Claim:
    """By strict shares: all numbers within 10 % reproduce a table, all within a third its shape."""
    pairs = [(number.ours.sample(found).mean, number.paper) for number in rule.table]
    close, near = (sum(within(ours, paper, margin) for ours, paper in pairs) for margin in (0.1, 1 / 3))
    many = len(pairs)
    verdict: Verdict = "reproduced" if close == many else "shape only" if near == many else "not reproduced"
    ours = f"of {many} printed numbers {close} within 10 %, {near} within a third"
    return Claim(label, rule.paper, ours, verdict, "" if close == many else _why(rule, found, [], verdict), before)


def within(ours: float, paper: float, margin: float) -> bool:
    """Whether a mean is within a relative margin of a printed number.

    >>> within(1.1, 1.0, 0.1), within(1.2, 1.0, 0.1), within(0.05, 0.0, 0.1)
    (True, False, True)
    """
    return abs(ours - paper) <= (margin * abs(paper) if paper else margin) + 1e-9


def table(heading: str, rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown.

    >>> print(table("protocol | delivery", [("push", 0.5)]))
    | protocol | delivery |
    |---|---|
    | push | 0.5 |
    """
    lines = [heading, *(" | ".join(map(str, cells)) for cells in rows)]
    lines = [f"| {line} |" for line in lines]
    return "\n".join([lines[0], "|---" * (heading.count("|") + 1) + "|", *lines[1:]])


def percent(found: Interval, digits: int = 0) -> str:
    """A share as a percentage, with its confidence interval.

    >>> percent(Interval(0.256, 0.004, 5), 1)
    '25.6 ± 0.4 %'
    """
    return f"{found.text(digits, 0.01)} %" if found.runs else found.text()


_HEAD = "claim | the paper | ours | verdict | why it differs | before"


def claims_table(claims: Iterable[Claim]) -> str:
    """The claims in Markdown."""
    return table(_HEAD, claims)


def read_claims(page: Path | str) -> list[Claim]:
    """The claims that stand in a page's tables of claims."""
    claims, inside = [], False
    for line in Path(page).read_text("utf-8").splitlines():
        if line.startswith(f"| {_HEAD} |"):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            claims.append(_claim_of(line))
    return claims


def _claim_of(line: str) -> Claim:
    """A row of the table; texts of claims have no bars in them."""
    name, paper, ours, given, why, before = (cell.strip() for cell in line.strip()[1:-1].split("|"))
    for verdict in get_args(Verdict):
        if verdict == given:
            return Claim(name, paper, ours, verdict, why, before)
    raise InputError(name, f"has no verdict but '{given}'")


def claims_counts(pages: Mapping[str, Path], folder: str) -> str:
    """How many claims of each system have which verdict, with links to the pages as seen from a folder."""
    verdicts = get_args(Verdict)
    rows = []
    for title, page in pages.items():
        many = Counter(claim.verdict for claim in read_claims(page))
        rows.append([f"[{title}]({folder}{page.name})", *(many[verdict] for verdict in verdicts)])
    return table(f"system | {' | '.join(verdicts)}", rows)


def claims_summary(pages: Mapping[str, Path]) -> str:
    """How many claims have which verdict, and all claims with the verdict before and now."""
    every = [claim for page in pages.values() for claim in read_claims(page)]
    unexplained = [claim.id for claim in every if claim.why == OPEN]
    text = f"Without a reason that a study has shown (*open*): {len(unexplained)} of {len(every)}"
    text += f", {'; '.join(unexplained)}." if unexplained else "."
    rows = ((c.id, c.before or "–", c.verdict, c.ours, c.why) for c in every)
    counts = claims_counts(pages, "systems/")
    return f"{counts}\n\n{text}\n\n{table('claim | before | now | ours | why', rows)}"


def replace_section(page: Path | str, text: str, name: str = "claims") -> None:
    """Put a text between the two comments of that name in a page, in place of what stood there."""
    page, begin, end = Path(page), f"<!-- {name} -->", f"<!-- end of {name} -->"
    try:
        old = page.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(page, "no such file") from None
    before, found, rest = old.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise InputError(page, f"has no place for {name}: it needs the lines {begin} and {end}")
    with file_in_place(page) as partial:
        partial.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def replace_sections(page: Path | str, sections: dict[str, str]) -> None:
    """Put all sections of a system's page in their places."""
    for name, text in sections.items():
        replace_section(page, text, name)
