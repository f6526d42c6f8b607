"""Event logs of live nodes, and the page that plays them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hunet import Node
from hunet.cli import app

LOGS = ("ann.jsonl", "bob.jsonl")


@pytest.fixture(scope="module", params=["push", "social-election"])
def logs(request: Any, tmp_path_factory: Any) -> tuple[Path, Any]:
    """The logs of two nodes that met: Bob wanted what Ann published."""
    folder, protocol = tmp_path_factory.mktemp("logs"), request.param

    def node(name: str, *peers: str) -> Node:
        log = folder / f"{name}.jsonl"
        return Node(folder / name, protocol, listen="127.0.0.1:0", beacons=False, peers=peers, event_log=log)

    async def meet() -> tuple[str, str, str]:
        async with node("ann") as ann, node("bob", ann.address) as bob:
            messages = bob.subscribe("news")
            published = await ann.publish("news", "a secret text")
            await anext(messages)
            return ann.device, bob.device, published.id

    return folder, asyncio.run(asyncio.wait_for(meet(), 30.0))


def read(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def test_a_log_holds_what_a_live_protocol_was_shown_and_did(logs: Any) -> None:
    folder, (ann, bob, message) = logs
    first, *lines = read(folder / "bob.jsonl")
    assert (first["hunet"], first["format"], first["node"]) == ("event log", 1, bob)
    events = [line for line in lines if "t" in line]
    assert all(line["node"] == bob and ("in" in line) != ("out" in line) for line in events)
    assert {"in": "link_up", "peer": ann}.items() <= next(e for e in events if e.get("in") == "link_up").items()
    assert [line["message"] for line in events if line.get("out") == "deliver"] == [message]
    described = lines.index(next(line for line in lines if "t" not in line))
    assert described < lines.index(next(line for line in lines if line.get("out") == "deliver"))


def test_a_log_is_for_its_owner_and_has_no_contents(logs: Any) -> None:
    folder, _ = logs
    for name in LOGS:
        assert (folder / name).stat().st_mode & 0o077 == 0
        assert "a secret text" not in (folder / name).read_text("utf-8")


@pytest.mark.parametrize("names", [LOGS, LOGS[:1], LOGS[1:]])
def test_replay_makes_a_page_of_live_logs(logs: Any, names: tuple[str, ...], tmp_path: Path) -> None:
    folder, (ann, bob, message) = logs
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["replay", *(str(folder / name) for name in names), "-o", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text("utf-8")
    assert ann in text and bob in text and message in text
    assert f"{2} devices" in text and "1 messages" in text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ('{"t": 1.0}\n', "line 1: not a line of a node's event log"),
        ('{"hunet": "event log", "format": 9, "node": "a", "protocol": "push"}\n', "is of format 9"),
        ('{"hunet": "event log", "format": 1, "node": "a", "protocol": "push"}\n', "has no messages"),
        ('{"hunet": "event log", "format": 1, "node": "a", "protocol": "push"}\n{"t": 1', "line 2"),
    ],
)
def test_a_log_that_cannot_be_played_says_why(text: str, problem: str, tmp_path: Path) -> None:
    log = tmp_path / "node.jsonl"
    log.write_text(text, "utf-8")
    result = CliRunner().invoke(app, ["replay", str(log)])
    assert result.exit_code != 0
    assert problem in " ".join(str(result.exception or result.output).split()), result.output
