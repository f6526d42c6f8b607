"""The page of a node in a real browser: two nodes, two pages, and a message from one to the other."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from hunet.model import Content
from tests.browser import colours, complaints, open_page

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

PATIENCE = 20.0
OVERLAY = ("--protocol", "socio-aware-overlay", "--set", "threshold=0.2", "--set", "k=2")
"""Two who have been together for a moment are a community, and both of them its brokers."""
HOSTILE = '<img src=x onerror="window.harm=1"><script>window.harm=2</script>&lt;b&gt;\'"\u202e'


class Process:
    """A node that runs by the command, with its page."""

    def __init__(self, *words: object) -> None:
        command = [sys.executable, "-c", "from hunet.cli import main; main()", "node", "--no-beacons", *map(str, words)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert self.process.stderr is not None
        first, second = self.process.stderr.readline().split(), self.process.stderr.readline().split()
        self.device, self.address, self.url = first[0], first[-1], second[-1]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json"}
        request = Request(self.url + path, json.dumps(body).encode() if body else None, headers, method=method)
        with urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)


@contextmanager
def running(folder: Path, *words: object) -> Iterator[Process]:
    node = Process("-d", folder, "--listen", "127.0.0.1:0", *words)
    try:
        yield node
    finally:
        node.process.terminate()
        node.process.communicate()
        assert node.process.returncode == 0


@pytest.fixture(scope="module")
def nodes(browser: Chrome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Process]]:
    """Ann's node and Bob's, who look for each other."""
    folder = tmp_path_factory.mktemp("nodes")
    with (
        running(folder / "ann", "--http", "0", "--receipts", *OVERLAY) as ann,
        running(folder / "bob", "--http", "0", *OVERLAY, "--peer", ann.address) as bob,
    ):
        yield ann, bob


@pytest.fixture
def pages(browser: Chrome, nodes: tuple[Process, Process]) -> Iterator[tuple[Process, Process, str, str]]:
    """The two with their pages open, each in a window of its own."""
    ann, bob = nodes
    open_page(browser, ann.url)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    second = browser.current_window_handle
    try:
        open_page(browser, bob.url)
        yield ann, bob, first, second
    finally:
        browser.switch_to.window(second)
        browser.close()
        browser.switch_to.window(first)
        browser.get("about:blank")


def see(browser: Chrome, what: str, *words: object) -> Any:
    """What a piece of JavaScript says, as soon as it is something."""
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, PATIENCE, 0.05).until(lambda _: browser.execute_script(f"return {what}", *words))


def shown(browser: Chrome, name: str, *words: str) -> None:
    """Wait until a part of the page says all of this."""
    place = f"document.getElementById('{name}').innerText"
    see(browser, f"arguments[0].every((word) => {place}.includes(word))", list(words))


def fill(browser: Chrome, name: str, text: str) -> None:
    """Write into a field as one does, whatever letters there are."""
    script = "const field = document.getElementById(arguments[0]); field.focus(); field.value = arguments[1]"
    browser.execute_script(script, name, text)


def press(browser: Chrome, selector: str) -> None:
    from selenium.webdriver.common.by import By

    browser.find_element(By.CSS_SELECTOR, selector).click()


def follow(browser: Chrome, topic: str) -> None:
    fill(browser, "subscribe-topic", topic)
    press(browser, "#subscribe-form button")
    shown(browser, "topic-list", topic)


def publish(browser: Chrome, topic: str, text: str) -> None:
    fill(browser, "publish-topic", topic)
    fill(browser, "publish-text", text)
    browser.execute_script("document.getElementById('publish-receipts').checked = true")
    browser.execute_script("document.getElementById('published').textContent = ''")
    press(browser, "#publish-form button")
    shown(browser, "published", topic)


def width(browser: Chrome, pixels: int, height: int = 800) -> None:
    about = {"width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": pixels < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", about)


def test_a_message_goes_from_page_to_page(
    browser: Chrome, pages: tuple[Process, Process, str, str], picture: Callable[[str], None]
) -> None:
    ann, bob, anns, bobs = pages
    shown(browser, "link", "live")
    shown(browser, "peer-list", ann.device[:8])
    press(browser, "#peer-list button:last-child")
    fill(browser, "naming-name", "Ann")
    press(browser, "#naming-form button:last-child")
    shown(browser, "peer-list", "Ann")
    shown(browser, "place", "I am a broker", "My community:", "Ann")
    follow(browser, "news")

    browser.switch_to.window(anns)
    shown(browser, "peer-list", bob.device[:8])
    shown(browser, "place", "I am a broker", bob.device[:8])
    follow(browser, "lunch")
    publish(browser, "news", "Meet at the fountain at eight.\nBring Bob.")
    publish(browser, "news", "<b>Bold</b> plans & a question: who has a tent?")
    assert complaints(browser) == []

    browser.switch_to.window(bobs)
    shown(browser, "message-list", "Meet at the fountain at eight.\nBring Bob.", "<b>Bold</b> plans &", "Ann", "1 hop")
    publish(browser, "lunch", "The soup is good today.")
    shown(browser, "carried-list", "lunch", "my own", "for Ann", "at least 1 have it")
    shown(browser, "timeline", "Ann")
    assert see(browser, "document.querySelectorAll('#message-list .new').length") == 2
    browser.execute_script("document.getElementById('span').value = 3600")
    browser.execute_script("document.getElementById('span').dispatchEvent(new Event('change'))")
    see(browser, "Date.now() - Date.parse(document.querySelector('#timeline time').dateTime) < 7.2e6")
    width(browser, 360)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    picture("node-page")
    colours(browser, "dark")
    dark = "getComputedStyle(document.body).backgroundColor === 'rgb(20, 24, 22)'"
    assert see(browser, dark)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    press(browser, "#message-list .new:first-child button")
    see(browser, "document.querySelectorAll('#message-list .new').length === 1")
    press(browser, "#topic-list button")
    see(browser, "!document.getElementById('topic-list').innerText.includes('news')")
    assert bob.ask("GET", "status")["subscriptions"] == []
    assert bob.ask("GET", "status")["waiting"] == 1
    assert complaints(browser) == []


def test_people_write_to_each_other_and_compare_keys(
    browser: Chrome, pages: tuple[Process, Process, str, str], picture: Callable[[str], None]
) -> None:
    ann, bob, anns, bobs = pages
    bob.ask("PUT", f"names/{ann.device}", {"name": "Ann"})
    ann.ask("PUT", f"names/{bob.device}", {"name": "Bob"})
    shown(browser, "peer-list", "Ann")
    press(browser, "#peer-list button")
    fill(browser, "talk-text", "Dinner at eight?\n<b>My</b> place.")
    press(browser, "#talk-form button")
    shown(browser, "talk-list", "Dinner at eight?\n<b>My</b> place.", "arrived")

    browser.switch_to.window(anns)
    shown(browser, "people-list", "Bob", "1 new")
    press(browser, "#people-list button")
    shown(browser, "talk-list", "Dinner at eight?\n<b>My</b> place.")
    fill(browser, "talk-text", "Yes.")
    press(browser, "#talk-form button")
    shown(browser, "talk-list", "Yes.", "arrived")
    press(browser, "#talk-safety")
    digits = bob.ask("GET", f"safety/{ann.device}")["number"]
    shown(browser, "paper", digits, "not compared them yet")
    assert browser.execute_script("return document.querySelectorAll('#paper svg path').length") == 1
    press(browser, "#paper-content button")
    shown(browser, "paper", "they are the same")
    press(browser, "#paper-close")
    shown(browser, "talk-name", "Bob ✓")
    width(browser, 360)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert complaints(browser) == []

    browser.switch_to.window(bobs)
    shown(browser, "talk-list", "Dinner at eight?", "Yes.")
    order = "[...document.querySelectorAll('#talk-list li')].map((one) => one.className)"
    assert browser.execute_script(f"return {order}") == ["own", ""]
    picture("node-people")
    press(browser, "#talk-close")
    fill(browser, "group-word", "the choir")
    press(browser, "#group-form button")
    shown(browser, "group-list", "the choir")
    press(browser, "#group-list button")
    invitation = see(browser, "document.querySelector('#paper code')?.textContent")
    press(browser, "#paper-close")
    ann.ask("POST", "groups", {"invitation": invitation})
    shown(browser, "group-list", "Ann")
    browser.execute_script("document.getElementById('publish-group').value = 'the choir'")
    publish(browser, "", "Rehearsal at six.")
    browser.execute_script("document.getElementById('publish-group').value = ''")
    shown(browser, "published", "the choir")
    assert complaints(browser) == []

    browser.switch_to.window(anns)
    shown(browser, "message-list", "group", "the choir", "Rehearsal at six.")
    browser.switch_to.window(bobs)


def test_what_strangers_write_stays_text(browser: Chrome, pages: tuple[Process, Process, str, str]) -> None:
    ann, bob, _, _ = pages
    topic = Content((HOSTILE.replace("\u202e", ""),)).text  # a tag in quotation marks
    bob.ask("PUT", f"names/{ann.device}", {"name": topic[:60]})
    follow(browser, topic)
    ann.ask("PUT", f"subscriptions/{quote(topic, safe='')}")
    for kind in ("text/html", "text/plain", "image/svg+xml", HOSTILE[:60]):
        ann.ask("POST", "publications", {"topic": topic, "text": HOSTILE, "content_type": kind})
    see(browser, "document.querySelectorAll('#message-list li').length >= 4")
    shown(browser, "message-list", HOSTILE, topic[:60])
    bob.ask("POST", "publications", {"topic": topic, "text": HOSTILE})
    publish(browser, topic, HOSTILE)
    shown(browser, "carried-list", topic, f"for {topic[:60]}")
    shown(browser, "place", topic[:60])
    shown(browser, "peer-list", topic[:60])
    shown(browser, "timeline", topic[:60])
    see(browser, "arguments[0] === document.querySelector('#timeline title').textContent.slice(0, 60)", topic[:60])
    strange = "document.querySelectorAll('main img, main script, main b, main [onerror]').length"
    assert browser.execute_script(f"return [window.harm ?? null, {strange}]") == [None, 0]
    width(browser, 360)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert complaints(browser) == []
    # Even if the page made a mistake, the browser would not run what it wrote.
    browser.execute_script("document.querySelector('main').insertAdjacentHTML('beforeend', arguments[0])", HOSTILE)
    assert browser.execute_script("return window.harm ?? null") is None
    assert any("Content Security Policy" in line for line in complaints(browser))


HOLD_BACK = """
    const fetched = window.fetch;
    window.fetch = async (address, ...rest) => {
        const answer = await fetched(address, ...rest);
        if (!address.startsWith("/messages?")) return answer;
        const page = { ...await answer.json(), before: 1 }; // as if there were earlier ones, which the page shows
        await new Promise((resolve) => { window.release = resolve; });
        window.fetch = fetched;
        return Response.json(page);
    };
