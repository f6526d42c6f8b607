"""One connection to another device: encrypted, both ends sure of each other, whole frames of limited size.

The handshake is Noise XX (Noise_XX_25519_ChaChaPoly_SHA256, section 7.5 of the Noise specification, revision 34):

    -> e
    <- e, ee, s, es    with the responder's proof
    -> s, se           with the initiator's proof

A proof is the device's Ed25519 key and its signature of the X25519 key that this handshake uses, so whoever can
finish the handshake owns the name. Someone who only listens learns neither name; someone who dials learns ours, which
is why neighbours that are blocked are refused only after the handshake.

On the wire everything is a Noise message with its length before it (two bytes). A frame is its own length (four
bytes) and its content, cut into Noise messages that are full but for the last. Its length is checked against the limit
before anything of it is kept, so a session never holds more than one frame of the other end's making.

Everything that the other end does wrong, also going away, is a :class:`PeerFault`; after one, the session is over.
"""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hunet.model import PeerError
from hunet.node.identity import proven_device
from hunet.node.noise import LONGEST, HandshakeState, NoiseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunet.node.identity import Identity

_PROLOGUE = b"hunet session 1"
_CHUNK = LONGEST - 16  # what a Noise message holds beside its tag
_LENGTH = struct.Struct(">H")
_FRAME_LENGTH = struct.Struct(">I")


class PeerFault(PeerError):  # noqa: N818 - whose it is says more than "error"
    """The other end broke the rules, or is gone; ``reason`` is a few words to count it under.

    The session's own reasons are "closed" (between frames, as it should be), "cut off" (in the middle, or by an
    error), "silent" (nothing came), "stalled" (nothing is taken), "malformed", "oversized", "slow handshake" and
    "not authenticated". Others may raise it with their own.
    """

    GONE = frozenset({"closed", "cut off", "silent", "stalled", "not linked", "no room"})
    """Reasons that are nobody's fault: people walk away."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def hostile(self) -> bool:
        """Whether no honest device does this."""
        return self.reason not in self.GONE


class SessionLimits(msgspec.Struct, frozen=True):
    """What a session puts up with."""

    frame_bytes: int = 4 << 20
    handshake_seconds: float = 10.0
    silence_seconds: float = 30.0
    """How long one Noise message may take to come, or to be taken, before the other end counts as gone."""


_LIMITS = SessionLimits()


class Session:
    """An authenticated connection; :func:`open_session` makes it.

    One task may receive at a time; any number may send.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        noise: HandshakeState,
        device: str,
        initiator: bool,
        limits: SessionLimits,
    ) -> None:
        self._reader, self._writer, self._limits = reader, writer, limits
        self._outgoing, self._incoming = noise.split()
        self._sending = asyncio.Lock()
        self.device = device
        """The name of the device at the other end, proven."""
        self.initiator = initiator
        """Whether this end dialled."""
        self.id: bytes = noise.hash
        """32 bytes that only the two ends know, the same at both."""

    def __repr__(self) -> str:
        return f"Session({self.device})"

    async def send(self, frame: bytes) -> None:
        """Sends a frame; returns when the connection has room for more, so whoever awaits it is slowed down as needed.

        Frames go out whole and in the order of the calls. If it is cancelled half-way the session is over.
        """
        if len(frame) > self._limits.frame_bytes:
            raise ValueError(f"a frame of {len(frame)} bytes; the limit is {self._limits.frame_bytes}")
        framed = memoryview(_FRAME_LENGTH.pack(len(frame)) + frame)
        async with self._sending:
            try:
                for start in range(0, len(framed), _CHUNK):
                    if self._writer.is_closing():  # asyncio would only complain in its log
                        raise PeerFault("cut off")
                    message = self._outgoing.encrypt(bytes(framed[start : start + _CHUNK]))
                    self._writer.write(_LENGTH.pack(len(message)) + message)
                    async with asyncio.timeout(self._limits.silence_seconds):
                        await self._writer.drain()
            except TimeoutError:
                self.abort()
                raise PeerFault("stalled") from None
            except OSError:
                self.abort()
                raise PeerFault("cut off") from None
            except asyncio.CancelledError:
                self.abort()
                raise

    async def receive(self) -> bytes:
        """The next frame; waits for it, but not longer than the limits say."""
        try:
            first = await self._message("closed")
            if len(first) < _FRAME_LENGTH.size:
                raise PeerFault("malformed")
            (length,) = _FRAME_LENGTH.unpack_from(first)
            if length > self._limits.frame_bytes:
                raise PeerFault("oversized")
            frame = bytearray(first[_FRAME_LENGTH.size :])
            left = length - len(frame)
            full = len(first) == _CHUNK
            while left > 0 and full:
                chunk = await self._message("cut off")
                frame += chunk
                left -= len(chunk)
                full = len(chunk) == _CHUNK
            if left:  # more than was announced, or a chunk that is short though it is not the last
                raise PeerFault("malformed")
        except PeerFault:
            self.abort()
            raise
        return bytes(frame)

    async def _message(self, at_the_end: str) -> bytes:
        message = await _read_message(self._reader, self._limits.silence_seconds, at_the_end)
        try:
            return self._incoming.decrypt(message)
        except NoiseError:
            raise PeerFault("malformed") from None

    async def close(self) -> None:
        """Ends the session; what was sent before still goes out, if the other end takes it soon."""
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()
        self.abort()

    def abort(self) -> None:
        """Ends the session at once."""
        self._writer.transport.abort()


