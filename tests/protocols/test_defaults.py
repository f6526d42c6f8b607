"""The defaults of every system are those that its page tells, which are the paper's where the paper has one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hunet.model.parameters import describe
from hunet.systems import protocol_class

PAGES = Path(__file__).parents[2] / "docs" / "systems"
SHARED = {"buffer", "max_hops", "evict"}
"""What devices of all systems have; a page tells them where the system has its own default."""
WORDS: dict[str, Any] = {"yes": True, "no": False}
UNITS = {"": 1.0, " s": 1.0, " h": 3600.0}


def documented(system: str) -> dict[str, str]:
    """Parameter to default, as the page's table of parameters tells it."""
    page = (PAGES / f"{system}.md").read_text(encoding="utf-8")
    table = page.split("| parameter | symbol | default | |\n", 1)[1].split("\n\n", 1)[0]
    found: dict[str, str] = {}
    for row in table.splitlines()[1:]:
        _, parameters, _, default, *_ = [cell.strip() for cell in row.split("|")]
        names = re.findall(r"\w+", parameters)
        found |= dict(zip(names, default.split(", ") if len(names) > 1 else [default], strict=True))
    return found


def meant(text: str) -> Any:
    """What a default on a page stands for; words that are no value ("never") stay words."""
    plain = text.strip("`")
    for unit, factor in UNITS.items():
        number = plain.removesuffix(unit).replace(",", "") if unit else plain.replace(",", "")
        if re.fullmatch(r"[\d.]+(e-?\d+)?", number):
            return float(number) * factor
    if re.fullmatch(r"\w+ [\d.]+(, \w+ [\d.]+)*", plain):
        return {name: float(value) for name, value in (each.split() for each in plain.split(", "))}
    return WORDS.get(plain, plain)


@pytest.mark.parametrize("protocol", ["prophet", "prophet-v2", "max-prop", "bubble-rap"])
def test_defaults_of_baselines_are_what_their_page_says(protocol: str) -> None:
    page = (PAGES.parent / "baselines.md").read_text(encoding="utf-8")
    section = page.split(f"(`{protocol}`)\n", 1)[1].split("\n## ", 1)[0]
    told = {name: meant(default) for name, default in re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*?) \|", section, re.M)}
    rows = {row.name: row.default for row in describe(protocol_class(protocol).Parameters)}
    assert set(rows) - set(told) == SHARED | {"again", "subscribers_carry"}
    assert {name: "none" if rows[name] is None else rows[name] for name in told} == told


@pytest.mark.parametrize("system", sorted(page.stem for page in PAGES.glob("*.md")))
def test_defaults_are_what_the_page_says(system: str) -> None:
    rows = {row.name: row.default for row in describe(protocol_class(system).Parameters)}
    told = documented(system)
    assert set(told) <= set(rows)
    assert set(rows) - set(told) <= SHARED | {"later"}  # made from "closeness"
    for name, text in told.items():
        if rows[name] is None or rows[name] in ((), {}):
            assert isinstance(meant(text), str), f"{name} has no default; the page says {text}"
        else:
            assert meant(text) == rows[name], name
    for name in SHARED & set(rows) - set(told):
        assert rows[name] in (None, "oldest"), name
