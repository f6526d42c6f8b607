"""A test is skipped only where a probe of the machine says so, and the end of a run says what was not tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.machine import REMEDIES

HERE = Path(__file__).parent
pytest_plugins = ["pytester"]


def test_only_probes_of_the_machine_skip() -> None:
    skips = re.compile(r"pytest\.(skip|importorskip|xfail)\b|mark\.(skip|skipif|xfail)\b|unittest|from pytest import")
    found = [
        f"{path.relative_to(HERE)}:{number}: {line.strip()}"
        for path in sorted(HERE.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if skips.search(line) and path not in (HERE / "machine.py", Path(__file__))
    ]
    assert not found, "skip through a probe of tests/machine.py"


def test_probes_use_nothing_of_hunet() -> None:
    text = (HERE / "machine.py").read_text("utf-8")
    assert not re.search(r"^\s*(from|import) (hunet|tests)\b", text, re.MULTILINE)
    used = re.findall(r'_lacks\("(.*?)"\)', text)
    assert set(used) == set(REMEDIES)


def test_the_end_of_a_run_says_what_was_not_tested(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import pytest_terminal_summary")
    pytester.makepyfile(
        """
        import pytest
        from tests.machine import _lacks

        @pytest.mark.parametrize("number", [1, 2])
        def test_pages(number):
            _lacks("a browser")

        def test_other():
            pass
        """
    )
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(passed=1, skipped=2)
    ran.stdout.fnmatch_lines(["*not tested*", "2 tests need a browser: apt install chromium chromium-driver"])
    pytester.makepyfile(test_fine="def test_fine(): pass")
    assert "not tested" not in pytester.runpytest_inprocess("-p", "no:cacheprovider", "test_fine.py").stdout.str()
