"""What a node does for its owner: the commands, programs, and the web page, all by the same requests.

The API describes itself at ``/openapi.json``; the page is at ``/``. Requests reach it by a server (``server``).
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from hunet.node.bundles import read_bundle
from hunet.node.deliveries import Delivery
from hunet.node.gateway import Gateway
from hunet.node.http import records
from hunet.node.http.events import EventFeed
from hunet.node.http.guard import Refusal
from hunet.node.http.metrics import CONTENT_TYPE, metrics
from hunet.node.http.people import PeopleApi
from hunet.node.http.routes import Asked, Query, Route, decoded, openapi

if TYPE_CHECKING:
    from hunet.node.deliveries import Subscription
    from hunet.node.node import Node
    from hunet.node.publication import Group

_HEARTBEAT = 15.0
_INLINE = 64 << 10
"""Longer contents come only if one message is asked for."""
_SOME = 20
"""Of those who want a message, so many are named."""
_PAGE = {"/": "index.html"} | {
    f"/{name}": name for name in ("style.css", "elements.js", "node.js", "page.js", "people.js", "icon.svg")
}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Api:
    """The requests that a node answers, and how; ``close`` ends those that wait."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._followed: set[Subscription] = set()
        self.events = EventFeed(node)
        self.routes = self._routes()
        self._stack = ExitStack()
        self._stack.enter_context(node.watched_by(self.events))

    def close(self) -> None:
        """Answer whoever waits, and have nobody wait any more."""
        self._stack.close()
        self.events.close()
        for subscription in list(self._followed):
            subscription.close()

    def _routes(self) -> list[Route]:
        limit = Query("limit", "At most so many.", 100, 1, 1000)
        few = Query("limit", "At most so many.", 50, 1, 200)
        before = Query("before", "Only messages with lower numbers.", 1 << 53, 1, 1 << 53)
        lasting = Query("for", "For so many seconds.", 0, 0, 1 << 53, whole=False)
        until = Query("until", "Until then, in seconds since 1970.", 0, 0, 1 << 53, whole=False)
        since = Query("since", "Only what was not over at this time.", 0, 0, 1 << 53, whole=False)
        return [
            Route("GET", "/status", "How the node fares.", self._status, records.Status),
            Route("GET", "/peers", "Who is in reach now.", self._peers, records.Peers),
            Route("PUT", "/names/{device}", "Call a device by a name.", self._name, records.Device, records.Naming),
            Route("PUT", "/blocked/{device}", "Have nothing more to do with a device.", self._block, records.Device),
            Route("DELETE", "/blocked/{device}", "Take that back.", self._unblock, records.Device),
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
            Route(
                "POST",
                "/bundles",
                "Carry the publication in a bundle; the answer comes when it is on the disk.",
                self._bring,
                records.Brought,
                records.NewBundle,
            ),
            Route("GET", "/subscriptions", "What is followed.", self._subscriptions, records.Subscriptions),
            Route(
                "PUT",
                "/subscriptions/{topic}",
                "Follow a topic: for good, or for some time.",
                self._subscribe,
                records.Subscriptions,
                queries=(lasting, until),
            ),
            Route("DELETE", "/subscriptions/{topic}", "No longer.", self._unsubscribe, records.Subscriptions),
            Route(
                "POST",
                "/deliveries/next",
                "Wait for the next message on a topic; those before it are dealt with.",
                self._next,
                records.Next,
                records.Following,
                waits=True,
            ),
            *PeopleApi(self._node, self._devices).routes(),
            Route("GET", "/carried", "What it carries, for whom.", self._carried, records.CarriedList, None, (limit,)),
            Route("GET", "/community", "Its community and role.", self._community, records.Community),
            Route("GET", "/encounters", "Whom it met.", self._encounters, records.Encounters, queries=(since, limit)),
            Route("GET", "/log", "The log of encounters, as hunet log prints it.", self._log, records.Log),
            Route("GET", "/receipts/{id}", "How many have a publication.", self._receipts, records.Receipts),
            Route(
                "GET",
                "/events",
                "What happens, as server-sent events; Last-Event-ID takes up where one was.",
                self._follow,
                None,
                other="text/event-stream",
                waits=True,
            ),
            Route("GET", "/metrics", "Its counters, for Prometheus.", self._metrics, None, other=CONTENT_TYPE),
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
        return self._devices([self._node.name(asked.word("device"), asked.body.name)])[0]

    async def _block(self, asked: Asked) -> Any:
        return self._devices([await self._node.block(asked.word("device"))])[0]

    async def _unblock(self, asked: Asked) -> Any:
        return self._devices([self._node.unblock(asked.word("device"))])[0]

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
        wanted: records.NewPublication = asked.body
        if (wanted.topic is None) == (wanted.group is None) or (wanted.text is None) == (wanted.base64 is None):
            raise Refusal(400, "give topic or group, and text or base64")
        content: str | bytes = (wanted.text or "") if wanted.base64 is None else decoded(wanted.base64)
        publication = await self._node.publish(
            self._topic(wanted), content, ttl=wanted.ttl, receipts=wanted.receipts, content_type=wanted.content_type
        )
        return records.Published(id=publication.id, topic=publication.topic, expires=publication.expires)

    async def _bring(self, asked: Asked) -> Any:
        gateway = Gateway(self._node, asked.body.accept_unsigned)
        publication, new = await gateway.take(read_bundle(decoded(asked.body.base64)))
        return records.Brought(id=publication.id, topic=publication.topic, new=new)

    async def _subscriptions(self, _: Asked) -> Any:
        return records.Subscriptions(subscriptions=self._node.subscriptions(), endings=self._node.endings())

    async def _subscribe(self, asked: Asked) -> Any:
        topic = asked.word("topic")
        lasting, until = asked.query["for"] or None, asked.query["until"] or None
        self._node.subscribe(topic, lasting=lasting, until=until).close()
        return await self._subscriptions(asked)

    async def _unsubscribe(self, asked: Asked) -> Any:
        await self._node.unsubscribe(asked.word("topic"))
        return await self._subscriptions(asked)

    async def _next(self, asked: Asked) -> Any:
        wanted: records.Following = asked.body
        if (wanted.topic is None) == (wanted.group is None):
            raise Refusal(400, "give topic or group")
        subscription = self._node.listen(self._topic(wanted), wanted.after, wanted.since)
        self._followed.add(subscription)
        try:
            async with asyncio.timeout(wanted.wait):
                found = [self._plain(await anext(subscription), whole=True)]
            while len(found) < wanted.most and (delivery := subscription.at_once()):
                found.append(self._plain(delivery, whole=True))
            return records.Next(message=found[0], more=found[1:], since=subscription.since)
        except (TimeoutError, StopAsyncIteration):
            return records.Next(message=None, more=[], since=subscription.since)
        finally:
            self._followed.discard(subscription)
            subscription.close()

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

    async def _log(self, _: Asked) -> Any:
        return records.Log(log=msgspec.convert(list(self._node.log()), list[records.LogEntry]))

    async def _receipts(self, asked: Asked) -> Any:
        publication = asked.word("id")
        return records.Receipts(id=publication, subscribers=self._node.receipts(publication))

    async def _document(self, _: Asked) -> web.Response:
        document = msgspec.json.encode(openapi(self.routes))
        return web.Response(body=document, content_type="application/openapi+json")

    async def _metrics(self, _: Asked) -> web.Response:
        return web.Response(text=metrics(self._node.status()), content_type=CONTENT_TYPE, charset="utf-8")

    async def _file(self, asked: Asked) -> web.Response:
        name = _PAGE[asked.request.path]
        body = files("hunet.node").joinpath("page", name).read_bytes()
        return web.Response(body=body, content_type=_TYPES[name.rpartition(".")[2]], charset="utf-8")

    async def _follow(self, asked: Asked) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await stream.prepare(asked.request)
        try:
            async for event in self.events.follow(asked.request.headers.get("Last-Event-ID", ""), _HEARTBEAT):
                if event is None:
                    await stream.write(b": still here\n\n")
                else:
                    data = msgspec.json.encode(self._event(event.kind, event.details))
                    await stream.write(
                        b"id: %s\nevent: %s\ndata: %s\n\n" % (str(event.position).encode(), event.kind.encode(), data)
                    )
        except ConnectionError:  # the listener has gone
            pass
        return stream

    def _event(self, kind: str, details: dict[str, Any] | Delivery) -> msgspec.Struct:
        if isinstance(details, Delivery):
            return self._plain(details)
        if kind == "hello":
            return records.Hello(**details)
        if kind == "direct":
            return records.DirectNews(**details)
        if kind == "role":
            return records.RoleNews(**details)
        return records.LinkNews(**details, name=self._node.book.call(details["device"]))

    def _devices(self, devices: list[str]) -> list[records.Device]:
        here = {peer["device"] for peer in self._node.peers()} if devices else ()
        call, own = self._node.book.call, self._node.device
        return [records.Device(device=one, name=call(one), here=one in here, own=one == own) for one in devices]

    def _topic(self, wanted: records.NewPublication | records.Following) -> str | Group:
        return self._node.group(wanted.group) if wanted.group is not None else wanted.topic or ""

    def _delivery(self, asked: Asked) -> Delivery:
        word = asked.word("number")
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 16 else 0
        for delivery in self._node.deliveries(above=number - 1, below=number + 1):
            return delivery
        raise Refusal(404, f"there is no message {word!r}; it may be out of date")

    def _plain(self, delivery: Delivery, whole: bool = False) -> records.Message:
        name = self._node.book.call(delivery.author)
        return records.message_of(delivery, name) if whole else records.message_of(delivery, name, _INLINE)
