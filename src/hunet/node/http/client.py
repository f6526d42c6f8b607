"""A running node as another process on this machine sees it: requests to the UNIX socket in its folder."""

from __future__ import annotations

import json
import socket
import time
from http.client import HTTPConnection, HTTPException
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hunet.model import ConfigurationError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAIT = 30.0
"""For so long a request for the next message waits until it is made again (s)."""
_PATIENCE = 60.0
"""For so long a node that ends under a subscriber may take to start again (s)."""


class NodeClient:
    """What ``/openapi.json`` describes, of the node that runs in a folder.

    What the node refuses is a ConfigurationError in the words of the node.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)

    def ask(self, method: str, *words: str, **body: Any) -> Any:
        """The answer to a request: the words of its path, and what is in its body by name."""
        try:
            path = "".join(f"/{quote(word, safe='')}" for word in words)
        except UnicodeEncodeError:
            raise ConfigurationError(f"{words[-1]!r} is not valid text") from None
        connection = self._connect()
        try:
            encoded = json.dumps(body).encode() if body else None
            connection.request(method, path, encoded, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, HTTPException):
            raise _EndedError(f"the node in {self._folder} ended before it had done this") from None
        finally:
            connection.close()
        if response.status >= 400:
            raise ConfigurationError(answer["error"])
        return answer

    def follow(self, topic: str = "", *, group: str = "", most: int | None = None) -> Iterator[dict[str, Any]]:
        """Messages on a topic, at ``most`` so many, each taken when the next is asked for.

        A node that is restarted is waited for; what it had handed over before does not come again.
        """
        if not group:
            self.ask("PUT", "subscriptions", topic)
        elif group.startswith("hunet-group:"):
            self.ask("POST", "groups", invitation=group)
        about = {"group": group} if group else {"topic": topic}
        left, after = inf if most is None else most, 0
        while left > 0:
            delivery = self._patiently("POST", "deliveries", "next", **about, after=after, wait=_WAIT)["message"]
            if delivery is not None:
                after = delivery["number"]
                yield delivery
                left -= 1
        self._patiently("POST", "deliveries", "next", **about, after=after, wait=0)  # which takes the last

    def unsubscribe(self, topic: str) -> None:
        """Follow a topic no longer."""
        self.ask("DELETE", "subscriptions", topic)

    def _patiently(self, method: str, *words: str, **body: Any) -> Any:
        until = inf
        while True:
            try:
                return self.ask(method, *words, **body)
            except (_EndedError, _NotRunningError):
                until = min(until, time.monotonic() + _PATIENCE)
                if time.monotonic() >= until:
                    raise
                time.sleep(0.1)

    def _connect(self) -> HTTPConnection:
        connection = HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        try:
            connection.sock.connect(str(self._folder / "socket"))
        except OSError:
            connection.close()
            start = f"start one with: hunet node --folder {self._folder}"
            raise _NotRunningError(f"no node is running in {self._folder}; {start}") from None
        return connection


class _EndedError(OutputError):
    """The node has gone in the middle of a request."""


class _NotRunningError(ConfigurationError):
    """There is no node."""
