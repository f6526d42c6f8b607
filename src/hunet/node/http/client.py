"""A running node as another process on this machine sees it: requests to the UNIX socket in its folder."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hunet.model import ConfigurationError, HunetError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAIT = 30.0
"""For so long a request for the next message waits until it is made again (s)."""
_AT_ONCE = 100
"""Messages in an answer."""


class NodeClient:
    """What ``/openapi.json`` describes, of the node that runs in a folder.

    What the node refuses is a ConfigurationError in the words of the node.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)

    def ask(self, method: str, *words: str, query: str = "", **body: Any) -> Any:
        """The answer to a request: the words of its path, its query, and what is in its body by name."""
        try:
            path = "".join(f"/{quote(word, safe='')}" for word in words) + query
        except UnicodeEncodeError:
            raise ConfigurationError(f"{words[-1]!r} is not valid text") from None
        connection = self._connect()
        try:
            encoded = json.dumps(body).encode() if body else None
            connection.request(method, path, encoded, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, HTTPException, ValueError):
            raise _EndedError(f"the node in {self._folder} ended before it had done this") from None
        finally:
            connection.close()
        if response.status == 503:
            raise _EndedError(answer["error"])
        if response.status >= 400:
            raise ConfigurationError(answer["error"])
        return answer

    def follow(
        self, topic: str = "", *, group: str = "", most: int | None = None, until: float | None = None
    ) -> Iterator[dict[str, Any]]:
        """Messages on a topic, at ``most`` so many, and ``until`` then, each taken when the next is asked for.

        A node that is restarted is waited for; what it had handed over before does not come again.
        """
        words = ("POST", "groups") if group else ("PUT", "subscriptions", topic)
        body = {"invitation": group} if group else {"query": "" if until is None else f"?until={until!r}"}
        if not group or group.startswith("hunet-group:"):  # a name is that of a group which the node belongs to
            try:
                self.ask(*words, **body)
            except _EndedError:
                self._patiently(*words, **body)
        followed: dict[str, Any] = {"group": group} if group else {"topic": topic}
        left, after = inf if most is None else most, 0
        try:
            while left > 0:
                wait = _WAIT if until is None else min(_WAIT, max(0.0, until - time.time()))
                asked = {**followed, "after": after, "wait": wait, "most": int(min(left, _AT_ONCE))}
                answer = self._patiently("POST", "deliveries", "next", **asked)
                followed["since"] = answer["since"]
                for delivery in [answer["message"], *answer["more"]] if answer["message"] else []:
                    after = delivery["number"]
                    yield delivery
                    left -= 1
                if answer["message"] is None and until is not None and time.time() >= until:
                    break
        finally:
            with suppress(HunetError):  # it would come again
                self.ask("POST", "deliveries", "next", **followed, after=after, wait=0)  # which takes the last

    def unsubscribe(self, topic: str) -> None:
        """Follow a topic no longer."""
        self.ask("DELETE", "subscriptions", topic)

    def _patiently(self, method: str, *words: str, **body: Any) -> Any:
        while True:
            try:
                return self.ask(method, *words, **body)
            except (_EndedError, _NotRunningError):  # it is restarted, or will be
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
