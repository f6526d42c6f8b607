"""Noise: the published vectors of both patterns, and another implementation at the other end."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from noise.connection import Keypair, NoiseConnection

from hunet.node.noise import HandshakeState, NoiseError

INITIATOR, RESPONDER = bytes(range(32)), bytes(range(1, 33))
EPHEMERALS = bytes(range(0x20, 0x40)), bytes(range(0x41, 0x61))
AFTER = (b"yellowsubmarine", b"submarineyellow")
# From the vectors of the Go implementation (github.com/flynn/noise, vectors.txt), which others test with as well:
# pattern, prologue, payloads of the handshake, its messages, the transport messages after it.
VECTORS: list[tuple[Any, bytes, list[bytes], list[str], list[str]]] = [
    (
        "XX",
        b"",
        [b"", b"", b""],
        [
            "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254",
            "64b101b1d0be5a8704bd078f9895001fc03e8e9f9522f188dd128d9846d484663414af878d3e46a2f58911a816d6e834"
            "6d4ea17a6f2a0bb4ef4ed56c133cff4560a34e36ea82109f26cf2e5a5caf992b608d55c747f615e5a3425a7a19eefb8f",
            "87f864c11ba449f46a0a4f4e2eacbb7b0457784f4fca1937f572c93603e9c4d97e5ea11b16f3968710b23a3be3202dc1"
            "b5e1ce3c963347491e74f5c0768a9b42",
        ],
        [
            "a52ef02ba60e12696d1d6b9ef4245c88fca757b6134ad6e76b56e310a6adf6",
            "2445aa438ebd649281c636cc7269ca82f1d9023d72520943aeabf909cdf521",
        ],
    ),
    (
        "XX",
        b"",
        [b"test_msg_0", b"test_msg_1", b"test_msg_2"],
        [
            "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254746573745f6d73675f30",
            "64b101b1d0be5a8704bd078f9895001fc03e8e9f9522f188dd128d9846d484663414af878d3e46a2f58911a816d6e834"
            "6d4ea17a6f2a0bb4ef4ed56c133cff4572e7a2ba5123ac30618b3d205f5c2d17f50cbca216483ac56bcc78e33bf52030"
            "3278db641e5e731b2e3a",
            "87f864c11ba449f46a0a4f4e2eacbb7b0457784f4fca1937f572c93603e9c4d9f27e318e43ba630594c4d08eeb3b36d9"
            "7c7377a2f4f9144b2f0c8095ad92140505b2ab53eff244b14138",
        ],
        [
            "a52ef02ba60e12696d1d6b9ef4245c88fca757b6134ad6e76b56e310a6adf6",
            "2445aa438ebd649281c636cc7269ca82f1d9023d72520943aeabf909cdf521",
        ],
    ),
    (
        "XX",
        b"notsecret",
        [b"", b"", b""],
        [
            "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254",
            "64b101b1d0be5a8704bd078f9895001fc03e8e9f9522f188dd128d9846d484663414af878d3e46a2f58911a816d6e834"
            "6d4ea17a6f2a0bb4ef4ed56c133cff4588f043d1e49a3289b1beeab8f96b0551a48cddf9f38b1a12e46c6908644198f3",
            "87f864c11ba449f46a0a4f4e2eacbb7b0457784f4fca1937f572c93603e9c4d95a04fa1f1c41fb3f00d496f242c1e44c"
            "e5b749b3d54bf74cea2dad086d601fb6",
        ],
        [
            "a52ef02ba60e12696d1d6b9ef4245c88fca757b6134ad6e76b56e310a6adf6",
            "2445aa438ebd649281c636cc7269ca82f1d9023d72520943aeabf909cdf521",
        ],
    ),
    (
        "X",
        b"",
        [b""],
        [
            "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd1662548cccfba3094925ef50f41bb45d6e6993"
            "6ad15fcba0c3479a46afb577d3459497de729f4d8d615d5886e52f4f888dd49490ed46957206fa937490058feca88e4c",
        ],
        [
            "2e04749040fde470ab93dda9ca2d7dc69896d0c564d0898755a09830735187",
            "11ca4c30bd3b563c23f5a5ae83844d038b1ae8ac7ed4e7e788ad9cdfb56c39",
        ],
    ),
]


def key(private: bytes) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(private)


def public(private: bytes) -> bytes:
    return key(private).public_key().public_bytes_raw()


def ends(pattern: Any, prologue: bytes = b"") -> tuple[HandshakeState, HandshakeState]:
    return (
        HandshakeState(
            pattern,
            True,
            key(INITIATOR),
            remote=public(RESPONDER) if pattern == "X" else None,
            prologue=prologue,
            ephemeral=key(EPHEMERALS[0]),
        ),
        HandshakeState(pattern, False, key(RESPONDER), prologue=prologue, ephemeral=key(EPHEMERALS[1])),
    )


@pytest.mark.parametrize(("pattern", "prologue", "payloads", "messages", "transport"), VECTORS)
def test_published_vectors(
    pattern: Any, prologue: bytes, payloads: list[bytes], messages: list[str], transport: list[str]
) -> None:
    sender, receiver = ends(pattern, prologue)
    for payload, message in zip(payloads, messages, strict=True):
        assert not sender.finished
        assert sender.write_message(payload).hex() == message
        assert receiver.read_message(bytes.fromhex(message)) == payload
        sender, receiver = receiver, sender
    assert sender.finished
    assert receiver.finished
    assert sender.hash == receiver.hash
    assert {sender.remote, receiver.remote} == {public(INITIATOR), public(RESPONDER)}
    initiator, responder = (sender, receiver) if sender._initiator else (receiver, sender)
    (send, receive), (reply, hear) = initiator.split(), responder.split()
    first, second = (bytes.fromhex(text) for text in transport)
    assert send.encrypt(AFTER[0]) == first
    assert hear.decrypt(first) == AFTER[0]
    assert reply.encrypt(AFTER[1]) == second
    assert receive.decrypt(second) == AFTER[1]


@pytest.mark.parametrize("initiator", [True, False])
def test_another_implementation_is_understood(initiator: bool) -> None:
    ours = HandshakeState("XX", initiator, key(INITIATOR), prologue=b"p")
    theirs = NoiseConnection.from_name(b"Noise_XX_25519_ChaChaPoly_SHA256")
    theirs.set_prologue(b"p")
    theirs.set_keypair_from_private_bytes(Keypair.STATIC, RESPONDER)
    (theirs.set_as_responder if initiator else theirs.set_as_initiator)()
    theirs.start_handshake()
    for turn in range(3):
        payload = b"payload %d" % turn
        if (turn % 2 == 0) == initiator:
            assert theirs.read_message(ours.write_message(payload)) == payload
        else:
            assert ours.read_message(bytes(theirs.write_message(payload))) == payload
    send, receive = ours.split()
    for text in (b"one", b"", b"x" * 60_000):
        assert theirs.decrypt(send.encrypt(text)) == text
        assert receive.decrypt(theirs.encrypt(text)) == text
    assert theirs.get_handshake_hash() == ours.hash
    assert ours.remote == public(RESPONDER)


@given(st.integers(0, 105), st.integers(1, 255))
def test_a_message_with_a_changed_byte_is_refused(place: int, change: int) -> None:
    sender, receiver = ends("X")
    message = bytearray(sender.write_message(b"0123456789"))
    message[place] ^= change
    with pytest.raises(NoiseError):
        receiver.read_message(bytes(message))


@given(st.integers(0, 105))
def test_a_message_that_is_cut_is_refused(length: int) -> None:
    sender, receiver = ends("X")
    with pytest.raises(NoiseError):
        receiver.read_message(sender.write_message(b"0123456789")[:length])


def test_a_worthless_key_is_refused() -> None:
    with pytest.raises(NoiseError, match="worthless"):
        HandshakeState("X", True, key(INITIATOR), remote=bytes(32)).write_message(b"")


def test_the_prologue_is_part_of_it() -> None:
    sender, receiver = ends("X", b"one")[0], ends("X", b"other")[1]
    with pytest.raises(NoiseError):
        receiver.read_message(sender.write_message(b""))
