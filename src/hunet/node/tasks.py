"""What a part of a node does at the same time: its tasks, and the connections that they serve.

A connection that was accepted ends with the task that serves it. That takes care: a task that is cancelled before its
first step runs none of its code, and a server may hand over one more connection after it was closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial

__all__ = ["Tasks"]

_log = logging.getLogger(__name__)


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

    async def close(self) -> None:
        """End all of them, and let no connection in any more."""
        self._closed = True
        while self._tasks:  # one of them may just have begun another
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("a mistake of ours", exc_info=task.exception())


def _hang_up(writer: asyncio.StreamWriter, _: asyncio.Task[None]) -> None:
    if not writer.is_closing():
        writer.transport.abort()