async def open_session(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    identity: Identity,
    initiator: bool,
    limits: SessionLimits = _LIMITS,
    spoke: Callable[[], None] | None = None,
) -> Session:
    """Makes a fresh connection a session, or raises :class:`PeerFault` and ends the connection.

    ``spoke`` is called when who dialled has said something.
    """
    try:
        async with asyncio.timeout(limits.handshake_seconds):
            return await _handshake(reader, writer, identity, initiator, limits, spoke)
    except TimeoutError:
        writer.transport.abort()
        raise PeerFault("slow handshake") from None
    except OSError:
        writer.transport.abort()
        raise PeerFault("cut off") from None
    except BaseException:
        writer.transport.abort()
        raise


async def _handshake(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    identity: Identity,
    initiator: bool,
    limits: SessionLimits,
    spoke: Callable[[], None] | None,
) -> Session:
    # Nothing is computed for somebody who has not said anything.
    first = None if initiator else await _read_message(reader, None, "cut off", longest=256)
    if spoke is not None:
        spoke()
    noise = HandshakeState("XX", initiator, identity.exchange_key, prologue=_PROLOGUE)

    async def say(payload: bytes) -> None:
        try:
            message = noise.write_message(payload)
        except NoiseError:
            raise PeerFault("malformed") from None
        writer.write(_LENGTH.pack(len(message)) + message)
        await writer.drain()

    async def hear(message: bytes | None = None) -> bytes:
        if message is None:
            message = await _read_message(reader, None, "cut off", longest=256)
        try:
            return noise.read_message(message)
        except NoiseError:
            raise PeerFault("malformed") from None

    if initiator:
        await say(b"")
        claim = await hear()
        device = _proven(claim, noise.remote)
        await say(identity.proof)
    else:
        await hear(first)
        await say(identity.proof)
        claim = await hear()
        device = _proven(claim, noise.remote)
    return Session(reader, writer, noise, device, initiator, limits)


def _proven(claim: bytes, exchange_public_key: bytes) -> str:
    device = proven_device(claim, exchange_public_key)
    if device is None:
        raise PeerFault("not authenticated")
    return device


async def _read_message(
    reader: asyncio.StreamReader, seconds: float | None, at_the_end: str, longest: int = LONGEST
) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            try:
                head = await reader.readexactly(_LENGTH.size)
            except asyncio.IncompleteReadError as error:
                raise PeerFault("cut off" if error.partial else at_the_end) from None
            (length,) = _LENGTH.unpack(head)
            if length > longest:
                raise PeerFault("oversized")
            return await reader.readexactly(length)
    except TimeoutError:
        raise PeerFault("silent") from None
    except (asyncio.IncompleteReadError, OSError):
        raise PeerFault("cut off") from None
