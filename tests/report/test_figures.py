"""What figures share."""

from __future__ import annotations

from hunet.report.figures import STYLES


def test_series_are_told_apart_in_grey_as_well() -> None:
    assert len({(style["marker"], style["linestyle"]) for style in STYLES}) == len(STYLES) == 32
