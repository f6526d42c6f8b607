"""What a device says of itself to strangers: the short id that changes, and where to open a channel.

An advertisement has 31 bytes, all of which are used: flags (3), and service data (28) under the UUID of hunet, which
are a version, the short id (8) and the number of the L2CAP channel (PSM), which some systems choose themselves.

>>> said = encode("0123456789abcdef", 0x80)
>>> len(said), decode(said)
(31, ('0123456789abcdef', 128))
>>> decode(said[:-1]) is decode(b"") is None
True
"""

from __future__ import annotations

import struct

_SERVICE = bytes.fromhex("7465 6e75 6800 4c8b 9b4a 2f4e 9c1d 6b68")
"""The UUID 686b1d9c-4e2f-4a9b-8b4c-0068756e6574, drawn at random but for its end, in the order of the air."""
_FLAGS = bytes([2, 0x01, 0x06])  # to be found by anybody; no classic Bluetooth
_SERVICE_DATA = 0x21  # with a UUID of 128 bits
_SAID = struct.Struct(">B8sB")
_VERSION = 1
_PREFIX = _FLAGS + bytes([1 + len(_SERVICE) + _SAID.size, _SERVICE_DATA]) + _SERVICE


def encode(short_id: str, psm: int) -> bytes:
    """The advertisement of a device."""
    return _PREFIX + _SAID.pack(_VERSION, bytes.fromhex(short_id), psm)


def decode(data: bytes) -> tuple[str, int] | None:
    """Short id and channel; None if it is anything but an advertisement of hunet."""
    if len(data) != len(_PREFIX) + _SAID.size or not data.startswith(_PREFIX):
        return None
    version, short_id, psm = _SAID.unpack_from(data, len(_PREFIX))
    return (short_id.hex(), psm) if version == _VERSION and psm >= 0x80 else None
