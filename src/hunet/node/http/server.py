"""Where the API of a node is served: at a UNIX socket, for the commands, and at a TCP port if its owner wants that.

``async with Node(...) as node, HttpServer(node), HttpServer(node, "8080") as page: print(page.url)``

The UNIX socket is in the folder of the node, and only the owner of the node can open it. Who may ask at a TCP port: see
``guard``. There, strangers can have only so many connections and requests at once. What others wrote is text to the
page, never HTML; the page may load nothing from elsewhere, nor run what is not in its file
(``Content-Security-Policy``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hunet.model import ConfigurationError, HunetError, OutputError
from hunet.node.http.api import Api
from hunet.node.http.guard import Guard, Refusal
from hunet.node.http.records import Problem
from hunet.node.http.routes import LONGEST_BODY, Route, read

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from hunet.node.node import Node

_log = logging.getLogger("hunet.http")
_log.addFilter(lambda line: not (line.exc_info and isinstance(line.exc_info[1], HttpProcessingError)))
"""What strangers send that is no HTTP is answered with 400 and needs no report."""

_MOST_STREAMS = 16
_MOST_AT_ONCE = 64
_MOST_CONNECTIONS = 128
_LONGEST_PATH = 100
"""What the kernel takes for the name of a socket, and a little less."""
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


class HttpServer:
    """The API of a node at an ``address``: PORT (of this machine only), HOST:PORT, or :PORT for all interfaces.

    Anything but a loopback address needs a token; if none is given the node makes one and keeps it in its folder.
    Without an address it is served at the UNIX socket ``socket`` in the folder of the node.
    """

    def __init__(self, node: Node, address: str | None = None, token: str | None = None) -> None:
        self._node, self._address = node, address
        self._guard = None if address is None else Guard(address, token, node.folder)
        self._socket = node.folder / "socket"
        self._busy: Counter[bool] = Counter()
        """Requests in progress, by whether they wait for something to happen."""

    async def __aenter__(self) -> HttpServer:
        self.api = Api(self._node)
        app = web.Application(middlewares=[self._answer], client_max_size=LONGEST_BODY)
        app.on_response_prepare.append(_add_headers)
        for route in self.api.routes:
            path = route.path.replace("{topic}", "{topic:.+}")
            app.router.add_route(route.method, path, self._served(route))
        self._runner = web.AppRunner(app, access_log=None, logger=_log, handler_cancellation=True, shutdown_timeout=2.0)
        await self._runner.setup()
        try:
            self._server = await self._listen()
        except BaseException:
            self.api.close()
            await self._runner.cleanup()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._guard is None:
            self._socket.unlink(missing_ok=True)
        self._server.close()
        self.api.close()
        await self._runner.cleanup()

    async def _listen(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        if self._guard is None:
            return await loop.create_unix_server(self._connected, sock=_private_socket(self._socket))
        try:
            server = await loop.create_server(self._connected, self._guard.host or None, self._guard.port)
        except OSError as error:
            why = error.strerror or str(error)
            raise ConfigurationError(
                f"--http {self._address}: cannot listen there ({why}); take another address or port"
            ) from None
        found = [listener.getsockname() for listener in server.sockets]
        # With port 0, IPv4 and IPv6 get one each; the printed one is the former's.
        self._guard.port = next((address[1] for address in found if len(address) == 2), found[0][1])
        return server

    def _connected(self) -> asyncio.BaseProtocol:
        """Somebody connects; beyond a number they are hung up on, so that the node keeps its own links."""
        server = self._runner.server
        assert server is not None
        return server() if self._guard is None or len(server.connections) < _MOST_CONNECTIONS else _HangUp()

    @property
    def url(self) -> str:
        """Where the page is, with the token if there is one."""
        assert self._guard is not None, "a UNIX socket has no URL"
        return self._guard.url

    @web.middleware
    async def _answer(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Answer with a sentence whatever goes wrong, and look at who asks before anything else."""
        try:
            if self._guard is not None:
                self._guard.check_source(request)
            return await handler(request)
        except Refusal as refusal:
            return _problem(refusal.status, str(refusal), refusal.headers)
        except web.HTTPException as error:
            return _problem(error.status, f"{request.method} {request.path}: {error.reason.lower()}")
        except OutputError as error:
            return _problem(503, str(error))
        except HunetError as error:
            return _problem(400 if self._node.running else 503, str(error))

    def _served(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(request: web.Request) -> web.StreamResponse:
            if self._guard is not None and not route.open:
                self._guard.check_token(request)
            with self._counted(route.waits):
                answer = await route.handler(await read(route, request))
            if isinstance(answer, web.StreamResponse):
                return answer
            return web.Response(status=route.status, body=msgspec.json.encode(answer), content_type="application/json")

        return serve

    @contextmanager
    def _counted(self, waits: bool) -> Iterator[None]:
        """Refuse a request if there are too many already."""
        if self._guard is not None and waits and self._busy[waits] >= _MOST_STREAMS:
            raise Refusal(503, f"{_MOST_STREAMS} streams are open already; close one", Retry_After="5")
        if self._guard is not None and not waits and self._busy[waits] >= _MOST_AT_ONCE:
            raise Refusal(503, "too many requests at once", Retry_After="1")
        self._busy[waits] += 1
        try:
            yield
        finally:
            self._busy[waits] -= 1


class _HangUp(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


def _private_socket(path: Path) -> socket.socket:
    """A UNIX socket that only this user can open."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise ConfigurationError(f"{path}: the path is too long for a socket; take a folder nearer to the root")
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)  # of a node that was killed: the folder is locked, so it is ours
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise OutputError(f"{path}: cannot be opened: {error.strerror}") from None
    finally:
        os.umask(before)
    return listener


def _problem(status: int, why: str, headers: dict[str, str] | None = None) -> web.Response:
    body = msgspec.json.encode(Problem(error=why))
    named = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
    return web.Response(status=status, body=body, content_type="application/json", headers=named)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
