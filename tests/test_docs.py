"""What the documentation shows is what runs: every block is run, here or in tests/pipeline, or listed with a reason."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hunet import Contacts, Publication, Subscription, Workload, make_world, run, write_contacts
from hunet.cli.settings import RunSettings
from hunet.model import describe
from hunet.pipeline.study_plan import plan_study
from hunet.pipeline.study_run import contacts_of, simulate_run
from hunet.simulation import Links, UniformWorkload, open_log
from hunet.systems import PROTOCOLS, studies_of, system, systems

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

NOT_RUN = {
    r"\./run (demo|test|test --slow|setup|release)": "sets up a machine from nothing; what it calls is tested",
    r"pip install .*": "needs the network; tests/test_installation.py makes the same environments without",
    r"docker .*": "needs a Docker engine",
    r"\./run mutate.*": "takes an hour; tests/test_mutation.py does a small one",
    r"\./run compile( --remove)?": "takes minutes; tests/test_compile.py does the same beside the source",
    r"\./run bench \w+( --(traces|people) .*)?": "measures speed, for minutes, and its figures are no promise",
    r"hunet reproduce.*": "takes hours; tests/pipeline/test_reproduce.py does a small one",
    r"hunet (node|bundle) .*": "needs nodes that run; tests/node/test_node.py and test_bundle_commands.py do the same",
    r"hunet (send|messages|verify|peers|group|publish|subscribe) .*": "needs nodes; tests/node/test_groups.py has some",
    r"hunet emulate .*": "takes a minute and more; tests/node/test_emulation.py does small ones",
    r"(venv-pack|export PYSPARK_|spark-submit) ?.*": "needs a cluster; tests/pipeline/test_submit.py has a local one",
    r"(sudo|hciconfig) .*": "needs a Bluetooth adapter and root; tests/node/ble does the same with virtual adapters",
    r"curl .*": "needs a node that runs; tests/node/test_http_api.py asks the same of one",
}
"""Lines of commands that no test runs, and why."""

ON_TRACES = r"hunet trace (import|pairs|graph) .*"
"""Commands that tests/pipeline/test_docs_commands.py runs."""

ON_SPARK = re.compile(r"^hunet (trace|study|advise|demo|reproduce)\b", re.MULTILINE)


class Block(NamedTuple):
    """Code on a page: the language of its fence, or ``indented``."""

    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    fence: str | None = None
    held: list[str] = []
    before = ""
    for line in [*page.read_text("utf-8").splitlines(), ""]:
        if fence is not None:
            if line.startswith("```"):
                found.append(Block(fence, "\n".join(held) + "\n"))
                fence, held = None, []
            else:
                held.append(line)
        elif line.startswith("```"):
            fence = line[3:].strip()
        elif line.startswith("    ") and (held or not before.strip()):
            held.append(line[4:])
        elif held:
            found.append(Block("indented", "\n".join(held) + "\n"))
            held = []
        before = line
    assert fence is None, f"{page.name}: a fence is open"
    return found


def of(page: Path, language: str) -> list[str]:
    return [block.text for block in blocks(page) if block.kind == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if of(page, language)]


def consoles(text: str) -> list[tuple[str, str]]:
    """The commands of a console, and what each of them shows."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0].partition("#")[0].strip(), part.partition("\n")[2]) for part in parts]


def reason_for(command: str) -> str | None:
    """Under what a command is listed as one that is not run."""
    return next((known for known in NOT_RUN if re.fullmatch(known, command)), None)


def name(value: object) -> str:
    return value.name if isinstance(value, Path) else str(value)


def test_every_block_is_run_or_listed() -> None:
    used = set()
    for page in PAGES:
        for block in blocks(page):
            if block.kind == "console":
                used |= {reason_for(command) for command, _ in consoles(block.text)}
            if block.kind in ("python", "sh", "toml", "console", "json", "tree"):
                continue  # a test below runs these; tests/test_house.py holds the drawings of folders
            assert block.kind in ("indented", "text"), f"{page.name}: no test runs '{block.kind}'"
            for line in block.text.splitlines():
                command = line.partition("#")[0].strip()
                reason = reason_for(command)
                assert reason or re.fullmatch(ON_TRACES, command) or not command, f"{page.name}: who runs '{line}'?"
                used.add(reason)
                for system_name, study in re.findall(r"hunet reproduce (\S+) --study (\S+)", command):
                    assert study in {file.stem for file in studies_of(system(system_name))}, f"{page.name}: {study}"
    assert used - {None} == set(NOT_RUN), "nothing is listed that is not there"


