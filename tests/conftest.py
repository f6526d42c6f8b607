"""What all tests share: the command, the real traces and a browser, if they are here, and how hypothesis behaves."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import start_browser, take_pictures
from tests.machine import needs_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium.webdriver import Chrome

settings.register_profile(
    "suite", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "random", settings.get_profile("suite"), derandomize=False, print_blob=True, max_examples=300
)  # other examples in every run, and how to repeat one that fails
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

os.environ["HUNET_SPARK_ARCHIVE"] = "off"  # of Spark's classes: made in the background, which would disturb others
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces and of other programs' answers, which is never part of the project."""
    return needs_shared()


class Answer(NamedTuple):
    """What the command said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def hunet(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """The command, in this process: hunet("run", "--json", ...)."""
    from hunet.cli import main

    def call(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["hunet", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        return Answer(int(stop.value.code or 0), *capfd.readouterr())

    return call


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not tested, and how to get it."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
    if reasons:
        terminalreporter.section("not tested")
    for reason, count in sorted(reasons.items()):
        terminalreporter.line(f"{count} tests {reason.removeprefix('Skipped: ').replace('needs', 'need', 1)}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pictures", action="store_true", help="write docs/pictures/*.png from the pages that are tested")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One Chromium for all tests of pages: starting one takes seconds."""
    with start_browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def picture(request: pytest.FixtureRequest, browser: Chrome, tmp_path: Path) -> Callable[[str], None]:
    """Takes pictures of the page that is open, under a name; ``--pictures`` keeps them for the documentation."""

    def take(name: str) -> None:
        folder = PICTURES if request.config.getoption("--pictures") else tmp_path
        for path in take_pictures(browser, folder / name):
            assert 10_000 < path.stat().st_size < 200_000

    return take
