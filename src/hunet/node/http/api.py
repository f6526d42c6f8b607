"""A node for programs and for people: an HTTP API with server-sent events, and a web page that uses it.

``async with Node(...) as node, HttpApi(node, "8080") as api: print(api.url)``. The API tells all about itself at
``/openapi.json``; the page is at ``/``.

Who may ask: see ``guard``. What others wrote is text to the page, never HTML; the page may load nothing from
elsewhere, nor run what is not in its file (``Content-Security-Policy``).
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from contextlib import ExitStack
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hunet.model import ConfigurationError, HunetError, OutputError
from hunet.node.control import plain_delivery
from hunet.node.http import records
from hunet.node.http.events import EventLog
from hunet.node.http.guard import Guard, Refusal
from hunet.node.http.records import Query, Route, openapi
from hunet.node.node import Delivery
from hunet.node.publication import Group, PublicationLimits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from hunet.node.node import Node

_log = logging.getLogger("hunet.http")
_log.addFilter(lambda line: not (line.exc_info and isinstance(line.exc_info[1], HttpProcessingError)))
"""What strangers send that is no HTTP is answered with 400 and needs no report."""

_MOST_STREAMS = 16
_MOST_AT_ONCE = 64
_MOST_CONNECTIONS = 128
_BODY_SECONDS = 30.0
_HEARTBEAT = 15.0
_INLINE = 64 << 10
"""Longer contents come only if one message is asked for."""
_SOME = 20
"""Of those who want a message, so many are named."""
_PAGE = {"/": "index.html", "/style.css": "style.css", "/page.js": "page.js", "/icon.svg": "icon.svg"}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Server": "hunet",
}


class Asked(NamedTuple):
    """A request that has been looked at: the words of its path, its query, its body as a record."""

    request: web.Request
    query: dict[str, float]
    body: Any

    def word(self, name: str) -> str:
        """A part of the path."""
        return self.request.match_info[name]

    def whole(self, name: str) -> int:
        """A whole number of the query."""
        return int(self.query[name])


class _HangUp(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


class HttpApi:
    """The server: ``address`` is PORT (of this machine only), HOST:PORT, or :PORT for everybody who can reach it.

    Anything but a loopback address needs a token; if none is given the node makes one and keeps it in its folder.
    """

    def __init__(self, node: Node, address: str, token: str | None = None) -> None:
        self._node, self._address = node, address
        self._guard = Guard(address, token, node.folder)
        self._events = EventLog(node)
        self._streams = self._busy = 0
        self._stack = ExitStack()
        self.routes = self._routes()

    async def __aenter__(self) -> HttpApi:
        limits = PublicationLimits()
        app = web.Application(middlewares=[self._answer], client_max_size=2 * limits.content_bytes + (8 << 10))
        app.on_response_prepare.append(_add_headers)
        for route in self.routes:
            path = route.path.replace("{topic}", "{topic:.+}")
            app.router.add_route(route.method, path, self._served(route))
        self._runner = web.AppRunner(app, access_log=None, logger=_log, handler_cancellation=True, shutdown_timeout=2.0)
        await self._runner.setup()
        try:
            loop, host = asyncio.get_running_loop(), self._guard.host or None
            self._server = await loop.create_server(self._connected, host, self._guard.port)
        except OSError as error:
            await self._runner.cleanup()
            why = error.strerror or str(error)
            raise ConfigurationError(
                f"--http {self._address}: cannot listen there ({why}); take another address or port"
            ) from None
        found = [listener.getsockname() for listener in self._server.sockets]
        # With port 0, IPv4 and IPv6 get one each; the printed one is the former's.
        self._guard.port = next((address[1] for address in found if len(address) == 2), found[0][1])
        self._stack.enter_context(self._node.watched_by(self._events))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._stack.close()
        self._events.close()
        await self._runner.cleanup()

    def _connected(self) -> asyncio.BaseProtocol:
        """Somebody connects; beyond a number they are hung up on, so that the node keeps its own links."""
        server = self._runner.server
        assert server is not None
        return server() if len(server.connections) < _MOST_CONNECTIONS else _HangUp()

    @property
    def url(self) -> str:
        """Where the page is, with the token if there is one."""
        return self._guard.url

    # What is served -------------------------------------------------------------------------------------------------

    def _routes(self) -> list[Route]:
        limit = Query("limit", "At most so many.", 100, 1, 1000)
        few = Query("limit", "At most so many.", 50, 1, 200)
        before = Query("before", "Only messages with lower numbers.", 1 << 53, 1, 1 << 53)
        since = Query("since", "Only what was not over at this time.", 0, 0, 1 << 53, whole=False)
        return [
            Route("GET", "/status", "How the node fares.", self._status, records.Status),
            Route("GET", "/peers", "Who is in reach now.", self._peers, records.Peers),
            Route("PUT", "/names/{device}", "Call a device by a name.", self._name, records.Device, records.Naming),
            Route(
                "GET", "/messages", "What was delivered here.", self._messages, records.Messages, None, (before, few)
            ),
            Route("GET", "/messages/{number}", "One message, however long.", self._message, records.Message),
            Route("POST", "/messages/{number}/taken", "It is dealt with.", self._take, records.Message),
            Route(
                "POST",
                "/publications",
                "Publish; the answer comes when it is on the disk.",
                self._publish,
                records.Published,
                records.NewPublication,
                status=201,
            ),
            Route("GET", "/subscriptions", "What is followed.", self._subscriptions, records.Subscriptions),
            Route("PUT", "/subscriptions/{topic}", "Follow a topic.", self._subscribe, records.Subscriptions),
            Route("DELETE", "/subscriptions/{topic}", "No longer.", self._unsubscribe, records.Subscriptions),
            Route("GET", "/carried", "What it carries, for whom.", self._carried, records.CarriedList, None, (limit,)),
            Route("GET", "/community", "Its community and role.", self._community, records.Community),
            Route("GET", "/encounters", "Whom it met.", self._encounters, records.Encounters, queries=(since, limit)),
            Route("GET", "/receipts/{id}", "How many have a publication.", self._receipts, records.Receipts),
            Route(
                "GET",
                "/events",
                "What happens, as server-sent events; Last-Event-ID takes up where one was.",
                self._follow,
                None,
                other="text/event-stream",
            ),
            Route("GET", "/openapi.json", "This.", self._document, None, open=True, other="application/openapi+json"),
            *[
                Route("GET", path, "The page.", self._file, None, open=True, other=_TYPES[name.rpartition(".")[2]])
                for path, name in _PAGE.items()
            ],
        ]

    async def _status(self, _: Asked) -> Any:
        return msgspec.convert(self._node.status(), records.Status)

    async def _peers(self, _: Asked) -> Any:
        return records.Peers(peers=msgspec.convert(self._node.peers(), list[records.Peer]))

    async def _name(self, asked: Asked) -> Any:
        device = asked.word("device")
        self._node.book.name(device, asked.body.name)
        return self._devices([device])[0]

    async def _messages(self, asked: Asked) -> Any:
        most = asked.whole("limit")
        deliveries = self._node.deliveries(below=asked.whole("before"), most=most, newest=True)
        found = [self._plain(delivery) for delivery in deliveries]
        return records.Messages(messages=found, before=found[-1].number if len(found) == most else None)

    async def _message(self, asked: Asked) -> Any:
        return self._plain(self._delivery(asked), whole=True)

    async def _take(self, asked: Asked) -> Any:
        delivery = self._delivery(asked)
        self._node.take(delivery.number)
        return self._plain(msgspec.structs.replace(delivery, taken=True))

    async def _publish(self, asked: Asked) -> Any:
        about: records.NewPublication = asked.body
        if (about.topic is None) == (about.group is None) or (about.text is None) == (about.base64 is None):
            raise Refusal(400, "give topic or group, and text or base64")
        content: str | bytes = about.text or ""
        if about.base64 is not None:
            try:
                content = b64decode(about.base64, validate=True)
            except ValueError:
                raise Refusal(400, "base64 is not Base64") from None
        topic = Group.from_invitation(about.group) if about.group is not None else about.topic or ""
        said = await self._node.publish(
            topic, content, ttl=about.ttl, receipts=about.receipts, content_type=about.content_type
        )
        return records.Published(id=said.id, topic=said.topic, expires=said.expires)

    async def _subscriptions(self, _: Asked) -> Any:
        return records.Subscriptions(subscriptions=self._node.subscriptions())

    async def _subscribe(self, asked: Asked) -> Any:
        topic = asked.word("topic")
        if len(topic.encode()) > PublicationLimits().topic_bytes:
            raise Refusal(400, f"a topic has at most {PublicationLimits().topic_bytes} bytes")
        self._node.subscribe(topic).close()
        return await self._subscriptions(asked)

    async def _unsubscribe(self, asked: Asked) -> Any:
        await self._node.unsubscribe(asked.word("topic"))
        return await self._subscriptions(asked)

    async def _carried(self, asked: Asked) -> Any:
        status = self._node.status()
        found = [
            records.Carried(
                **{name: each[name] for name in each if name != "devices"},
                name=self._node.book.call(each["author"]),
                own=each["author"] == self._node.device,
                wanted_by=self._devices(each["devices"][:_SOME]),
                wanted_by_many=len(each["devices"]),
            )
            for each in self._node.carried(asked.whole("limit"))
        ]
        return records.CarriedList(carried=found, held=status["held"], held_bytes=status["held_bytes"])

    async def _community(self, _: Asked) -> Any:
        status, members = self._node.status(), self._node.community()
        return records.Community(
            protocol=status["protocol"],
            role=status["role"],
            members=None if members is None else self._devices(members),
        )

    async def _encounters(self, asked: Asked) -> Any:
        found = self._node.encounters(asked.query["since"], asked.whole("limit"))
        return records.Encounters(encounters=msgspec.convert(found, list[records.Encounter]))

    async def _receipts(self, asked: Asked) -> Any:
        publication = asked.word("id")
        return records.Receipts(id=publication, subscribers=self._node.receipts(publication))

    async def _document(self, _: Asked) -> web.Response:
        document = msgspec.json.encode(openapi(self.routes))
        return web.Response(body=document, content_type="application/openapi+json")

    async def _file(self, asked: Asked) -> web.Response:
        name = _PAGE[asked.request.path]
        body = files("hunet.node").joinpath("page", name).read_bytes()
        return web.Response(body=body, content_type=_TYPES[name.rpartition(".")[2]], charset="utf-8")

    async def _follow(self, asked: Asked) -> web.StreamResponse:
        if self._streams >= _MOST_STREAMS:
            raise Refusal(503, f"{_MOST_STREAMS} streams are open already; close one", Retry_After="5")
        self._streams += 1
        try:
            stream = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
            await stream.prepare(asked.request)
            async for event in self._events.follow(asked.request.headers.get("Last-Event-ID", ""), _HEARTBEAT):
                if event is None:
                    await stream.write(b": still here\n\n")
                else:
                    data = msgspec.json.encode(self._news(event.kind, event.about))
                    await stream.write(
                        b"id: %s\nevent: %s\ndata: %s\n\n" % (str(event.place).encode(), event.kind.encode(), data)
                    )
            return stream
        except ConnectionError:  # the listener has gone
            return stream
        finally:
            self._streams -= 1

    def _news(self, kind: str, about: dict[str, Any] | Delivery) -> msgspec.Struct:
        if isinstance(about, Delivery):
            return self._plain(about)
        if kind == "hello":
            return records.Hello(**about)
        if kind == "role":
            return records.RoleNews(**about)
        return records.LinkNews(**about, name=self._node.book.call(about["device"]))

    def _devices(self, devices: list[str]) -> list[records.Device]:
        here = {peer["device"] for peer in self._node.peers()} if devices else ()
        call, own = self._node.book.call, self._node.device
        return [records.Device(device=one, name=call(one), here=one in here, own=one == own) for one in devices]

    def _delivery(self, asked: Asked) -> Delivery:
        word = asked.word("number")
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 16 else 0
        for delivery in self._node.deliveries(above=number - 1, below=number + 1):
            return delivery
        raise Refusal(404, f"there is no message {word!r}; it may be out of date")

    def _plain(self, delivery: Delivery, whole: bool = False) -> records.Message:
        about = plain_delivery(delivery)
        if len(delivery.content) > _INLINE and not whole:
            about = {name: about[name] for name in about if name not in ("text", "base64")}
        about |= {"name": self._node.book.call(delivery.author), "taken": delivery.taken, "size": len(delivery.content)}
        return msgspec.convert(about, records.Message)

    # Who is served ----------------------------------------------------------------------------------------------------

    @web.middleware
    async def _answer(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Answer with a sentence whatever goes wrong, and look at who asks before anything else."""
        try:
            self._guard.check_source(request)
            return await handler(request)
        except Refusal as refusal:
            return _problem(refusal.status, str(refusal), refusal.headers)
        except web.HTTPException as error:
            return _problem(error.status, f"{request.method} {request.path}: {error.reason.lower()}")
        except OutputError as error:
            return _problem(503, str(error))
        except HunetError as error:
            return _problem(400, str(error))

    def _served(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(request: web.Request) -> web.StreamResponse:
            if not route.open:
                self._guard.check_token(request)
            if self._busy >= _MOST_AT_ONCE + self._streams:
                raise Refusal(503, "too many requests at once", Retry_After="1")
            self._busy += 1
            try:
                query = {query.name: _number(query, request) for query in route.queries}
                body = await _body(route, request)
                answer = await route.handler(Asked(request, query, body))
            finally:
                self._busy -= 1
            if isinstance(answer, web.StreamResponse):
                return answer
            return web.Response(status=route.status, body=msgspec.json.encode(answer), content_type="application/json")

        return serve


async def _body(route: Route, request: web.Request) -> Any:
    if route.takes is None:
        return None
    if request.content_type != "application/json":
        raise Refusal(415, "the body is to be JSON, with Content-Type: application/json")
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            data = await request.read()
        return msgspec.json.decode(data, type=route.takes)
    except TimeoutError:
        raise Refusal(408, "the body did not come in time") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(400, f"the body is not what it should be: {error}") from None


def _number(query: Query, request: web.Request) -> float:
    text = request.query.get(query.name)
    if text is None:
        return query.default
    try:
        number = int(text) if query.whole else float(text)
    except ValueError:
        number = -1
    if not isfinite(number) or not query.least <= number <= query.most:
        raise Refusal(400, f"{query.name} is a number from {query.least:g} to {query.most:g}, not {text!r}")
    return number


def _problem(status: int, why: str, headers: dict[str, str] | None = None) -> web.Response:
    body = msgspec.json.encode(records.Problem(error=why))
    named = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
    return web.Response(status=status, body=body, content_type="application/json", headers=named)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
