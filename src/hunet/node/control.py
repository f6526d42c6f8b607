"""The socket by which an emulation talks to a running node.

A UNIX socket in the node's folder that only its owner can open. A client writes one JSON object on a line: ``do`` says
what, the rest is what the method of :class:`~hunet.node.node.Node` takes. The node answers with lines: ``{"ok": ...}``
or ``{"error": "..."}``. ``subscribe`` answers with a ``{"delivery": {...}}`` line for each message, for as long as
the client listens; the client says ``{"taken": number}`` when it has dealt with one, and gets the next.

=============  =====================================================  =================================================
do             with                                                   ok
=============  =====================================================  =================================================
publish        topic or group; text or base64; content_type, ttl,     id, expires
               receipts
subscribe      topic or group; after                                  (deliveries)
unsubscribe    topic or group                                         topic
bring          bundle (base64); accept_unsigned                       id, topic, new
name           whom, name                                             the key of the device
block          whom                                                   the key of the device
unblock        whom                                                   the key of the device
peers                                                                 a list
status                                                                an object
log                                                                   a list
receipts       id                                                     a number
stop                                                                  (the node ends)
=============  =====================================================  =================================================

A ``group`` is an invitation. Contents are ``text`` where they are text, and otherwise ``base64``.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from base64 import b64decode, b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hunet.model import ConfigurationError, HunetError, OutputError, did_you_mean
from hunet.node.bundles import read_bundle
from hunet.node.deliveries import Delivery
from hunet.node.gateway import Gateway
from hunet.node.node import DAY, Node
from hunet.node.publication import Group
from hunet.node.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_LONGEST_LINE = 4 << 20
_LONGEST_PATH = 100
"""What the kernel takes for the name of a socket, and a little less."""


class Control:
    """The server's side: ``async with Node(...) as node, Control(node) as control: await control.stopped()``."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._path = node.folder / "socket"
        self._stop = asyncio.Event()
        self._clients = Tasks()

    async def __aenter__(self) -> Control:
        if len(os.fsencode(self._path)) > _LONGEST_PATH:
            raise ConfigurationError(
                f"{self._path}: the path is too long for a socket; take a folder nearer to the root"
            )
        self._path.unlink(missing_ok=True)  # of a node that was killed: the folder is locked, so it is ours
        try:
            listener = socket.socket(socket.AF_UNIX)
            before = os.umask(0o177)
            try:
                listener.bind(str(self._path))
            finally:
                os.umask(before)
            self._server = await asyncio.start_unix_server(self._accept, sock=listener, limit=_LONGEST_LINE)
        except OSError as error:
            raise OutputError(f"{self._path}: cannot be opened: {error.strerror}") from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._path.unlink(missing_ok=True)
        await self._clients.close(self._server)

    async def stopped(self) -> None:
        """Wait until a client says stop."""
        await self._stop.wait()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.serve(writer, self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                if not await self._answer(line, reader, writer):
                    break
        except (ConnectionError, asyncio.CancelledError, ValueError):  # ValueError: a line beyond the limit
            pass
        finally:
            writer.close()

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; whether the client may ask for more."""
        try:
            asked = json.loads(line)
            if not isinstance(asked, dict):
                raise ConfigurationError("a request is a JSON object")
            if asked.get("do") == "subscribe":
                await self._follow(asked, reader, writer)
                return False
            await _write(writer, {"ok": await self._do(asked)})
        except HunetError as error:
            await _write(writer, {"error": str(error)})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            await _write(writer, {"error": f"a request that cannot be read: {type(error).__name__} {error}"})
        return True

    async def _do(self, asked: dict[str, Any]) -> Any:
        node, what = self._node, asked.get("do")
        if what == "publish":
            content: str | bytes = b64decode(asked["base64"]) if "base64" in asked else str(asked["text"])
            publication = await node.publish(
                _topic(asked),
                content,
                ttl=float(asked.get("ttl") or DAY),
                receipts=bool(asked.get("receipts")),
                content_type=asked.get("content_type"),
            )
            return {"id": publication.id, "expires": publication.expires}
        if what == "unsubscribe":
            topic = _topic(asked)
            await node.unsubscribe(topic)
            return topic.name if isinstance(topic, Group) else topic
        if what == "bring":
            gateway = Gateway(node, bool(asked.get("accept_unsigned")))
            publication, new = await gateway.take(read_bundle(b64decode(asked["bundle"])))
            return {"id": publication.id, "topic": publication.topic, "new": new}
        if what == "block":
            return await node.block(str(asked["whom"]))
        if what == "stop":
            self._stop.set()
            return None
        simple: dict[Any, Callable[[], Any]] = {
            "peers": node.peers,
            "status": node.status,
            "log": lambda: list(node.log()),
            "receipts": lambda: node.receipts(str(asked["id"])),
            "name": lambda: node.name(str(asked["whom"]), str(asked["name"])),
            "unblock": lambda: node.unblock(str(asked["whom"])),
        }
        if what not in simple:
            known = [*simple, "publish", "subscribe", "unsubscribe", "bring", "block", "stop"]
            raise ConfigurationError(f"nothing that a node does: '{what}'; {did_you_mean(str(what), known)}")
        return simple[what]()

    async def _follow(self, asked: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subscription = self._node.subscribe(_topic(asked), after=int(asked.get("after") or 0))
        gone = asyncio.ensure_future(reader.readline())
        try:
            await _write(writer, {"ok": subscription.topic})
            while True:
                coming = asyncio.ensure_future(anext(subscription))
                await asyncio.wait({coming, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():  # the client says something though it has nothing to say: it has gone
                    coming.cancel()
                    return
                try:
                    delivery = coming.result()
                except StopAsyncIteration:
                    return
                await _write(
                    writer, {"delivery": plain_delivery(delivery) | {"name": self._node.book.call(delivery.author)}}
                )
                answer = await gone
                if not answer or json.loads(answer).get("taken") != delivery.number:
                    return
                subscription.taken()
                gone = asyncio.ensure_future(reader.readline())
        finally:
            gone.cancel()
            subscription.close()


def plain_delivery(delivery: Delivery) -> dict[str, Any]:
    """A delivery as JSON can hold it."""
    about = {
        "number": delivery.number,
        "id": delivery.id,
        "topic": delivery.topic,
        "author": delivery.author,
        "created": delivery.created,
        "delivered": delivery.delivered,
        "hops": delivery.hops,
        "content_type": delivery.content_type,
    }
    with suppress(UnicodeDecodeError):
        if delivery.content_type.startswith("text/"):
            return about | {"text": delivery.content.decode()}
    return about | {"base64": b64encode(delivery.content).decode()}


def _topic(asked: dict[str, Any]) -> str | Group:
    return Group.from_invitation(asked["group"]) if asked.get("group") else str(asked["topic"])


async def _write(writer: asyncio.StreamWriter, said: Any) -> None:
    writer.write(json.dumps(said).encode() + b"\n")
    await writer.drain()
