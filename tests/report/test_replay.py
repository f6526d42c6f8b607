"""The page that plays a run, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hunet
from hunet.cli.replay import replay
from hunet.model import Contacts, InputError, Publication, Subscription, Workload
from hunet.report.replay import read_run
from hunet.reporting import crowd_of, people_of_run
from tests.browser import colours, complaints, open_page

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

LINE = [("ann", "bob", 0.0, 10.0), ("bob", "eve", 20.0, 30.0), ("eve", "dan", 40.0, 50.0)]


def text(browser: Chrome, name: str) -> str:
    found: str = browser.execute_script("return document.getElementById(arguments[0]).textContent", name)
    return found


def pixels(browser: Chrome) -> str:
    found: str = browser.execute_script("return document.getElementById('crowd').toDataURL()")
    return found


def slide(browser: Chrome, time: float) -> None:
    """As a hand does it."""
    browser.execute_script(
        "const slider = document.getElementById('when'); slider.value = arguments[0];"
        "slider.dispatchEvent(new Event('input', {bubbles: true}))",
        time,
    )


def press(browser: Chrome, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which brokers carry messages between the communities of a world."""
    folder = tmp_path_factory.mktemp("runs") / "crowd"
    contacts = hunet.make_world("community", seed=3, hosts=40, caves=5, duration=7200)
    workload = hunet.make_workload(contacts, seed=1, messages=30, topics=4, ttl=3000.0, first=0.25, last=0.5)
    hunet.run(contacts, workload, "social-election", seed=1).save(folder)
    replay([folder])
    return folder


def line(folder: Path, topic: str = "news") -> Path:
    """A message that goes from hand to hand along a line of people."""
    contacts = Contacts.from_records(LINE)
    names = contacts.names
    workload = Workload.of(
        [Publication("m", 5.0, names.index("ann"), topic)], [Subscription(names.index("dan"), topic)]
    )
    hunet.run(contacts, workload, "push", seed=1).save(folder)
    hunet.write_contacts(contacts, folder.parent / "trace.csv")
    return folder


def test_a_run_plays(crowd: Path, browser: Chrome, picture: Callable[[str], None]) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    open_page(browser, crowd / "replay.html")
    result = read_run(crowd)
    assert f"{result['created']} messages" in browser.page_source
    assert text(browser, "clock") != "00:00:00"  # it begins where the message does
    before = pixels(browser)
    slide(browser, 2355.5)
    assert text(browser, "clock") == "00:39:15"
    assert pixels(browser) != before
    counts = re.fullmatch(
        r"(\d+) contacts open · (\d+) brokers · message with (\d+) people, delivered to (\d+)", text(browser, "now")
    )
    assert counts
    assert all(int(many) > 0 for many in counts.groups())
    press(browser, "v")
    picture("replay")
    light = pixels(browser)
    colours(browser, "dark")
    WebDriverWait(browser, 30).until(lambda found: pixels(found) != light)
    assert complaints(browser) == []


