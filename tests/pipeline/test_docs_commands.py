"""The commands of the documentation that need Spark, in one session; those on real traces, on the heads of these."""

from __future__ import annotations

import gzip
import re
import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hunet import make_world, read_contacts, write_contacts
from tests.test_docs import (
    ON_SPARK,
    ON_TRACES,
    PAGES,
    ROOT,
    blocks,
    name,
    of,
    pages_in_python,
    pages_with,
    run_python,
    shell,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINES = 2000


def commands(what: str) -> list[str]:
    """The commands of a kind on all pages: of those with the same log and a format or none, the one that says most."""
    texts = [block.text for page in PAGES for block in blocks(page) if block.kind == "indented"]
    lines = {line.partition("#")[0].strip() for text in texts for line in text.splitlines()}
    found: dict[tuple[str, bool], str] = {}
    for line in sorted(lines, key=lambda line: (len(line), line)):
        if re.fullmatch(ON_TRACES, line) and line.startswith(what):
            found[line.split()[3], "--format" in line] = re.sub(r"--out \S+", "--out out", line)
    return sorted(found.values())


def quick_first(pages: list[Path]) -> list[Any]:
    """The page of the pipeline alone takes as long as all others."""
    slow = pytest.mark.slow
    return [pytest.param(page, marks=slow) if page.name == "pipeline.md" else page for page in pages]


@pytest.fixture
def shell_line(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hunet: Any) -> Any:
    """Runs a line of a shell that begins with hunet."""
    del spark  # the session that the command finds running
    monkeypatch.chdir(tmp_path)

    def call(line: str) -> None:
        answer = hunet(*shlex.split(line, comments=True)[1:])
        assert answer.status == 0, f"{line}: {answer.err}"

    return call


@pytest.mark.parametrize(
    "page", quick_first([page for page in pages_with("sh") if any(map(ON_SPARK.search, of(page, "sh")))]), ids=name
)
def test_shell_examples_run(page: Path, shell_line: Any) -> None:
    for block in of(page, "sh"):
        for part in re.split(r"^(hunet .*)\n", block, flags=re.MULTILINE):
            if part.startswith("hunet "):
                shell_line(part)
            elif part:
                shell(part, Path())
    if page.name == "getting-started.md":  # what a reader is told to see
        answer = re.search("class=answer>(.*?)</p>", Path("results/report.html").read_text("utf-8"))
        assert answer
        assert answer[1].startswith("push delivers ")
        assert "all others deliver less" in answer[1]


@pytest.mark.parametrize("page", quick_first(pages_in_python(on_spark=True)), ids=name)
def test_python_examples_run(page: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del spark  # the session that the example finds running
    monkeypatch.chdir(tmp_path)
    run_python(page)


def head(source: Path, target: Path) -> None:
    """The first lines of a log, packed as it is; of a folder, those of all its files."""
    if source.is_dir():
        target.mkdir()
        for file in source.iterdir():
            head(file, target / file.name)
        return
    reader = gzip.open if source.suffix == ".gz" else open
    with reader(source, "rb") as lines, reader(target, "wb") as out:
        out.writelines(islice(lines, _LINES))


@pytest.mark.slow
@pytest.mark.parametrize("command", commands("hunet trace import"))
def test_traces_are_imported_as_the_pages_say(command: str, shared: Path, shell_line: Any) -> None:
    trace = command.split()[3]
    [source] = (shared / "traces").rglob(trace)
    head(source, Path(trace))
    shell_line(command)
    assert Path("out/contacts.parquet").exists()


def test_encounters_are_imported_as_shown(shell_line: Any) -> None:
    [shown, _] = of(ROOT / "docs" / "formats.md", "json")  # the second is of event logs
    Path("ann.jsonl").write_text(shown)
    shell_line("hunet trace import ann.jsonl -o trace")
    assert [row[:2] for row in read_contacts("trace").records()] == [("ann", "bob")]


@pytest.mark.slow
def test_traces_are_analysed_as_the_pages_say(shell_line: Any) -> None:
    for command in commands("hunet trace pairs") + commands("hunet trace graph"):
        trace = Path(command.split()[3])
        write_contacts(make_world("waypoint", seed=1, nodes=8, duration=300), trace / "contacts.parquet")
        shell_line(command.replace("--out out", f"--out {command.split()[2]}"))
    assert Path("pairs/pairs.json").exists()
    assert Path("graph").is_dir()
