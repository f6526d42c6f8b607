"""Connections that others have opened, and the tasks that serve them.

A connection ends with its task. That takes care: a task that is cancelled before its first step runs none of its code,
and a server may hand over one more connection after it was closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

__all__ = ["Connections"]

_log = logging.getLogger(__name__)


class Connections:
    """What a server has accepted, until it is closed."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._tasks)

    def serve(self, writer: asyncio.StreamWriter, work: Coroutine[None, None, None]) -> None:
        """Let a task do this work; when it is over, whatever the reason, so is the connection."""

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not writer.is_closing():
                writer.transport.abort()
            if not task.cancelled() and task.exception() is not None:
                _log.error("a mistake of ours", exc_info=task.exception())

        if self._closed:
            work.close()
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)

    async def close(self) -> None:
        """End all of them, and take no more."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
