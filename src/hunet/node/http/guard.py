"""Whom the HTTP API of a node answers.

Whoever can reach the API can publish in the owner's name, so it is careful about whom it answers. At a loopback
address it answers programs of this machine; at any other address it wants a token (``Authorization: Bearer ...``),
which the page finds behind the ``#`` of the printed address, where servers and logs never see it. Browsers run
programs of strangers, so three things are asked of every request: that its ``Host`` is a name of this machine (a
stranger's name that leads here, DNS rebinding, is refused), that its ``Origin``, if it has one, is this page, and
that a body is declared as JSON (which a form of another site cannot do without being asked for leave). Nothing is
encrypted: over a network that others listen to, use a tunnel or a proxy with TLS.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hunet.model import ConfigurationError, OutputError

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

_SHORTEST_TOKEN = 16


class Refusal(Exception):  # noqa: N818 - an answer
    """A request that is not served: the status of the answer, and why."""

    def __init__(self, status: int, why: str, **headers: str) -> None:
        super().__init__(why)
        self.status, self.headers = status, headers


class Guard:
    """What is asked of every request, for an ``address`` (PORT, HOST:PORT, or :PORT for all interfaces) and a token.

    Anything but a loopback address needs a token; if none is given, one is made and kept in a ``folder``.
    """

    def __init__(self, address: str, token: str | None, folder: Path) -> None:
        self.host, self.port = _address(address)
        self.local = _is_loopback(self.host)
        self.token = _good(token) if token is not None else None if self.local else _kept_token(folder / "http-token")

    @property
    def url(self) -> str:
        """Where the page is, with the token if there is one."""
        host = self.host or _outward_address()
        page = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"
        return f"{page}#token={self.token}" if self.token else page

    def check_source(self, request: web.Request) -> None:
        """Refuse strangers' pages, and names of strangers that lead here."""
        host = request.headers.get("Host", "")
        if not self._is_mine(host):
            raise Refusal(403, f"{host!r} is not a name of this node; ask by its address")
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            raise Refusal(403, "pages of other sites may not ask")

    def _is_mine(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        try:
            number = ip_address(name)  # who names a number has not been misled by a name
        except ValueError:
            mine = socket.gethostname().lower()
            return name == "localhost" or (not self.local and name in (self.host.lower(), mine, f"{mine}.local"))
        return number.is_loopback or not self.local

    def check_token(self, request: web.Request) -> None:
        """Refuse those who lack the token, if there is one."""
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refusal(403, "pages of other sites may not ask")
        if self.token is not None:
            kind, _, token = request.headers.get("Authorization", "").partition(" ")
            right = hmac.compare_digest(token.strip().encode(errors="surrogateescape"), self.token.encode())
            if kind.lower() != "bearer" or not right:
                raise Refusal(401, "this needs the token that the node printed", WWW_Authenticate="Bearer")


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ConfigurationError(f"--http {text}: write PORT, HOST:PORT, or :PORT for all interfaces")
    return (host.strip("[]") if colon else "127.0.0.1"), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _good(token: str) -> str:
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(f"a token has at least {_SHORTEST_TOKEN} letters and digits, without spaces")
    return token


def _kept_token(path: Path) -> str:
    """The token in a file that only its owner can read; made the first time."""
    try:
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(24))
        return _good(path.read_text().strip())
    except OSError as error:
        raise OutputError(f"{path}: a token cannot be kept there: {error.strerror}") from None


def _outward_address() -> str:
    """The address of this machine on its network, as far as it can tell; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
