"""A connection ends with the task that serves it, whatever becomes of that."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import warnings

import pytest

from hunet.node.tasks import Tasks


async def opened() -> tuple[asyncio.StreamWriter, socket.socket]:
    """A connection as a server gets it, and its other end."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    return (await asyncio.open_connection(sock=ours))[1], theirs


async def wait() -> None:
    await asyncio.Event().wait()


def test_a_task_that_never_began_leaves_no_connection() -> None:
    async def scene() -> None:
        tasks = Tasks()
        writer, there = await opened()
        tasks.serve(writer, wait())
        assert len(tasks) == 1
        await tasks.close()
        assert writer.is_closing()
        assert not len(tasks)
        with there:
            assert await asyncio.to_thread(there.recv, 1) == b""

    asyncio.run(scene())


def test_nobody_is_let_in_any_more() -> None:
    async def scene() -> None:
        tasks = Tasks()
        await tasks.close()
        writer, there = await opened()
        tasks.serve(writer, wait())
        assert writer.is_closing()
        assert not len(tasks)
        with there:
            assert await asyncio.to_thread(there.recv, 1) == b""

    asyncio.run(scene())


@pytest.mark.parametrize("turns", range(6))
def test_who_comes_in_the_last_moment_is_hung_up_on(turns: int) -> None:
    """However far the event loop has come with a connection when its server closes, nobody forgets it."""

    async def scene() -> None:
        tasks = Tasks()
        server = await asyncio.start_server(lambda _, writer: tasks.serve(writer, wait()), "127.0.0.1", 0)
        socket.create_connection(server.sockets[0].getsockname()).close()
        for _ in range(turns):
            await asyncio.sleep(0)
        await tasks.close(server)

    with warnings.catch_warnings(record=True) as forgotten:
        warnings.simplefilter("always")
        asyncio.run(scene())
        gc.collect()
    assert not [str(one.message) for one in forgotten if issubclass(one.category, ResourceWarning)]


def test_work_that_fails_is_told_and_ends_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ZeroDivisionError("so it is")

    async def scene() -> None:
        tasks = Tasks()
        writer, there = await opened()
        tasks.serve(writer, fail())
        with there:
            assert await asyncio.to_thread(there.recv, 1) == b""
        await tasks.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(scene())
    assert "so it is" in caplog.text


def test_what_was_said_last_still_goes() -> None:
    async def scene() -> None:
        tasks = Tasks()
        writer, there = await opened()

        async def say() -> None:
            writer.write(b"bye")
            writer.close()

        tasks.serve(writer, say())
        with there:
            assert await asyncio.to_thread(there.recv, 9) == b"bye"
        await tasks.close()

    asyncio.run(scene())
