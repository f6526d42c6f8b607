"""The same name gives the same bytes in any process: nothing depends on how Python hashes text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import io
from hunet.simulation import EventLog
from tests.simulation.test_invariants import LINKS, PROTOCOLS, simulate
from tests.strategies import crowd
print(list({"x", "y"}))  # the topics of these crowds, as a careless protocol would go through them
for protocol in PROTOCOLS:
    for seed, links in enumerate(LINKS.values()):
        log = io.StringIO()
        print(protocol, simulate(crowd(seed), protocol, links, log=EventLog(log)).summary)
        print(log.getvalue())
"""


@pytest.mark.slow
def test_two_processes_that_hash_differently_give_the_same_bytes() -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    (order, one), (other_order, two) = [process.communicate()[0].split(b"\n", 1) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert order != other_order
    assert one.count(b'"deliver"') > 300
    assert one == two