def pages_in_python(on_spark: bool) -> list[Path]:
    return [page for page in pages_with("python") if any("pyspark" in each for each in of(page, "python")) == on_spark]


def run_python(page: Path) -> None:
    names: dict[str, object] = {"__name__": "example"}
    for block in of(page, "python"):
        exec(compile(block, str(page), "exec", dont_inherit=True), names)


@pytest.mark.parametrize("page", pages_in_python(on_spark=False), ids=name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those on Spark share a session elsewhere."""
    monkeypatch.chdir(tmp_path)
    run_python(page)


def shell(script: str, folder: Path) -> str:
    """Run commands with the installed command."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "99",
    }
    done = subprocess.run(
        ["sh", "-eu", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "page", [page for page in pages_with("sh") if not any(map(ON_SPARK.search, of(page, "sh")))], ids=name
)
def test_shell_examples_run(page: Path, tmp_path: Path) -> None:
    """Each page's commands one after the other, in an empty folder; those on Spark share a session elsewhere."""
    for block in of(page, "sh"):
        shell(block, tmp_path)


@pytest.mark.parametrize("page", pages_with("console"), ids=name)
def test_consoles_say_what_they_show(page: Path, tmp_path: Path) -> None:
    for block in of(page, "console"):
        for command, shown in consoles(block):
            if not reason_for(command):
                assert shown in shell(command, tmp_path)


@pytest.mark.parametrize("page", pages_with("toml"), ids=name)
def test_settings_are_accepted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds and studies are read; a run is run, on contacts of the name that it asks for."""
    monkeypatch.chdir(tmp_path)
    crowd = make_world("waypoint", seed=1, nodes=10, duration=600)
    for block in of(page, "toml"):
        given = tomllib.loads(block)
        for number, source in enumerate(given["contacts"] if isinstance(given.get("contacts"), list) else []):
            write_contacts(Contacts.from_records([("a", "b", number, 9)]), Path(source) / "contacts.parquet")
        if "repetitions" in given:
            assert plan_study(given, Path("study.toml")).points
            continue
        write_contacts(crowd, Path(given.get("contacts", "contacts.csv")))
        Path("run.toml").write_text(block)
        settings = RunSettings(Path("run.toml"))
        if "world" in settings.given:
            assert settings.plan().point.source.world
            continue
        settings.given.setdefault("contacts", "contacts.csv")
        planned = settings.plan()
        assert simulate_run(planned, contacts_of(planned)).summary["created"]


def test_the_log_looks_as_shown(tmp_path: Path) -> None:
    contacts = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30)])
    workload = Workload.of([Publication("m0", 5.0, 0, "news")], [Subscription(2, "news")])
    with open_log(tmp_path / "log.jsonl") as log:
        run(contacts, workload, "push", log=log)
    written = (tmp_path / "log.jsonl").read_text()
    [shown] = of(ROOT / "docs" / "simulation.md", "json")
    assert shown in written


def test_no_other_page_shows_json() -> None:
    """The log is looked at above, encounters by tests/pipeline/test_docs_commands.py: others would need a test, too."""
    assert {page.name for page in pages_with("json")} == {"simulation.md", "formats.md"}


MADE = ("contract.md", "reference.md")
"""Pages that are made with the site, from docstrings."""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http") and target not in MADE:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


class _Loaded(HTMLParser):
    """What a browser loads with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if tag == "link" and given.get("rel") in ("canonical", "next", "prev"):
            return
        named = given.get("href", "") if tag in ("link", "image", "use", "base") else given.get("src", "")
        self.found += [each for each in (named, given.get("srcset", ""), given.get("poster", "")) if each]
        self.found += re.findall(r"url\(([^)]+)\)", given.get("style", ""))


def remote(address: str) -> bool:
    return bool(re.match(r"""['"]?(?:[a-z]+:)?//""", address.strip(), re.IGNORECASE))


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Everything that pages of a site load from another machine: styles, scripts, fonts, pictures."""
    found = []
    for path in sorted(each for each in site.rglob("*") if each.suffix in (".html", ".svg", ".css", ".js")):
        text = path.read_text("utf-8")
        addresses = []
        if path.suffix in (".html", ".svg"):
            page = _Loaded()
            page.feed(text)
            addresses += page.found
        if path.suffix in (".html", ".svg", ".css"):
            addresses += re.findall(r"url\(([^)]+)\)", text) + re.findall(r"@import\s+([^;]+);", text)
        if path.suffix == ".js":  # what a script adds to a page
            addresses += re.findall(r"""(?:importScripts|import)\(\s*(['"][^'"]+)""", text)
        found += [f"{path.relative_to(site)}: {each}" for each in addresses if remote(each)]
    return found


def test_what_is_loaded_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<link rel="stylesheet" href="https://cdn.example/a.css"><link rel="canonical" href="https://here/">'
        '<script src="//cdn.example/b.js"></script><img src="c.png"><a href="https://example.org/">a link</a>'
        "<style>@font-face { src: url(https://fonts.example/d.woff) }</style>"
    )
    (tmp_path / "style.css").write_text("@import 'https://cdn.example/e.css'; p { background: url(f.png) }")
    assert [each.rpartition("/")[2].rstrip("'") for each in loaded_from_elsewhere(tmp_path)] == [
        *("a.css", "b.js", "d.woff", "e.css")
    ]


def test_the_site_is_built_without_a_warning_and_works_offline(tmp_path: Path) -> None:
    """Strictly: no broken link, no page that the contents do not name; the whole public API; nothing of other sites."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "systems" / "b-sub.html").exists()
    assert "hunet.make_world" in (tmp_path / "reference.html").read_text()
    assert loaded_from_elsewhere(tmp_path) == []
    assert not re.search(r'<a[^>]+href="[^":]*/"', (tmp_path / "index.html").read_text())  # pages open from a disk
    pictures = re.findall(r'<img[^>]+src="(pictures/[^"]+)"', (tmp_path / "gallery.html").read_text())
    assert len(pictures) >= 9
    assert all((tmp_path / picture).exists() for picture in pictures)


def test_the_reference_has_the_whole_public_api() -> None:
    place = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert place is not None
    assert place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    contract, page = module.contract(), module.reference()
    for text, modules in ((contract, module.CONTRACT), (page, module.MODULES)):
        for described in modules:
            for public in importlib.import_module(described).__all__:
                assert re.search(rf"^(### `{described}\.{public}`|\*\*`{public}`\*\*: see )", text, re.MULTILINE), (
                    public
                )
    assert not set(module.CONTRACT) & set(module.MODULES)
    assert "#### `Protocol.link_up`" in contract
    assert "#### `Settles.settled`" in contract
    assert "Contacts.from_records(\n    records: Iterable[tuple[str, str, float, float]],\n" in page
    assert ">>> eve.delivered == [hello]\nTrue\n>>> net" in page
    assert "| `loss` | 0.0 | probability that a link loses a packet, control or data |" in page
    assert not re.search(r"<(class|function|object)|ForwardRef", page)
    assert page.count("```") % 2 == 0


def test_writing_a_protocol_takes_two_screens() -> None:
    assert len((ROOT / "docs" / "writing-a-protocol.md").read_text("utf-8").splitlines()) <= 2 * 45


def test_the_first_screen_of_the_readme_has_the_two_commands() -> None:
    """And nothing else to type: a picture, three doors, which radio, and the claims."""
    text = (ROOT / "README.md").read_text("utf-8")
    screen = text.partition("## ")[0]
    assert re.findall(r"^    (.*?) +# \S+ \w+", screen, re.MULTILINE) == ["./run demo", "./run test"]
    assert "```" not in screen
    assert screen.index("./run demo") < screen.index("![") < screen.index("Three doors") < screen.index("Which radio?")
    assert len(re.findall(r"^- \*\*(Simulate|Analyse on Spark|Run for real)\.\*\*", screen, re.MULTILINE)) == 3


def test_the_readme_has_the_claims_and_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    judged = re.findall(r"^\| \[.*?\]\((systems/[\w-]+\.md)\) ((?:\| \d+ ){6})\|$", claims(), re.MULTILINE)
    assert len(judged) == 5
    for page, counts in judged:
        assert re.search(rf"^\| \[[\w -]+\]\(docs/{page}\) {re.escape(counts)}\|$", text, re.MULTILINE), page
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert page.name == "index.md" or f"]({page.relative_to(ROOT)}" in text, page


def claims() -> str:
    return (ROOT / "docs" / "claims.md").read_text("utf-8")


def test_the_tutorial_shows_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], hunet: Any
) -> None:
    """Protocols differ, push is at the bound, and the figures are those of its own commands."""
    page = ROOT / "docs" / "getting-started.md"
    text = page.read_text("utf-8")
    [make, runs, _] = of(page, "sh")
    monkeypatch.chdir(tmp_path)
    assert "668 contacts" in text
    assert "668 contacts" in hunet(*shlex.split(make.splitlines()[0])[1:]).out
    found = {}
    for command in runs.splitlines():
        answer = hunet(*shlex.split(command)[1:], "--json").json
        protocol = answer["name"]["protocol"]
        found[protocol] = (answer["delivery_ratio"], answer["relayed"])
        told = f"| `{protocol}` | {answer['delivery_ratio']:.3f} | {answer['relayed']:,} |"
        assert told in text, told
        assert answer["latency_avg"] > 60, "messages take their time"
        if protocol == "push":
            assert answer["delivery_ratio"] == answer["reachable_ratio"], "push is at the bound"
    assert len(set(found.values())) == len(found) == 3, "protocols differ"
    assert max(found, key=lambda protocol: found[protocol]) == "push"
    run_python(page)
    said = capfd.readouterr().out
    [told] = re.findall(r"delivers (0\.\d+) of (0\.\d+) reachable", text)
    assert f"delivery ratio {told[0]} of {told[1]} reachable" in said
    assert len(re.findall(r"^t\d +\d+\.\d+$", said, re.MULTILINE)) > 5, "a mean delay for each topic"


def test_parameters_are_documented_as_they_are() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    for record in (UniformWorkload, Links):
        for row in describe(record):
            assert re.search(rf"^\| `{row.name}` \| .* \| {re.escape(row.help)} \|$", page, re.MULTILINE), row.name


def test_every_metric_has_a_formula() -> None:
    from hunet.simulation import SUMMARY

    page = (ROOT / "docs" / "metrics.md").read_text()
    counts = {"created", "unpublished", "pairs", "delivered", "reachable", "role_changes", "false_matches", "repeated"}
    counts |= {"out_of_band_packets", "out_of_band_bytes", "observed"}  # told by results.md, and nothing to compute
    for metric in set(SUMMARY) - counts:
        assert f"`{metric}`" in page, metric


def test_the_readme_and_the_site_list_every_system_of_the_registry() -> None:
    table = (ROOT / "README.md").read_text("utf-8").split("## What is in it")[1].split("## ")[0]
    for name in PROTOCOLS:
        assert f"`{name}`" in table, f"the README does not list {name}"
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    for one in systems().values():
        if one.claims:
            assert f"systems/{one.name}.md" in site
            assert one.paper.split('"')[1] in " ".join(
                (ROOT / f"docs/systems/{one.name}.md").read_text("utf-8").split()
            )


def test_every_promise_of_a_node_names_tests_that_there_are() -> None:
    page = (ROOT / "docs" / "node.md").read_text("utf-8")
    promises = page.split("## What it promises")[1].split("### Killed, and attacked")[0]
    promises += page.split("### Promises and the tests that hold them")[1].split("\n## ")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ") and "| test" not in line]
    assert len(rows) > 30
    for row in rows[1:]:
        promise, named = row.strip("| ").rsplit(" | ", 1)
        tests = re.findall(r"`([\w/]+\.py)::(test_\w+)`", named)
        assert tests, f"no test holds: {promise}"
        for file, test in tests:
            assert f"def {test}(" in (ROOT / "tests" / "node" / file).read_text("utf-8"), f"{file} has no {test}"
