"""Claims of a paper against results of ours: a table in Markdown that is generated, never typed.

A system's ``claims`` says for each claim what the paper gives, computes what our study gives, and judges. The table
stands in the system's page between two comments and is replaced as a whole::

    <!-- claims -->
    <!-- end of claims -->

Other tables that come from results stand between comments with a name of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from hunet.model import InputError
from hunet.model.files import file_in_place

Verdict = Literal["reproduced", "partly", "not reproduced", "not testable", "not run"]


class Claim(NamedTuple):
    """One row of the table."""

    id: str
    paper: str
    """What the paper says, with its figure."""
    ours: str
    """What the study gave, with confidence intervals."""
    verdict: Verdict
    why: str = ""
    """Why it differs, where it does."""


_HEAD = "| claim | the paper | ours | verdict | why it differs |"


def verdict_of(whole: bool, part: bool) -> Verdict:
    """The verdict of a rule: whether the claim holds as a whole, and whether in part."""
    return "reproduced" if whole else "partly" if part else "not reproduced"


def claims_table(claims: Iterable[Claim]) -> str:
    """The table in Markdown."""
    lines = [_HEAD, "|---|---|---|---|---|"]
    lines += [f"| {claim.id} | {claim.paper} | {claim.ours} | {claim.verdict} | {claim.why} |" for claim in claims]
    return "\n".join(lines)


def read_claims(page: Path | str) -> list[Claim]:
    """The claims that stand in a page's tables of claims."""
    claims, inside = [], False
    for line in Path(page).read_text("utf-8").splitlines():
        if line.startswith(_HEAD):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            claims.append(_claim_of(line))
    return claims


def _claim_of(line: str) -> Claim:
    """A row of the table; texts of claims have no bars in them."""
    name, paper, ours, verdict, why = (cell.strip() for cell in line.strip()[1:-1].split("|"))
    if verdict not in get_args(Verdict):
        raise InputError(name, f"has no verdict but '{verdict}'")
    return Claim(name, paper, ours, verdict, why)  # type: ignore[arg-type]


def claims_summary(pages: dict[str, Path]) -> str:
    """How many claims of each system have which verdict, and those that are not reproduced with the reason."""
    found = {system: read_claims(page) for system, page in pages.items()}
    verdicts = get_args(Verdict)
    lines = [f"| system | {' | '.join(verdicts)} |", "|---|" + "---|" * len(verdicts)]
    for system, claims in found.items():
        many = Counter(claim.verdict for claim in claims)
        lines.append(f"| [{system}](systems/{system}.md) | {' | '.join(str(many[v]) for v in verdicts)} |")
    lines += ["", "| not reproduced | the paper | ours | why |", "|---|---|---|---|"]
    for claims in found.values():
        lines += [f"| {c.id} | {c.paper} | {c.ours} | {c.why} |" for c in claims if c.verdict == "not reproduced"]
    return "\n".join(lines)


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
