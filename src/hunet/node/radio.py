"""How connections are made: over IP here, over Bluetooth in ``ble``; discovery says with whom.

A radio gives streams of bytes to and from other devices. What is said on a stream, who it is that speaks, and which of
several streams between two devices is kept, is the business of ``session`` and ``neighbourhood``, the same for all.
"""

from __future__ import annotations

import asyncio
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from hunet.model import ConfigurationError

if TYPE_CHECKING:
    from hunet.node.discovery import Sighting

Accepted = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
"""Who is given the connections that others made; ``peername`` of the writer begins with the address of the host."""


_AT_ONCE, _BACKLOG = 16, 1024
"""Connections that are handed over before others are served; and those that the system takes meanwhile."""


class Radio(ABC):
    """One way to connect: ``await serve(accepted)``, ``await connect(sighting)``, ``await stop()``."""

    name: ClassVar[str]
    """By which sightings name it."""

    @abstractmethod
    async def serve(self, accepted: Accepted) -> None:
        """Begins to take connections; a ConfigurationError if that cannot work here."""

    @abstractmethod
    async def connect(self, sighting: Sighting) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection with a device that was sighted; OSError, TimeoutError or ValueError if there is none."""

    @abstractmethod
    async def stop(self) -> None:
        """Takes no more connections, and ends those that last."""

    @property
    def full(self) -> bool:
        """Whether it can hold no further connection."""
        return False

    def status(self) -> dict[str, Any]:
        """What it costs, for the owner to see."""
        return {}


class Ip(Radio):
    """TCP, over IPv4 and IPv6."""

    name = "ip"

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self.server: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where connections are taken."""
        assert self.server is not None, "not started"
        host, port = self.server.sockets[0].getsockname()[:2]
        return host, port

    async def serve(self, accepted: Accepted) -> None:
        """Listens on one port, for IPv4 and IPv6 if no host is given."""
        host, port = self._host, self._port
        try:
            if not host and socket.has_dualstack_ipv6():
                with suppress(OSError):
                    both = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
                    self.server = await asyncio.start_server(accepted, sock=both, backlog=_AT_ONCE)
            if self.server is None:
                self.server = await asyncio.start_server(accepted, host or "0.0.0.0", port, backlog=_AT_ONCE)
            for each in self.server.sockets:  # asyncio has one number for both
                with socket.socket(fileno=os.dup(each.fileno())) as same:
                    same.listen(_BACKLOG)
        except OSError as error:
            raise ConfigurationError(f"cannot listen on {host or '*'}:{port}: {error.strerror}; take another") from None

    async def connect(self, sighting: Sighting) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TCP connection."""
        return await asyncio.open_connection(sighting.host, sighting.port)

    async def stop(self) -> None:
        """Closes the port, if whoever was given its connections has not done so."""
        if self.server is not None:
            self.server.close()
