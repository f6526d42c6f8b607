"""Watching a protocol: every event that it is shown, and every action that it takes.

A watched object passes each call on to the real one. Before, it tells a function the verb and the arguments by name;
after, if asked to, another function the verb and the answer. Event logs, emulated devices and tests are such watchers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any, NamedTuple, cast

from hunet.protocols.capabilities import OutOfBand, OutOfBandDriver, Settles, Surrenders, Trains
from hunet.protocols.contract import Driver, Protocol


def _verbs(contract: type) -> dict[str, type]:
    return {name: contract for name, thing in vars(contract).items() if callable(thing) and not name.startswith("_")}


EVENTS = {
    verb: contract
    for each in (Protocol, Trains, OutOfBand, Settles, Surrenders)
    for verb, contract in _verbs(each).items()
    if verb != "Parameters"
}
"""The methods of a protocol that change it, and where each is defined; the others are questions."""
ACTIONS = _verbs(Driver) | _verbs(OutOfBandDriver)
"""The methods of a driver."""

Before = Callable[[str, dict[str, Any]], None]
After = Callable[[str, Any], None]


class Logged(NamedTuple):
    """An event that a device's protocol was shown."""

    moment: float
    """On the clock that all devices share: what comes later has a later one."""
    time: float
    """Of the trace."""
    node: int
    what: str
    """The event: one of ``EVENTS``."""
    peer: int
    """-1 where there is none."""
    argument: Any
    """The session of a ``link_up``; the kind of a packet; the room of a ``poll``; the topic, the id, the tag."""


CONDUCTOR = -1
"""Who shows devices each other, and carries what they say."""


class Stall(NamedTuple):
    """The machine had no time for a device, or for the conductor, from and to a moment of the trace."""

    node: int
    begin: float
    end: float


def watch_protocol(
    protocol: Protocol, before: Before, after: After | None = None, *, also: tuple[str, ...] = ()
) -> Protocol:
    """The protocol, with a function that is told of each event before it, and one of each answer after it.

    The watcher is shown what the protocol is shown, and the events ``also`` if the protocol has no use for them.
    """
    kind: Any = protocol.__class__
    return cast("Protocol", _watched_class(kind, also)(protocol, before, after))


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
        method = getattr(self._inner, verb, None)
        answer = method(*given.values()) if method else None
        if self._after:
            self._after(verb, answer)
        return answer

    return pass_on


@cache
def _watched_class(kind: Any, also: tuple[str, ...]) -> type:
    """A protocol itself, as a compiled engine asks for, with the capabilities of its kind."""
    events = {verb: contract for verb, contract in EVENTS.items() if hasattr(kind, verb) or verb in also}
    verbs = {verb: _passing_on(contract, verb) for verb, contract in events.items()}
    return type("_WatchedProtocol", (_Watched, Protocol), verbs | {"Parameters": kind.Parameters})


_WatchedDriver = type("_WatchedDriver", (_Watched,), {verb: _passing_on(at, verb) for verb, at in ACTIONS.items()})