"""


def test_a_message_that_comes_while_the_page_asks_for_all_of_them_stays(
    browser: Chrome, pages: tuple[Process, Process, str, str]
) -> None:
    ann, bob, _, _ = pages
    bob.ask("PUT", "subscriptions/meanwhile")
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HOLD_BACK})
    open_page(browser, bob.url)
    see(browser, "Boolean(window.release)")
    ann.ask("POST", "publications", {"topic": "meanwhile", "text": "just now"})
    shown(browser, "message-list", "just now")
    browser.execute_script("window.release()")
    see(browser, "!document.getElementById('earlier').hidden")
    assert "just now" in browser.execute_script("return document.getElementById('message-list').innerText")
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert complaints(browser) == []


def test_a_page_comes_back_when_its_node_does(browser: Chrome, tmp_path: Path) -> None:
    token = "a-token-of-24-characters"
    with running(tmp_path / "ann", "--http", "0", "--http-token", token) as ann:
        open_page(browser, ann.url.partition("#")[0])
        see(browser, "!document.getElementById('unlock').hidden")
        shown(browser, "problem", "token")
        browser.get("about:blank")
        browser.get(ann.url)  # with the token, which does not stay in view
        shown(browser, "link", "live")
        assert token not in browser.current_url
        shown(browser, "me", ann.device[:8], "push")
    shown(browser, "link", "not connected")
    port = ann.url.rpartition(":")[2].partition("/")[0]
    with running(tmp_path / "ann", "--http", port, "--http-token", token, "--subscribe", "news"):
        shown(browser, "link", "live")
        shown(browser, "topic-list", "news")
    browser.get("about:blank")
