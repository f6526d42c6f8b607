"""The consensus of section 4.2, and the specification's remark on the paper's figures (vector 11)."""

from __future__ import annotations

from fractions import Fraction

from hunet.social.consensus import consensus


def votes(item: str, *counts: int) -> list[tuple[str, str, str]]:
    """One tag each: as many people as counts say chose the first tag, the second, ..."""
    people = iter(range(sum(counts)))
    return [(f"p{next(people)}", item, f"t{tag}") for tag, many in enumerate(counts) for _ in range(many)]


def test_the_papers_figures_need_fourteen_people() -> None:
    found = consensus(votes("high", 12, 2) + votes("low", 6, 5, 3))
    assert {item: round(value, 2) for item, value in found.items()} == {"high": 0.86, "low": 0.43}
    possible = [n for n in range(1, 30) if {0.43, 0.86} <= {round(float(Fraction(k, n)), 2) for k in range(n + 1)}]
    assert possible == [7, 14, 21, 28]  # so of the paper's 20 people not all answered


def test_several_tags_of_one_person_count_for_one_person() -> None:
    assert consensus([("a", "i", "x"), ("a", "i", "x"), ("a", "i", "y"), ("b", "i", "y")]) == {"i": 1.0}


def test_nothing_chosen_is_nothing() -> None:
    assert consensus([]) == {}
