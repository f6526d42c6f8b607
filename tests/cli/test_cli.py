"""The command line as people and programs use it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer
from rich.text import Text

from hunet import Contacts, write_contacts
from hunet.cli import app, only
from hunet.cli.progress import progress_of_runs
from hunet.report.metrics import METRICS
from hunet.report.tables import print_study

RECORDS = [("a", "b", 0, 10), ("b", "c", 20, 30), ("c", "d", 40, 50)]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    write_contacts(Contacts.from_records(RECORDS), path)
    return path


def test_help_teaches(hunet: Any) -> None:
    answer = hunet("--help")
    assert answer.status == 0
    for command in ("run", "demo", "protocols", "world", "convert", "replay-log"):
        assert command in answer.out
    assert hunet("--version").out.startswith("hunet 0.")


def test_help_shows_all_that_is_written(hunet: Any) -> None:
    """Words in square brackets are markup to who draws the help, and would be missing from it."""

    def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        yield name, command
        for part, below in getattr(command, "commands", {}).items():
            yield from commands(below, f"{name} {part}")

    for name, command in commands(typer.main.get_command(app), "hunet"):
        for text in (command.help, *(getattr(option, "help", None) for option in command.params)):
            assert not text or Text.from_markup(text).plain == text, name
    assert "[default: (push)]" in hunet("run", "--help").out


def test_a_command_that_is_built_alone_is_as_among_the_others() -> None:
    """Only the command that was asked for is built, groups of commands too; for another word all are."""

    def parameters(command: Any) -> list[Any]:
        return [[(each.name, each.opts, each.help) for each in command.params if hasattr(each, "help")], command.help]

    everything: Any = typer.main.get_command(app)
    for word in ("run", "trace"):
        alone: Any = typer.main.get_command(only(word))
        assert list(alone.commands) == [word]
        assert parameters(alone) == parameters(everything)
        assert parameters(alone.commands[word]) == parameters(everything.commands[word])
        assert list(getattr(alone.commands[word], "commands", [])) == list(
            getattr(everything.commands[word], "commands", [])
        )
    assert only("rnu") is app


def test_help_has_no_types_beside_flags(hunet: Any) -> None:
    for words in (("--help",), ("run", "--help"), ("advise", "--help"), ("trace", "import", "--help")):
        said = hunet(*words).out
        assert "--help" in said
        assert "bool" not in said
    assert re.search(r"--json +Print the summary", hunet("run", "--help").out)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_tables_are_never_cut(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What does not fit goes to a second table, with the names again; at 80 columns the demo needs one."""
    monkeypatch.setenv("COLUMNS", str(width))
    names = [name for name in METRICS if name != "forwards"]
    figures = {f"{name}_mean": 12.3 for name in names} | {f"{name}_ci95": 0.0 for name in names}
    points: list[dict[str, Any]] = [
        {"point": 0, "runs": 5, "failed": 0, "protocol": name, "created_mean": 300.0, **figures}
        for name in ("push", "socio-aware-overlay")
    ]
    print_study(points, "a crowd")
    said = capsys.readouterr().out
    assert "…" not in said
    assert max(map(len, said.splitlines())) <= width
    heads = " ".join(said.split())
    for word in ("ered %", "packets", "control", "band MB", "kers"):
        assert word in heads
    assert said.count("socio-aware-overlay") == (2 if width == 60 else 1)