def test_it_moves_by_itself_and_by_keys(crowd: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    open_page(browser, crowd / "replay.html")
    press(browser, Keys.HOME)
    assert text(browser, "clock") == "00:00:00"
    press(browser, " ")
    WebDriverWait(browser, 30).until(lambda found: text(found, "clock") > "00:01:00")
    assert "pause" in text(browser, "play")
    press(browser, " ", Keys.END)
    assert text(browser, "clock") == "02:00:00"
    press(browser, Keys.ARROW_LEFT)
    assert text(browser, "clock") == "01:58:48"
    chosen = "return document.getElementById('message').value"
    first = browser.execute_script(chosen)
    press(browser, "n")
    assert browser.execute_script(chosen) != first
    press(browser, "p")
    assert browser.execute_script(chosen) == first
    for key in ("v", "l", Keys.ARROW_UP):  # another view, other labels
        before = pixels(browser), browser.execute_script("return document.getElementById('speed').selectedIndex")
        press(browser, key)
        after = pixels(browser), browser.execute_script("return document.getElementById('speed').selectedIndex")
        assert after != before
    assert complaints(browser) == []


def test_the_journey_of_a_message_is_told(tmp_path: Path, browser: Chrome) -> None:
    folder = line(tmp_path / "run", '"</script><b>news"')
    replay([folder], tmp_path / "trace.csv")
    open_page(browser, folder / "replay.html")
    assert '“"</script><b>news"”, published by ann at 00:00:05' in text(browser, "about")
    assert text(browser, "journey") == "00:00:40  ann → bob → eve → dan"
    assert browser.execute_script("return document.getElementById('views').hidden")  # a trace has no map
    for time, people, reached in ((4, 0, 0), (5, 2, 0), (20, 3, 0), (39, 3, 0), (40, 4, 1)):
        slide(browser, time)
        assert f"message with {people} people, delivered to {reached}" in text(browser, "now")
    press(browser, ",")
    assert text(browser, "clock") == "00:00:20"
    press(browser, ".")
    assert text(browser, "clock") == "00:00:40"
    browser.execute_script("document.querySelector('#journey button').click()")
    assert browser.execute_script("return document.querySelector('#journey button').ariaPressed") == "true"
    assert complaints(browser) == []


def test_open_contacts_are_right_at_any_time_among_a_hundred_thousand(tmp_path: Path, browser: Chrome) -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 100, 104_000)
    start = rng.uniform(0, 1e6, len(a))
    names = [str(number) for number in range(100)]
    contacts = Contacts.from_arrays(names, a, (a + rng.integers(1, 100, len(a))) % 100, start, start + 600)
    assert len(contacts) > 100_000
    hunet.run(contacts, hunet.make_workload(contacts, seed=1, messages=2), "pull").save(tmp_path / "run")
    hunet.write_contacts(contacts, tmp_path / "trace.parquet")
    replay([tmp_path / "run"], tmp_path / "trace.parquet", tmp_path / "page.html")
    open_page(browser, tmp_path / "page.html")
    for time in (999_000.0, 900.0, 123_456.75, 500_000.0):
        slide(browser, time)
        open_now = int(((contacts.start <= time) & (contacts.end >= time)).sum())
        assert text(browser, "now").startswith(f"{open_now} contacts open")
    assert complaints(browser) == []


def test_a_page_needs_the_contacts_of_the_run(tmp_path: Path) -> None:
    folder = line(tmp_path / "run")
    with pytest.raises(InputError, match="name it with --contacts FILE"):
        replay([folder])
    other = tmp_path / "other.csv"
    hunet.write_contacts(Contacts.from_records(LINE[:2]), other)
    with pytest.raises(InputError, match=r"other.csv: has other contacts than the run"):
        replay([folder], other)
    (folder / "forwards.parquet").unlink()
    with pytest.raises(InputError, match=r"forwards.parquet: is missing: run again"):
        replay([folder], tmp_path / "trace.csv")


def test_contacts_of_a_world_are_made_again_and_checked(crowd: Path) -> None:
    named = read_run(crowd)["name"]["contacts"]
    contacts, tracks = people_of_run(crowd, named, None)
    assert contacts.fingerprint == named["sha256"]
    assert tracks is not None
    other: dict[str, Any] = {**named, "sha256": "0" * 64}
    with pytest.raises(InputError, match="this version makes other contacts"):
        people_of_run(crowd, other, None)


def test_folders_that_are_no_runs_are_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the folder of a run"):
        read_run(tmp_path)
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(InputError, match="kept no tables: write 'tables = true'"):
        read_run(tmp_path)
    (tmp_path / "tables" / "abc").mkdir(parents=True)
    (tmp_path / "tables" / "abc" / "summary.json").write_text("{}")
    with pytest.raises(InputError, match=r"is a study: name one of its 1 runs, such as .*abc"):
        read_run(tmp_path)
    (tmp_path / "tables" / "abc" / "summary.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        read_run(tmp_path / "tables" / "abc")


def test_everybody_is_near_the_own_people() -> None:
    contacts = hunet.make_world("community", seed=3, hosts=40, caves=5, duration=3600)
    crowd = crowd_of("community", contacts)
    assert len(crowd.communities) == 5
    place, community = crowd.layout, crowd.community()
    apart = np.hypot(*(place[:, None] - place[None, :]).transpose(2, 0, 1))
    own = community[:, None] == community[None, :]
    assert apart[own].mean() < 0.5 * apart[~own].mean()
    assert (place.min(), place.max()) == (0.0, 1.0)
    assert (crowd_of("again", contacts).layout == place).all()


def test_communities_are_sought_where_nobody_tells_them() -> None:
    groups = [("abc", 0.0), ("def", 0.0), ("ag", 900.0)]
    met = [(a, b, t, t + 100.0) for members, t in groups for a in members for b in members if a < b]
    crowd = crowd_of("trace", Contacts.from_records(met))
    assert {frozenset(crowd.contacts.names[node] for node in part) for part in crowd.communities} >= {frozenset("def")}
    assert "modularity" in crowd.found_by
