"""Claims of a paper against results of ours: a table in Markdown that is generated, never typed.

A system's ``claims`` has a table of :class:`Claims`: what the paper says, the studies that it is judged by, and the
function that judges. The table in Markdown stands in the system's page between two comments and is replaced as a
whole::

    <!-- claims -->
    <!-- end of claims -->

Other tables that come from results stand between comments with a name of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from hunet.model import InputError
from hunet.model.files import file_in_place
from hunet.model.intervals import Interval
from hunet.report.runs import NotRunError, Studies

Verdict = Literal["reproduced", "partly", "not reproduced", "not testable", "not run"]
NOT_KNOWN = "the cause is not known"


def verdict_of(whole: bool, part: bool) -> Verdict:
    """The verdict of a rule: whether the claim holds as a whole, and whether in part."""
    return "reproduced" if whole else "partly" if part else "not reproduced"


def verdict_of_all(verdicts: Collection[Verdict]) -> Verdict:
    """The verdict of a claim that says several things, each with a verdict of its own."""
    return verdict_of(all(v == "reproduced" for v in verdicts), any(v != "not reproduced" for v in verdicts))


class Judgement(NamedTuple):
    """What our results say of a claim."""

    ours: str
    """What the studies gave, with confidence intervals."""
    verdict: Verdict
    why: str = ""
    """Why it differs, where it does."""

    @classmethod
    def of(cls, ours: str, whole: bool, part: bool, why: str = "") -> Judgement:
        """By a rule; a claim that holds as a whole needs no reason."""
        return cls(ours, verdict_of(whole, part), "" if whole else why)

    @classmethod
    def of_all(cls, ours: str, checks: Collection[bool], why: str = "") -> Judgement:
        """By checks: the claim holds as a whole if all of them do, in part if any does."""
        return cls.of(ours, all(checks), any(checks), why)


Judge = Callable[[Studies], Judgement]


class Row(NamedTuple):
    """A claim of a paper, and how it is judged."""

    id: str
    paper: str
    """What the paper says, with its figure."""
    studies: tuple[str, ...]
    """The studies without which it cannot be judged."""
    judge: Judge


class Claim(NamedTuple):
    """A claim that has been judged: one line of the table in Markdown."""

    id: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""


class Claims(list[Row]):
    """The claims of a paper in its order; each is added with the function that judges it."""

    def add(self, name: str, paper: str, *studies: str) -> Callable[[Judge], Judge]:
        """Add a claim; decorates the function that judges it."""

        def add(judge: Judge) -> Judge:
            self.append(Row(name, paper, studies, judge))
            return judge

        return add

    def judged(self, studies: Studies) -> list[Claim]:
        """All claims, judged by the studies that have results; the others are "not run"."""
        return [Claim(row.id, row.paper, *_judgement(row, studies)) for row in self]

    def section(self, studies: Studies) -> str:
        """The table of the claims, and how many repetitions there are of which study."""
        done = ", ".join(f"`{name}` {runs.repetitions}" for name, runs in studies.items()) or "none yet"
        note = f"Repetitions: {done}. Mean ± half of the 95 % confidence interval."
        return f"{claims_table(self.judged(studies))}\n\n{note}"


def _judgement(row: Row, studies: Studies) -> Judgement:
    missing = [f"study `{name}`" for name in row.studies if name not in studies]
    if missing:
        return Judgement(", ".join(missing), "not run")
    try:
        return row.judge(studies)
    except NotRunError:
        return Judgement("–", "not run")


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


def listed(along: dict[Any, Interval], digits: int = 3) -> str:
    """A metric along an axis.

    >>> listed({1000: Interval(0.5, 0.1, 5)}, 1)
    '1,000: 0.5 ± 0.1'
    """
    return ", ".join(f"{place:,g}: {found.text(digits)}" for place, found in along.items())


def highest(along: dict[Any, Interval]) -> Any:
    """Where a metric has its highest mean."""
    return max(along, key=lambda place: along[place].mean)


def rises(along: Iterable[Interval]) -> bool:
    """Whether every mean is above the one before it."""
    return all(one.mean < two.mean for one, two in pairwise(along))


def falls(along: Iterable[Interval]) -> bool:
    """Whether every mean is below the one before it."""
    return all(one.mean > two.mean for one, two in pairwise(along))


_HEAD = "claim | the paper | ours | verdict | why it differs"


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
    name, paper, ours, given, why = (cell.strip() for cell in line.strip()[1:-1].split("|"))
    for verdict in get_args(Verdict):
        if verdict == given:
            return Claim(name, paper, ours, verdict, why)
    raise InputError(name, f"has no verdict but '{given}'")


def claims_summary(pages: dict[str, Path]) -> str:
    """How many claims of each system have which verdict, and those that are not reproduced with the reason."""
    found = {system: read_claims(page) for system, page in pages.items()}
    verdicts = get_args(Verdict)
    many = {system: Counter(claim.verdict for claim in claims) for system, claims in found.items()}
    failed = [claim for claims in found.values() for claim in claims if claim.verdict == "not reproduced"]
    counts = table(
        f"system | {' | '.join(verdicts)}",
        ([f"[{name}](systems/{name}.md)", *(many[name][verdict] for verdict in verdicts)] for name in found),
    )
    reasons = table("not reproduced | the paper | ours | why", ((c.id, c.paper, c.ours, c.why) for c in failed))
    return f"{counts}\n\n{reasons}"


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
    with file_in_place(page) as place:
        place.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def replace_sections(page: Path | str, sections: dict[str, str]) -> None:
    """Put all sections of a system's page in their places."""
    for name, text in sections.items():
        replace_section(page, text, name)
