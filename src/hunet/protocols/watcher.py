"""Watching a protocol: every event that it is shown, and every action that it takes.

A watched object passes each call on to the real one. Before, it tells a function the verb and the arguments by name;
after, if asked to, another function the verb and the answer. Event logs, emulated devices and tests are such watchers.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, cast

from hunet.protocols.contract import Driver, Protocol

EVENTS = (
    "start",
    "phase",
    "subscribe",
    "unsubscribe",
    "publish",
    "link_up",
    "link_down",
    "receive",
    "receive_out_of_band",
    "poll",
    "sent",
    "settled",
    "timer",
    "surrender",
)
"""The methods of a protocol that change it; the others are questions."""
ACTIONS = tuple(name for name, thing in vars(Driver).items() if callable(thing) and not name.startswith("_"))
"""The methods of a driver."""

Before = Callable[[str, dict[str, Any]], None]
After = Callable[[str, Any], None]


def watch_protocol(protocol: Protocol, before: Before, after: After | None = None) -> Protocol:
    """The protocol, with a function that is told of each event before it, and one of each answer after it."""
    return cast("Protocol", _WatchedProtocol(protocol, before, after))


def watch_driver(driver: Driver, before: Before) -> Driver:
    """The driver, with a function that is told of each action before it."""
    return cast("Driver", _WatchedDriver(driver, before))


class _Watched:
    def __init__(self, inner: Any, before: Before, after: After | None = None) -> None:
        self._inner, self._before, self._after = inner, before, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._inner.__class__


def _passing_on(contract: type, verb: str) -> Callable[..., Any]:
    names = tuple(signature(getattr(contract, verb)).parameters)[1:]

    def pass_on(self: _Watched, *arguments: Any, **named: Any) -> Any:
        given = dict.fromkeys(names) | dict(zip(names, arguments, strict=False)) | named
        self._before(verb, given)
        answer = getattr(self._inner, verb)(*given.values())
        if self._after:
            self._after(verb, answer)
        return answer

    return pass_on


def _asking(question: str) -> Callable[..., Any]:
    def ask(self: _Watched, *arguments: Any) -> Any:
        return getattr(self._inner, question)(*arguments)

    return ask


def _looking_up(name: str) -> property:
    return property(lambda self: getattr(self._inner, name))


# It is a protocol itself, as a compiled engine asks for: so what a protocol has beside events is passed on by name.
_WatchedProtocol = type(
    "_WatchedProtocol",
    (_Watched, Protocol),
    {name: _looking_up(name) for name in ("Parameters", "exchanges_once", "unnamed", "prepare")}
    | {question: _asking(question) for question in ("check", "surrender", "circle", "demand", "observations")}
    | {verb: _passing_on(Protocol, verb) for verb in EVENTS},
)
_WatchedDriver = type("_WatchedDriver", (_Watched,), {verb: _passing_on(Driver, verb) for verb in ACTIONS})
