"""A connection ends with the task that serves it, whatever becomes of that."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from hunet.node.connections import Connections


async def opened() -> tuple[asyncio.StreamWriter, socket.socket]:
    """A connection as a server gets it, and its other end."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    return (await asyncio.open_connection(sock=ours))[1], theirs


async def wait() -> None:
    await asyncio.Event().wait()


def test_a_task_that_never_began_leaves_no_connection() -> None:
    async def scene() -> None:
        connections = Connections()
        writer, there = await opened()
        connections.serve(writer, wait())
        assert len(connections) == 1
        await connections.close()
        assert writer.is_closing()
        assert not len(connections)
        with there:
            assert await asyncio.to_thread(there.recv, 1) == b""

    asyncio.run(scene())


def test_nobody_is_let_in_any_more() -> None:
    async def scene() -> None:
        connections = Connections()
        await connections.close()
        writer, there = await opened()
        connections.serve(writer, wait())
        assert writer.is_closing()
        assert not len(connections)
        with there:
            assert await asyncio.to_thread(there.recv, 1) == b""

    asyncio.run(scene())


def test_work_that_fails_is_told_and_ends_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ZeroDivisionError("so it is")

    async def scene() -> None:
        connections = Connections()
        writer, there = await opened()
        connections.serve(writer, fail())
        with there:
            assert await asyncio.to_thread(there.recv, 1) == b""
        await connections.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(scene())
    assert "so it is" in caplog.text


def test_what_was_said_last_still_goes() -> None:
    async def scene() -> None:
        connections = Connections()
        writer, there = await opened()

        async def say() -> None:
            writer.write(b"bye")
            writer.close()

        connections.serve(writer, say())
        with there:
            assert await asyncio.to_thread(there.recv, 9) == b"bye"
        await connections.close()

    asyncio.run(scene())
