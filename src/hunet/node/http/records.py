"""What the HTTP API takes and gives, as records, and the OpenAPI document that follows from them.

Answers are made as these records and requests are read into them; the document is written from the same records and
from the table of routes by which requests are dispatched. So what it says is what happens.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Sequence

Time = Annotated[float, Meta(description="Seconds since 1970.")]
Name = Annotated[str, Meta(description="The name that the owner gave the device, or the beginning of its key.")]
Key = Annotated[str, Meta(description="The public key of a device, which is its name among devices.")]


class Problem(msgspec.Struct, frozen=True):
    """Why a request was refused."""

    error: str


class Device(msgspec.Struct, frozen=True):
    """Somebody's device, or one's own."""

    device: Key
    name: Name
    here: Annotated[bool, Meta(description="Whether it is in reach now.")]
    own: bool


class Status(msgspec.Struct, frozen=True):
    """How the node fares."""

    device: Key
    address: Annotated[str, Meta(description="Where other devices connect.")]
    protocol: str
    role: str | None
    peers: Annotated[int, Meta(description="How many devices are in reach.", ge=0)]
    subscriptions: list[str]
    held: Annotated[int, Meta(description="Messages that it carries.", ge=0)]
    held_bytes: Annotated[int, Meta(ge=0)]
    waiting: Annotated[int, Meta(description="Deliveries that nobody has taken.", ge=0)]
    disk_bytes: Annotated[int, Meta(ge=0)]
    counters: dict[str, int]


class Peer(msgspec.Struct, frozen=True):
    """A device in reach."""

    device: Key
    name: Name
    since: Time | None
    same_protocol: Annotated[bool, Meta(description="Whether the two understand each other.")]


class Peers(msgspec.Struct, frozen=True):
    """Who is in reach now."""

    peers: list[Peer]


class Message(msgspec.Struct, frozen=True):
    """A message that was delivered here. Contents beyond 64 KiB come only if one message is asked for."""

    number: Annotated[int, Meta(description="Deliveries are numbered in order.", ge=1)]
    id: str
    topic: str
    author: Key
    name: Name
    created: Time
    delivered: Time
    hops: Annotated[int, Meta(description="Transmissions behind it.", ge=0)]
    content_type: str
    size: Annotated[int, Meta(description="Bytes of its content.", ge=0)]
    taken: Annotated[bool, Meta(description="Whether somebody here has dealt with it.")]
    text: Annotated[str, Meta(description="The content, if it is text.")] | None = None
    base64: Annotated[str, Meta(description="The content, if it is anything else.")] | None = None


class Messages(msgspec.Struct, frozen=True):
    """Messages, latest first."""

    messages: list[Message]
    before: Annotated[int, Meta(description="Ask with this number for earlier ones.")] | None


class NewPublication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to publish: on a topic or to a group (an invitation), and a text or anything in Base64."""

    topic: str | None = None
    group: str | None = None
    text: str | None = None
    base64: str | None = None
    content_type: str | None = None
    ttl: Annotated[float, Meta(description="For how many seconds it is carried.", gt=0)] = 86400.0
    receipts: Annotated[bool, Meta(description="Whether subscribers' devices tell that they have it.")] = False


class Published(msgspec.Struct, frozen=True):
    """A publication that is on the disk."""

    id: str
    topic: str
    expires: Time


class Subscriptions(msgspec.Struct, frozen=True):
    """The topics that this device follows."""

    subscriptions: list[str]


class Carried(msgspec.Struct, frozen=True):
    """A message that this device carries, and for whom."""

    id: str
    topic: str
    author: Key
    name: Name
    own: bool
    created: Time
    expires: Time
    size: Annotated[int, Meta(ge=0)]
    wanted_by: Annotated[list[Device], Meta(description="Some of those who want it, as far as the protocol knows.")]
    wanted_by_many: Annotated[int, Meta(description="How many it knows to want it.", ge=0)]
    strength: Annotated[
        float,
        Meta(description="How firmly it counts on meeting others who want it, in the protocol's measure.", ge=0),
    ]
    receipts: Annotated[int, Meta(description="At least so many subscribers have it.", ge=0)]


