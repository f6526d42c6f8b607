"""What a part of a node does at the same time: its tasks, and the connections that they serve.

A connection that was accepted ends with the task that serves it. That takes care: a task that is cancelled before its
first step runs none of its code, and a server that is closed leaves a connection that has just come in, and is not
handed over yet, to the garbage collector.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from functools import partial

_log = logging.getLogger(__name__)

_LOOK_EVERY = 0.02
_TURNS_TO_COME_IN = 3
"""How often an event loop turns from the arrival of a connection to the moment when its server hands it over."""


async def note_stalls(stalls: list[tuple[float, float]]) -> None:
    """Note when this event loop stood still, from and to, by the monotonic clock: the machine had no time for it."""
    while True:
        due = time.monotonic() + _LOOK_EVERY
        await asyncio.sleep(_LOOK_EVERY)
        if (now := time.monotonic()) > due + _LOOK_EVERY / 2:
            stalls.append((due, now))


class Tasks:
    """Tasks that are under way, until all of them are ended."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Let a task do this work; a mistake in it is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def serve(self, writer: asyncio.StreamWriter, work: Coroutine[None, None, None]) -> None:
        """The same for a connection, which ends when the work does, whatever the reason."""
        if self._closed:
            work.close()
            writer.transport.abort()
        else:
            self.start(work).add_done_callback(partial(_hang_up, writer))

    async def close(self, server: asyncio.Server | None = None) -> None:
        """End all of them, and the server that hands connections over, if there is one."""
        self._closed = True
        if server is not None:
            for listening in server.sockets:
                asyncio.get_running_loop().remove_reader(listening.fileno())
            for _ in range(_TURNS_TO_COME_IN):  # a server that closes at once forgets whom it is about to let in
                await asyncio.sleep(0)
            server.close()
        while self._tasks:  # one of them may just have begun another
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("internal error in a background task", exc_info=task.exception())


def _hang_up(writer: asyncio.StreamWriter, _: asyncio.Task[None]) -> None:
    if not writer.is_closing():
        writer.transport.abort()
