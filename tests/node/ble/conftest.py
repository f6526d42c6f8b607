"""Ids change when the machine has run for a multiple of 15 minutes; not in the middle of these tests."""

from __future__ import annotations

import pytest

from hunet.node.discovery import ShortIds


@pytest.fixture(autouse=True)
def ids_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunet.node.neighbourhood.ShortIds", lambda: ShortIds(clock=lambda: 0.0))