class CarriedList(msgspec.Struct, frozen=True):
    """What this device carries, latest first."""

    carried: list[Carried]
    held: Annotated[int, Meta(ge=0)]
    held_bytes: Annotated[int, Meta(ge=0)]


class Community(msgspec.Struct, frozen=True):
    """Where this device stands, as its protocol sees it."""

    protocol: str
    role: str | None
    members: Annotated[list[Device], Meta(description="Null in systems without communities.")] | None


class Encounter(msgspec.Struct, frozen=True):
    """A time in which a device was in reach; without an end it still is."""

    device: Key | None
    name: Name
    start: Time
    end: Time | None


class Encounters(msgspec.Struct, frozen=True):
    """Whom this device has met, latest first."""

    encounters: list[Encounter]


class Receipts(msgspec.Struct, frozen=True):
    """How many subscribers are known to have a publication."""

    id: str
    subscribers: Annotated[int, Meta(ge=0)]


class Naming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to call a device."""

    name: str


class Hello(msgspec.Struct, frozen=True):
    """What happened before this has not been told; ask for the present state."""

    last_delivery: int


class LinkNews(msgspec.Struct, frozen=True):
    """A device has come into reach, or has gone."""

    device: Key
    name: Name
    reason: Annotated[str, Meta(description="Why it is gone.")] | None = None


class RoleNews(msgspec.Struct, frozen=True):
    """The device has a new role."""

    role: str


class Query(NamedTuple):
    """A number that may be given in the query of a request."""

    name: str
    says: str
    default: float
    least: float
    most: float
    whole: bool = True


class Route(NamedTuple):
    """What is done for which request."""

    method: str
    path: str
    says: str
    handler: Callable[[Any], Awaitable[Any]]
    gives: type[msgspec.Struct] | None
    """The record that comes back; None if it is something else than JSON, which ``other`` tells."""
    takes: type[msgspec.Struct] | None = None
    queries: tuple[Query, ...] = ()
    status: int = 200
    open: bool = False
    """Whether it needs no token."""
    other: str = ""


_EVENTS: dict[str, type[msgspec.Struct]] = {
    "hello": Hello,
    "delivery": Message,
    "link-up": LinkNews,
    "link-down": LinkNews,
    "role": RoleNews,
}


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these routes."""
    kinds: list[Any] = [Problem, *_EVENTS.values()]
    kinds += [kind for route in routes for kind in (route.gives, route.takes) if kind is not None]
    found, schemas = msgspec.json.schema_components(dict.fromkeys(kinds), ref_template="#/components/schemas/{name}")
    refs = dict(zip(dict.fromkeys(kinds), found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "A hunet node",
            "version": version("hunet"),
            "description": "One device of a human network: publish, subscribe, read, and see who is around.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, refs: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": (route.gives.__doc__ or "") if route.gives else route.says}
    if route.gives is not None:
        answer["content"] = {"application/json": {"schema": refs[route.gives]}}
    else:
        answer["content"] = {route.other: {"schema": {"type": "string"}}}
        if route.other == "text/event-stream":
            answer["x-events"] = {name: refs[kind] for name, kind in _EVENTS.items()}
    refused = {"description": "Refused.", "content": {"application/json": {"schema": refs[Problem]}}}
    operation: dict[str, Any] = {
        "summary": route.says,
        "security": [{}] if route.open else [{"token": []}, {}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", route.path)
        ]
        + [
            {
                "name": query.name,
                "in": "query",
                "description": query.says,
                "schema": {
                    "type": "integer" if query.whole else "number",
                    "minimum": query.least,
                    "maximum": query.most,
                    "default": query.default,
                },
            }
            for query in route.queries
        ],
        "responses": {str(route.status): answer, "default": refused},
    }
    if route.takes is not None:
        body = {"application/json": {"schema": refs[route.takes]}}
        operation["requestBody"] = {"required": True, "content": body}
    return operation
