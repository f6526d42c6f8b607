"""Contact histories and closeness."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet.systems.mops.closeness_graph import gaussian_closeness
from hunet.systems.mops.contact_history import ContactHistory


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=12), st.integers(1, 40))
def test_contacts_and_separations_make_up_the_window(steps: list[tuple[int, int]], finish: int) -> None:
    history = ContactHistory()
    now = 0
    for wait, length in steps:
        history.start("bob", now + wait)
        now += wait + length
        history.end("bob", now)
    intervals = history.intervals("bob")
    assert all(one[1] < two[0] for one, two in pairwise(intervals))
    inside = sum(max(0, min(end, finish) - start) for start, end in intervals)
    apart = history.separations("bob", 0, finish)
    assert all(gap > 0 for gap in apart)
    assert inside + sum(apart) == finish


def test_edges_of_the_window_count_as_asked() -> None:
    history = ContactHistory()
    for start, end in ((20, 40), (50, 70)):
        history.start("bob", start)
        history.end("bob", end)
    assert history.separations("bob", 0, 100, "both") == [20, 10, 30]
    assert history.separations("bob", 0, 100, "inner+trailing") == [10, 30]
    assert history.separations("bob", 0, 100, "inner") == [10]
    assert history.separations("eve", 0, 100) == [100]


def test_an_open_contact_lasts_until_it_is_asked_about() -> None:
    history = ContactHistory()
    history.start("bob", 10)
    assert history.total("bob", until=25) == 15
    assert history.total("bob") == 0
    assert history.peers == ["bob"]


@pytest.mark.parametrize(
    ("separations", "closeness"),
    [([20, 10, 30], 0.7261), ([10], 0.9231), ([20, 10], 0.8353), ([100], 0.000335), ([], 1)],
)
def test_the_vectors_of_the_mops_example(separations: list[float], closeness: float) -> None:
    """Two tables worked out by hand: σ = 25."""
    assert gaussian_closeness(separations, 25) == pytest.approx(closeness, rel=2e-3)
