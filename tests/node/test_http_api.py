"""The HTTP API: what it gives fits its document, whom it refuses, and streams that lose nothing."""

from __future__ import annotations

import asyncio
import io
import json
import re
import stat
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, UnixConnector
from hypothesis import given
from hypothesis import strategies as st

from hunet import Node
from hunet.model import ConfigurationError
from hunet.node.deliveries import Delivery
from hunet.node.gateway import bundle_of
from hunet.node.http import server
from hunet.node.http.events import EventFeed
from hunet.node.http.server import HttpServer
from hunet.node.identity import device_name
from hunet.node.publication import Group
from tests.node.company import until
from tests.node.test_laptops import PARAMETERS
from tests.node.test_node import device, play

TOKEN = "a-token-of-24-characters"


def fits(value: Any, schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Check a value by a JSON Schema; words that this does not understand are errors."""
    words = dict(schema)
    for silent in ("title", "description", "default"):
        words.pop(silent, None)
    if reference := words.pop("$ref", None):
        fits(value, schemas[reference.rpartition("/")[2]], schemas)
    if choices := words.pop("anyOf", None):
        problems = []
        for choice in choices:
            try:
                fits(value, choice, schemas)
                break
            except AssertionError as problem:
                problems.append(problem)
        else:
            raise AssertionError(problems)
    kinds: dict[str, Any] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    if kind := words.pop("type", None):
        assert isinstance(value, kinds[kind]), (value, kind)
        assert kind == "boolean" or not isinstance(value, bool), (value, kind)
    properties = words.pop("properties", {})
    for name in words.pop("required", []):
        assert name in value, name
    others = words.pop("additionalProperties", None)
    if isinstance(value, dict) and "type" in schema:
        for name, inner in value.items():
            assert name in properties or isinstance(others, dict), f"{name} is not in the document"
            fits(inner, properties.get(name, others), schemas)
    items = words.pop("items", None)
    if isinstance(value, list) and "type" in schema:
        for inner in value:
            fits(inner, items, schemas)
    if "minimum" in words:
        assert value >= words.pop("minimum")
    if "maximum" in words:
        assert value <= words.pop("maximum")
    if "exclusiveMinimum" in words:
        assert value > words.pop("exclusiveMinimum")
    assert not words, f"this test does not understand {words}"


@asynccontextmanager
async def served(node: Node, address: str = "0", token: str | None = None) -> AsyncIterator[tuple[HttpServer, Any]]:
    """The API of a node, and a way to ask it: ``await ask("GET", "/status")``."""
    async with HttpServer(node, address, token) as api, ClientSession() as session:
        base = api.url.partition("#")[0].rstrip("/")

        async def ask(method: str, path: str, **about: Any) -> tuple[int, Any]:
            async with session.request(method, base + path, **about) as answer:
                return answer.status, await answer.json()

        ask.session, ask.base = session, base  # type: ignore[attr-defined]
        yield api, ask


class Listener:
    """A client of /events."""

    def __init__(self, answer: ClientResponse) -> None:
        self.answer = answer

    async def next(self) -> tuple[str, str, Any]:
        """The id, the kind and the data of the next event."""
        said: dict[str, str] = {}
        while "data" not in said:
            line = (await self.answer.content.readline()).decode()
            if not line:
                raise EOFError
            name, colon, value = line.rstrip("\n").partition(": ")
            if colon:
                said[name] = value
        return said["id"], said["event"], json.loads(said["data"])


@asynccontextmanager
async def listening(ask: Any, after: str = "") -> AsyncIterator[Listener]:
    headers = {"Last-Event-ID": after} if after else {}
    async with ask.session.get(f"{ask.base}/events", headers=headers) as answer:
        assert answer.content_type == "text/event-stream"
        yield Listener(answer)


@pytest.mark.parametrize("protocol", ["b-sub", "socio-aware-overlay", "mops", "social-election", "push"])
def test_every_answer_is_as_the_document_says(tmp_path: Path, protocol: str) -> None:
    given: dict[str, Any] = {"protocol": protocol, "parameters": PARAMETERS.get(protocol)}

    async def scene() -> None:
        async with (
            device(tmp_path, "ann", **given) as ann,
            device(tmp_path, "bob", ann, **given) as bob,
            served(bob) as (api, ask),
        ):
            _, document = await ask("GET", "/openapi.json")
            messages = bob.subscribe("news/[world]")
            said = await ann.publish("news/[world]", "hello")
            delivers = protocol not in ("socio-aware-overlay", "social-election")  # there messages wait for brokers
            if delivers:
                await anext(messages)
            else:
                await until(lambda: bool(bob.peers()))
                await bob.publish("news/[world]", "hello")
            messages.close()
            words = {"number": "1", "id": said.id, "topic": "news%2F%5Bworld%5D", "group": "the%20choir"}
            choir = Group.new("the choir")
            ann.join(choir)
            bob.join(choir)
            bob._private.groups.add_member("the choir", ann.device)
            bodies: dict[str, Any] = {
                "/publications": {"topic": "x", "base64": "AAEC"},
                "/names/{device}": {"name": "Ann <b>"},
                "/conversations/{device}": {"text": "hello"},
                "/groups": {"invitation": choir.invitation},
                "/bundles": {"base64": b64encode(bundle_of(said).to_bytes()).decode()},
                "/deliveries/next": {"topic": "news/[world]", "wait": 0},
            }
            schemas = document["components"]["schemas"]
            asked = set()
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    asked.add((method.upper(), path))
                    (status, answer), refused = list(operation["responses"].items())
                    assert refused[0] == "default"
                    if "application/json" not in answer["content"] or (not delivers and "number" in path):
                        continue
                    words["device"] = device_name(bytes(32)) if "blocked" in path else ann.device
                    body = bodies.get(path) if method in ("post", "put") else None
                    if body:
                        fits(body, operation["requestBody"]["content"]["application/json"]["schema"], schemas)
                    got, value = await ask(method.upper(), re.sub(r"{(\w+)}", lambda m: words[m[1]], path), json=body)
                    assert got == int(status), value
                    fits(value, answer["content"]["application/json"]["schema"], schemas)
            served_here = {
                (route.method, (route.resource.canonical if route.resource else ""))
                for route in api._runner.app.router.routes()
            }
            assert asked == served_here
            assert (await ask("GET", "/subscriptions"))[1] == {
                "subscriptions": [],
                "endings": {},
            }  # the last that was asked
            community = (await ask("GET", "/community"))[1]["members"]
            assert (community is None) == (protocol not in ("socio-aware-overlay", "mops"))
            assert ann.peers()[0]["device"] == bob.device
            assert [peer["name"] for peer in bob.peers()] == ["Ann <b>"]

    play(scene())


def test_a_message_goes_from_api_to_api(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            device(tmp_path, "ann", protocol="b-sub") as ann,
            device(tmp_path, "bob", ann, protocol="b-sub", receipts=True) as bob,
            served(ann) as (_, ask_ann),
            served(bob) as (_, ask_bob),
            listening(ask_bob) as events,
        ):
            assert (await events.next())[1] == "hello"
            assert await ask_bob("PUT", "/subscriptions/news") == (200, {"subscriptions": ["news"], "endings": {}})
            body = {"topic": "news", "text": "grüß dich", "receipts": True}
            status, published = await ask_ann("POST", "/publications", json=body)
            assert status == 201
            kind, news = "", dict[str, Any]()
            while kind != "delivery":
                _, kind, news = await events.next()
            assert (news["text"], news["author"], news["id"]) == ("grüß dich", ann.device, published["id"])
            assert (news["number"], news["hops"], news["taken"]) == (1, 1, False)
            assert (await ask_bob("GET", "/messages"))[1] == {"messages": [news], "before": None}
            assert (await ask_bob("GET", "/status"))[1]["waiting"] == 1
            assert (await ask_bob("POST", "/messages/1/taken"))[1]["taken"]
            assert (await ask_bob("GET", "/status"))[1]["waiting"] == 0
            await until(lambda: ann.receipts(published["id"]) == 1)
            assert (await ask_ann("GET", f"/receipts/{published['id']}"))[1]["subscribers"] == 1
            carried = (await ask_ann("GET", "/carried"))[1]["carried"]
            assert [(one["own"], one["receipts"], one["strength"] > 0) for one in carried] == [(True, 1, True)]
            met = (await ask_ann("GET", "/encounters"))[1]["encounters"]
            assert [(one["device"], one["end"]) for one in met] == [(bob.device, None)]
            assert (await ask_ann("GET", "/encounters?since=1e12"))[1]["encounters"] == met  # it lasts

    play(scene())


def test_long_and_binary_contents(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            device(tmp_path, "ann", protocol="push") as ann,
            device(tmp_path, "bob", ann, protocol="push") as bob,
            served(bob) as (_, ask),
        ):
            messages = bob.subscribe("news")
            for content in (b"\xff\0", "x" * 70_000, b"\xfe"):
                await ann.publish("news", content)
                await anext(messages)
            messages.taken()
            _, page = await ask("GET", "/messages?limit=2")
            assert [(one["number"], one["size"], one["text"], one["base64"]) for one in page["messages"]] == [
                (3, 1, None, "/g=="),
                (2, 70_000, None, None),
            ]
            assert len((await ask("GET", "/messages/2"))[1]["text"]) == 70_000
            _, page = await ask("GET", f"/messages?before={page['before']}")
            assert [(one["number"], one["taken"], one["base64"]) for one in page["messages"]] == [(1, True, "/wA=")]

    play(scene())


def test_events_go_on_where_one_was_also_after_a_restart(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann", protocol="push") as ann:
            async with device(tmp_path, "bob", ann, protocol="push") as bob, served(bob) as (_, ask):
                bob.subscribe("news").close()
                async with listening(ask) as events:
                    assert (await events.next())[1] == "hello"
                    await ann.publish("news", "one")
                    place, kind = "", ""
                    while kind != "delivery":
                        place, kind, _ = await events.next()
                await ann.publish("news", "two")  # nobody listens
                await until(lambda: bob.last_delivery() == 2)
                with bob._watched(), bob._driver._event():
                    bob._driver.role("broker")
                assert (await ask("GET", "/community"))[1]["role"] == "broker"
                async with listening(ask, place) as events:
                    told = [await events.next(), await events.next()]
                    assert [(kind, data.get("text"), data.get("role")) for _, kind, data in told] == [
                        ("role", None, "broker"),
                        ("delivery", "two", None),
                    ]
                    place = told[0][0]
                async with listening(ask, place) as events:  # lost on the way: it comes again
                    assert (await events.next())[2]["text"] == "two"
                async with listening(ask, "nonsense") as events:
                    assert (await events.next())[1:] == ("hello", {"last_delivery": 2})
            async with (
                device(tmp_path, "bob", protocol="push") as bob,
                served(bob) as (_, ask),
                listening(ask, place) as events,
            ):
                assert (await events.next())[1] == "hello"
                assert (await events.next())[2]["text"] == "two"

    play(scene())


def test_links_are_told_with_names_and_streams_end_with_the_node(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "bob") as bob, served(bob) as (api, ask), listening(ask) as events:
            assert (await events.next())[1] == "hello"
            async with device(tmp_path, "ann", bob) as ann:
                _, kind, news = await events.next()
                assert (kind, news["device"], news["name"]) == ("link-up", ann.device, f"{ann.device[:8]}…")
                await ask("PUT", f"/names/{ann.device}", json={"name": "Ann"})
            _, kind, news = await events.next()
            assert (kind, news["name"]) == ("link-down", "Ann")
            ending = asyncio.ensure_future(events.next())
            api.api.events.close()
            with pytest.raises(EOFError):
                await ending

    play(scene())


class Told:
    """As much of a node as an event log asks for."""

    def __init__(self) -> None:
        self.many = 0

    def last_delivery(self) -> int:
        return self.many

    def deliveries(self, above: int, most: int) -> list[Delivery]:
        numbers = range(above + 1, min(self.many, above + most) + 1)
        return [Delivery(number, "", "", "", 0.0, b"", "", 0, 0.0) for number in numbers]


@given(st.lists(st.sampled_from(["delivery", "link up", "listen", "cut"]), max_size=60))
def test_a_stream_loses_and_doubles_nothing_wherever_it_is_cut(steps: list[str]) -> None:
    """Whatever happens while nobody listens, and whatever was under way when the stream was cut."""
    node = Told()
    log = EventFeed(node, kept=1000)  # type: ignore[arg-type]
    place = str(next(log._since(log._find(""))).position)
    heard: list[Any] = []
    expected: list[Any] = []
    for step in [*steps, "listen"]:
        if step == "delivery":
            node.many += 1
            expected.append(node.many)
            log(step, {})
        elif step == "link up":
            log(step, {"device": str(len(expected))})
            expected.append(str(len(expected)))
        else:
            for event in log._since(log._find(place)):
                if step == "cut":
                    break  # it was sent, and never came
                heard.append(event.details.number if isinstance(event.details, Delivery) else event.details["device"])
                place = str(event.position)
    for kind in (int, str):
        assert [one for one in heard if isinstance(one, kind)] == [one for one in expected if isinstance(one, kind)]


def test_who_was_away_too_long_is_told_to_ask_anew() -> None:
    log = EventFeed(Told(), kept=2)  # type: ignore[arg-type]
    first = next(log._since(log._find("")))
    log("role", {"role": "a"})
    assert [event.kind for event in log._since(first.position)] == ["role"]
    for name in "bcd":
        log("role", {"role": name})
    kinds = [event.kind for event in log._since(first.position)]
    assert kinds == ["hello"]


def test_strangers_pages_and_names_are_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, served(ann) as (api, ask):
            host = ask.base.removeprefix("http://")
            body = {"topic": "news", "text": "x"}
            for headers, status in [
                ({}, 201),
                ({"Origin": f"http://{host}"}, 201),
                ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 201),  # a tunnel
                ({"Host": "[::1]:1"}, 201),
                ({"Sec-Fetch-Site": "same-origin"}, 201),
                ({"Host": "evil.example"}, 403),  # a name of a stranger that leads here
                ({"Host": "localhost.evil.example"}, 403),
                ({"Host": "192.0.2.7"}, 403),
                ({"Host": "[::1"}, 403),
                ({"Host": "\xff"}, 403),
                ({"Origin": "http://evil.example"}, 403),
                ({"Origin": "null"}, 403),
                ({"Origin": "http://["}, 403),
                ({"Origin": f"http://{host}.evil.example"}, 403),
                ({"Sec-Fetch-Site": "cross-site"}, 403),
                ({"Sec-Fetch-Site": "same-site"}, 403),
                ({"Content-Type": "text/plain"}, 415),  # what a form can send
            ]:
                about = {"Content-Type": "application/json", **headers}
                got, said = await ask("POST", "/publications", data=json.dumps(body), headers=about)
                assert got == status, (headers, said)
            assert len(ann.carried()) == 5
            assert (await ask("OPTIONS", "/publications", headers={"Origin": "http://evil.example"}))[0] == 403
            async with ask.session.get(ask.base) as page:
                assert "default-src 'none'" in page.headers["Content-Security-Policy"]
                assert page.headers["X-Content-Type-Options"] == "nosniff"
                assert "Access-Control-Allow-Origin" not in page.headers
            assert "#" not in api.url

    play(scene())


def test_beyond_this_machine_a_token_is_needed(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann:
            async with served(ann, "0.0.0.0:0") as (api, ask):
                token = api.url.partition("#token=")[2]
                kept = ann.folder / "http-token"
                assert kept.read_text() == token
                assert stat.S_IMODE(kept.stat().st_mode) == 0o600
                wrong = [{}, {"Authorization": f"Bearer {token}x"}, {"Authorization": f"Basic {token}"}]
                for headers in [*wrong, {"Authorization": "Bearer \xff"}, {"Authorization": "Bearer"}]:
                    for route in api.api.routes:
                        if not route.open:
                            status, _ = await ask(
                                route.method, route.path.replace("{", "").replace("}", ""), headers=headers
                            )
                            assert status == 401, route
                assert (await ask("GET", "/status", headers={"Authorization": f"bearer {token}"}))[0] == 200
                assert (await ask("GET", "/status", headers={"Host": "evil.example"}))[0] == 403
                async with ask.session.get(ask.base) as page:  # what asks for the token
                    assert page.status == 200
                    assert token not in await page.text()
            async with served(ann, ":0") as (api, _):
                assert api.url.endswith(f"#token={token}")  # phones that know it need not be told again
            async with served(ann, "0", TOKEN) as (api, ask):
                assert api.url.endswith(f"#token={TOKEN}")
                assert (await ask("GET", "/status"))[0] == 401
                assert (await ask("GET", "/status", headers={"Authorization": f"Bearer {TOKEN}"}))[0] == 200
            for address, secret, problem in [
                ("0.0.0.0:x", None, "write PORT"),
                ("::1:8080", None, "write PORT"),
                ("70000", None, "write PORT"),
                ("0", "short", "at least 16"),
            ]:
                with pytest.raises(ConfigurationError, match=problem):
                    HttpServer(ann, address, secret)
            async with served(ann) as (api, ask):
                with pytest.raises(ConfigurationError, match="cannot listen there"):
                    async with HttpServer(ann, ask.base.rpartition(":")[2]):
                        pass

    play(scene())


def test_what_cannot_be_done_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MOST_STREAMS", 2)

    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, served(ann) as (_, ask):
            for body, problem in [
                ({"topic": "a"}, "text or base64"),
                ({"text": "a"}, "topic or group"),
                ({"topic": "a", "group": "b", "text": "c"}, "topic or group"),
                ({"topic": "a", "base64": "?"}, "not Base64"),
                ({"topic": "a", "text": "b", "ttl": -1}, "> 0"),
                ({"topic": "a", "text": "b", "ttl": 1e18}, "time to live"),
                ({"topic": "a", "text": "b", "lifetime": 1}, "lifetime"),
                ({"topic": "~a", "text": "b"}, "private topics"),
                ({"topic": "", "text": "b"}, "topic"),
                ({"topic": "\ud800", "text": "b"}, "not what it should be"),
                ({"group": "b", "text": "c"}, "in no group 'b'"),
                ({"group": "hunet-group:b", "text": "c"}, "invitation"),
                ([], "object"),
            ]:
                status, said = await ask("POST", "/publications", json=body)
                assert status == 400, body
                assert problem in said["error"]
                assert "\n" not in said["error"]
            for size, status in [(1 << 20, 400), (3 << 20, 413)]:  # a long publication, and a body not worth reading
                large = io.BytesIO(json.dumps({"topic": "a", "text": "x" * size + "y"}).encode())
                about = {"Content-Type": "application/json"}
                assert (await ask("POST", "/publications", data=large, headers=about))[0] == status
            for method, path, status in [
                ("GET", "/nothing", 404),
                ("POST", "/status", 405),
                ("GET", "/messages/1", 404),
                ("GET", "/messages/-1", 404),
                ("GET", "/messages/99999999999999999999", 404),
                ("POST", "/messages/x/taken", 404),
                ("GET", "/messages?limit=0", 400),
                ("GET", "/messages?limit=x", 400),
                ("GET", "/encounters?since=nan", 400),
                ("PUT", "/subscriptions/" + "x" * 501, 400),
                ("GET", "/../../etc/passwd", 404),
                ("GET", "/page/index.html", 404),
            ]:
                assert (await ask(method, path))[0] == status, path
            for body in ({}, {"topic": "a", "group": "b"}, {"topic": "a", "wait": 61}, {"topic": "a", "after": -1}):
                assert (await ask("POST", "/deliveries/next", json=body))[0] == 400, body
            status, said = await ask("PUT", "/names/nobody", json={"name": "x"})
            assert (status, said["error"]) == (400, "nobody is known as 'nobody'; give a petname or a device's key")
            async with listening(ask), listening(ask) as last:
                assert (await ask("GET", "/events"))[0] == 503
                assert (await ask("POST", "/deliveries/next", json={"topic": "a"}))[0] == 503
                assert (await last.next())[1] == "hello"
            await until(lambda: not ann._watchers[0]._listeners)  # type: ignore[attr-defined]
            async with listening(ask):
                pass
            assert ann.carried() == []

    play(scene())


def test_who_waits_for_a_message_is_answered_when_the_server_closes(tmp_path: Path) -> None:
    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, ClientSession() as session:
            ann.subscribe("news").close()
            async with HttpServer(ann, "0") as api:
                url = api.url + "deliveries/next"
                waiting = asyncio.ensure_future(session.post(url, json={"topic": "news", "wait": 60}))
                await until(lambda: bool(api.api._followed))
            async with await waiting as answer:
                assert await answer.json() == {"message": None, "more": [], "since": 0}

    play(scene())


def test_the_socket_has_neither_guard_nor_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever can open it is the owner: the file says so."""
    for limit in ("_MOST_STREAMS", "_MOST_AT_ONCE", "_MOST_CONNECTIONS"):
        monkeypatch.setattr(server, limit, 1)

    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, HttpServer(ann) as api:
            ann.subscribe("news").close()
            connector = UnixConnector(str(tmp_path / "ann" / "socket"))
            async with ClientSession("http://localhost", connector=connector) as session:
                body = {"topic": "news", "wait": 60}
                waiting = [asyncio.ensure_future(session.post("/deliveries/next", json=body)) for _ in range(20)]
                await until(lambda: len(api.api._followed) == 20)
                for number, headers in enumerate([{}, {"Host": "evil.example"}, {"Origin": "http://evil.example"}]):
                    async with session.get("/status", headers=headers) as answer:
                        assert answer.status == 200, number
                for each in waiting:
                    each.cancel()
                await until(lambda: not api.api._followed)
            assert caplog.records == []

    play(scene())


def test_more_connections_than_it_can_hold_are_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "_MOST_CONNECTIONS", 3)

    async def scene() -> None:
        async with device(tmp_path, "ann") as ann, HttpServer(ann, "0") as api:
            port = int(api.url.rpartition(":")[2].rstrip("/"))
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            await until(lambda: len(api._runner.server.connections) == 3)  # type: ignore[union-attr]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""
            writer.close()
            idle[0][1].close()
            await until(lambda: len(api._runner.server.connections) == 2)  # type: ignore[union-attr]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"
            idle[1][1].write(b"this is no HTTP\r\n\r\n")
            assert (await idle[1][0].readline()).startswith(b"HTTP/1.0 400")
            assert caplog.records == []  # strangers cannot fill a log
            for _, open_one in [*idle, (reader, writer)]:
                open_one.close()

    play(scene())
