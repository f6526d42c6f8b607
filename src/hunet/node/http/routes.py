"""A table of routes: what is done for which request, how a request is read, and the OpenAPI document of it all.

The document is written from the table by which requests are dispatched, and from the records that they are read into.
So what it says is what happens.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from aiohttp import web

from hunet.node.http.guard import Refusal
from hunet.node.http.records import EVENTS, Problem
from hunet.node.publication import PublicationLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_BODY = 2 * PublicationLimits().content_bytes + (8 << 10)
_BODY_SECONDS = 30.0


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
    waits: bool = False
    """Whether the answer may take long because there is nothing to tell yet."""
    other: str = ""


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


async def read(route: Route, request: web.Request) -> Asked:
    """A request with its query and its body; a Refusal if they are not what the route takes."""
    return Asked(request, {query.name: _number(query, request) for query in route.queries}, await _body(route, request))


async def _body(route: Route, request: web.Request) -> Any:
    if route.takes is None:
        return None
    if request.content_type != "application/json":
        raise Refusal(415, "the body is to be JSON, with Content-Type: application/json")
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            data = await request.read()
        return msgspec.json.decode(data, type=route.takes)
    except web.HTTPRequestEntityTooLarge:
        longest = PublicationLimits().content_bytes
        raise Refusal(413, f"too long; the content of a publication has at most {longest} bytes") from None
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


def decoded(base64: str) -> bytes:
    """What a field in Base64 stands for."""
    try:
        return b64decode(base64, validate=True)
    except ValueError:
        raise Refusal(400, "base64 is not Base64") from None


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these routes."""
    kinds: list[Any] = [Problem, *EVENTS.values()]
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
            answer["x-events"] = {name: refs[kind] for name, kind in EVENTS.items()}
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
