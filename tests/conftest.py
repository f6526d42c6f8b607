"""What all tests share: where the real traces are, if they are here, and how hypothesis behaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces and of other programs' answers, which is never part of the project."""
    if not (SHARED / "traces").is_dir():
        pytest.skip("the folder ../shared with real traces is not here")
    return SHARED