def test_a_log_is_told_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 10.0, 40.0, 50.0, 80.0])
    monkeypatch.setattr("hunet.cli.progress.monotonic", lambda: next(clock))
    with progress_of_runs("advise", lines=True) as progress:
        assert progress is not None
        for done in (6, 9, 10, 13):  # five were there before
            progress(done, 21)
    told = ["advise: 9 of 21 runs, about 2.0 min left", "advise: 13 of 21 runs, about 80.0 s left"]
    assert capsys.readouterr().err.splitlines() == told
    with progress_of_runs("study") as none:
        assert none is None


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import hunet.cli, sys; print(sorted({'numpy', 'pandas', 'pyarrow', 'pyspark', 'msgspec'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_on_a_file_prints_a_table_or_json(hunet: Any, trace: Path) -> None:
    table = hunet("run", "--contacts", trace, "--protocol", "push", "--seed", 1)
    assert table.status == 0
    assert "delivery ratio" in table.out
    assert "reachable bound" in table.out
    summary = hunet("run", "--contacts", trace, "--protocol", "push", "--seed", 1, "--json").json
    assert summary["delivery_ratio"] == summary["reachable_ratio"]
    assert summary["name"]["protocol"] == "push"


def test_a_workload_from_files_and_results_in_a_folder(hunet: Any, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,time,node,topic\nhello,0,a,news\n")
    (tmp_path / "s.csv").write_text("node,topic\nd,news\n")
    files = ("--publications", tmp_path / "p.csv", "--subscriptions", tmp_path / "s.csv")
    assert hunet("run", "--contacts", trace, *files, "--out", tmp_path / "out").status == 0
    rows = pd.read_parquet(tmp_path / "out" / "deliveries.parquet")
    assert rows[["publication", "node", "time", "hops"]].to_numpy().tolist() == [["hello", "d", 40.0, 3]]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["delivered"] == 1


def test_parameters_from_options_from_set_and_from_a_file(hunet: Any, trace: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        'contacts = "trace.csv"\nprotocol = "spray-and-wait"\nseed = 5\n[parameters]\ncopies = 4\n'
        '[workload]\nmessages = 7\n[links]\nrate = 2\n[[crash]]\nnode = "b"\ntime = 15\ndown = 2\n'
    )
    name = hunet("run", "--config", config, "--json").json["name"]
    assert (name["protocol"], name["seed"], name["parameters"]["copies"]) == ("spray-and-wait", 5, 4)
    assert name["workload"]["about"]["generated"]["messages"] == 7
    assert name["links"]["rate"] == 2
    assert name["crashes"] == [[1, 15.0, 2.0]]
    words = ("--set", "copies=2", "--set", "workload.topics=3", "--set", "links.loss=0.5", "--rate", "5 kbits/s")
    name = hunet("run", "--config", config, "--seed", 6, "--messages", 9, "--ttl", 60, *words, "--json").json["name"]
    assert (name["seed"], name["parameters"]["copies"]) == (6, 2)
    generated = name["workload"]["about"]["generated"]
    assert (generated["messages"], generated["topics"], generated["ttl"]) == (9, 3, 60)
    assert (name["links"]["rate"], name["links"]["unit"], name["links"]["loss"]) == (5000, "bits/s", 0.5)
    name = hunet("run", "--config", config, "--ttl", "1.5h", "--json").json["name"]
    assert name["workload"]["about"]["generated"]["ttl"] == 5400


def test_a_world_instead_of_a_file(hunet: Any) -> None:
    words = ("--world", "waypoint", "--set", "world.nodes=20", "--set", "world.duration=300", "--messages", 5, "--json")
    answer = hunet("run", *words)
    assert answer.json["name"]["contacts"]["nodes"] == 20


def test_protocols_are_listed_with_symbols_and_defaults(hunet: Any) -> None:
    listed = hunet("protocols", "--json").json
    assert {"push", "pull", "spray-and-wait"} <= set(listed)
    copies = next(row for row in listed["spray-and-wait"] if row["name"] == "copies")
    assert (copies["symbol"], copies["default"]) == ("L", 8)
    assert "copies" in hunet("protocols", "spray-and-wait").out


OWN_PROTOCOL = """
from hunet.protocols.push import Push
class Mine(Push):
    "Like push."
nothing = 3
"""


def test_a_protocol_of_ones_own(hunet: Any, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text(OWN_PROTOCOL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    answer = hunet("run", "--contacts", trace, "--protocol", "own:Mine", "--json").json
    assert answer["name"]["protocol"] == "own:Mine"
    for name, problem in {
        "own:Yours": "no protocol 'own:Yours'",
        "owm:Mine": "No module named 'owm'",
        "own:nothing": "must derive from hunet.Protocol",
    }.items():
        answer = hunet("run", "--contacts", trace, "--protocol", name)
        assert answer.status == 1
        assert problem in answer.err


def test_converting_there_and_back(hunet: Any, trace: Path, tmp_path: Path) -> None:
    assert hunet("convert", trace, tmp_path / "t.one.gz").status == 0
    assert hunet("convert", tmp_path / "t.one.gz", tmp_path / "back.csv").status == 0
    assert (tmp_path / "back.csv").read_text() == trace.read_text()


def test_an_event_log_replays(hunet: Any, trace: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert hunet("run", "--contacts", trace, "--log", log, "--crash", "b@15+3").status == 0
    answer = hunet("replay-log", log)
    assert answer.status == 0
    assert "every action the same" in answer.out
    lines = log.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if '"out": "greeting"' in line)
    for changed in (lines[:at] + lines[at + 1 :], [*lines[:at], lines[at], *lines[at:]], [*lines[:3], "nonsense\n"]):
        log.write_text("".join(changed))
        answer = hunet("replay-log", log)
        assert answer.status == 1
        assert "line" in answer.err


BAD = [
    (("run",), "no contacts: give --contacts FILE or --world NAME"),
    (("run", "--contacts", "missing.csv"), "missing.csv: no such file"),
    (("run", "--contacts", "{trace}", "--protocol", "epidemic"), "no protocol 'epidemic'"),
    (("run", "--contacts", "{trace}", "--protocol", "pusch"), "did you mean 'push'?"),
    (("run", "--contacts", "{trace}", "--set", "bufer=3"), "no parameter 'bufer': did you mean 'buffer'?"),
    (("run", "--contacts", "{trace}", "--set", "buffer=lots"), "parameter 'buffer'"),
    (("run", "--contacts", "{trace}", "--set", "buffer"), "write NAME=VALUE"),
    (("run", "--contacts", "{trace}", "--set", "lnks.rate=3"), "no group 'lnks': did you mean 'links'?"),
    (("run", "--contacts", "{trace}", "--rate", "fast"), "write a number and one of messages/s"),
    (("run", "--contacts", "{trace}", "--crash", "b"), "write NODE@TIME"),
    (("run", "--contacts", "{trace}", "--crash", "z@5"), "crash of node 'z'"),
    (("run", "--contacts", "{trace}", "--publications", "p.csv"), "needs both publications and subscriptions"),
    (("run", "--contacts", "{trace}", "--train", "7"), "train is a share of the trace"),
    (("run", "--contacts", "{trace}", "--world", "waypoint"), "name either --contacts or --world, not both"),
    (("run", "--contacts", "{trace}", "--seed", "-1"), "a seed is a whole number of at least 0, not -1"),
    (("run", "--contacts", "{trace}", "--ttl", "6x"), "--ttl 6x: write a number and one of s, min, h, d"),
    (("demo", "--ttl", "soon"), "--ttl soon: write a number and one of s, min, h, d, such as 6h"),
    (("demo", "--ttl", "0"), "--ttl 0: messages must live for a second or longer"),
    (("run", "--config", "missing.toml"), "missing.toml: no such file"),
    (("run", "--world", "komunity"), "no world 'komunity': did you mean 'community'?"),
    (("convert", "{trace}", "out.xlsx"), "name it .parquet, .csv or .one"),
    (("protocols", "pul"), "did you mean 'pull'?"),
    (("replay-log", "missing.jsonl"), "no such file"),
]


@pytest.mark.parametrize(("words", "problem"), BAD)
def test_bad_input_is_one_clear_line(
    hunet: Any, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = hunet(*(word.format(trace=trace) for word in words))
    assert answer.status == 1
    assert problem in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert answer.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["trace.csv"]


def test_a_folder_without_a_trace_says_how_to_get_one(hunet: Any, trace: Path, tmp_path: Path) -> None:
    empty, texts, results = tmp_path / "empty", tmp_path / "texts", tmp_path / "results"
    empty.mkdir()
    texts.mkdir()
    (texts / "log.csv").write_text(trace.read_text())
    assert hunet("run", "--contacts", trace, "--out", results).status == 0
    for folder in (empty, texts, results):
        answer = hunet("run", "--contacts", folder)
        assert answer.status == 1
        remedy = "this folder holds no trace: import a log with 'hunet trace import LOG -o FOLDER'"
        assert answer.err == f"hunet: {folder}: {remedy}\n"


def test_a_bad_config_is_named(hunet: Any, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    for content, problem in {
        "contact = 'x'": "no key 'contact': did you mean 'contacts'?",
        "world = {name = 'waypoint'}\nlinks = 3": "'links' must be a table",
        "contacts = 'x'\nworld = {name = 'waypoint'}": "name either contacts or a world, not both",
        "contacts = 'x'\ncrash = 'b'": "write each crash as a table [[crash]]",
        "contacts = 'x'\ntrain = 'half'": "'train' is a share of the trace",
        "repetitions = 3": "'repetitions' is for studies: run 'hunet study FILE'",
        "contacts = ['x', 'y']": "'contacts' names several values: that is a study; run 'hunet study FILE'",
        "contacts = 'x'\nprotocol = ['push', 'pull']": "'protocol' names several values",
        "contacts = 'x'\n[workload]\nttl = [60, 600]": "'workload.ttl' names several values",
        "contacts = 'x'\n[workload]\nttl = {from = 1, to = 3, step = 1}": "'workload.ttl' names several values",
        "seed = ": "is not TOML",
    }.items():
        config.write_text(content)
        answer = hunet("run", "--config", config)
        assert answer.status == 1
        assert problem in answer.err
        assert str(config) in answer.err or "not both" in problem


def test_values_that_are_lists_or_tables(hunet: Any, tmp_path: Path) -> None:
    """A list of a parameter that is itself a list is one value, in the file as on the command line."""
    config = tmp_path / "run.toml"
    config.write_text(
        'protocol = "socialcast"\n[parameters]\nweights = {cdc = 0.5, col = 0.5}\nsnapshots = [10, 20]\n'
        '[world]\nname = "waypoint"\nnodes = [6]\nduration = 900\n[workload]\nmessages = 3\n'
    )
    name = hunet("run", "--config", config, "--json").json["name"]
    assert name["contacts"]["nodes"] == 6
    assert name["parameters"]["weights"] == {"cdc": 0.5, "col": 0.5}
    assert name["parameters"]["snapshots"] == [10, 20]
    said = ("snapshots=[30]", "weights={cdc = 1.0}", "world.seed=3", "world.nodes=7")
    options = (word for text in said for word in ("--set", text))
    name = hunet("run", "--config", config, *options, "--json").json["name"]
    assert (name["parameters"]["snapshots"], name["parameters"]["weights"]) == ([30], {"cdc": 1.0})
    assert (name["contacts"]["nodes"], name["contacts"]["about"]["seed"], name["seed"]) == (7, 3, 1)


def test_options_win_over_the_own_table_of_a_protocol(hunet: Any, trace: Path, tmp_path: Path) -> None:
    config = tmp_path / "elsewhere" / "run.toml"
    config.parent.mkdir()
    config.write_text('contacts = "no.csv"\nprotocol = "spray-and-wait"\n[parameters.spray-and-wait]\ncopies = 4\n')
    words = ("run", "--config", config, "--contacts", trace, "--json")
    assert hunet(*words).json["name"]["parameters"]["copies"] == 4
    assert hunet(*words, "--set", "copies=2").json["name"]["parameters"]["copies"] == 2


def test_a_run_needs_no_spark(trace: Path) -> None:
    code = (
        "import sys; from hunet.cli import main; sys.argv = ['hunet', 'run', '--contacts', sys.argv[1], '--json']\n"
        "try: main()\nexcept SystemExit: print('pyspark' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, trace], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "False"


def test_usage_errors_exit_with_two(hunet: Any) -> None:
    assert hunet("run", "--nonsense").status == 2
    assert hunet("jump").status == 2


def test_interrupted_it_stops_cleanly(tmp_path: Path) -> None:
    """Ctrl-C in mid-run: exit status 130, one line, no results and no leftovers."""
    rows = [
        (str(k % 50), str((k * 7 + 1) % 50), float(k), float(k + 100))
        for k in range(60_000)
        if k % 50 != (k * 7 + 1) % 50
    ]
    write_contacts(Contacts.from_records(rows), tmp_path / "long.parquet")
    words = ["run", "--contacts", "long.parquet", "--messages", "2000", "--out", "out", "--log", "log.jsonl"]
    # A job in the background of a shell is started deaf to Ctrl-C: let it hear.
    hear = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start = hear + "import sys; from hunet.cli import main; sys.argv = ['hunet', *sys.argv[1:]]; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    # The run is under way when its log grows. Before, libraries are imported, and that of numpy.random swallows Ctrl-C.
    while not any(log.stat().st_size > 10_000 for log in tmp_path.glob(".log.jsonl.*.partial")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.strip() == "hunet: interrupted; nothing was left half-written"
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["long.parquet"]
