"""Our bundles against those of pyd3tn, an independent implementation, in an environment and a process of its own.

Both ways: what we write, it reads, and what it writes, we read, with equal bytes for equal fields; and bundles go from
one to the other over MTCP. The environment is made once, from the package index, and kept with pytest's cache.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunet.node.bundle_bytes import Crc
from hunet.node.bundles import NOBODY, Block, Bundle, bundle_age, hop_count, payload, previous_node, read_bundle
from hunet.node.gateway import Gateway, bundle_of
from hunet.node.mtcp import MtcpPort, send_bundles
from hunet.node.node import Node
from tests.machine import needs_package

THEIRS = "pyd3tn==0.15.2"

# Answers one JSON line for each that it gets; MTCP connections are opened and accepted as the lines say.
PROGRAM = """
import json, socket, sys
from pyd3tn.bundle7 import Bundle, CRCType, serialize_bundle7
from pyd3tn.mtcp import MTCPConnection, MTCPSocket

def told(data):
    found = Bundle.parse(data)
    first = found.primary_block
    right = [block.crc_provided == block.calculate_crc() for block in found if block.crc_type != CRCType.NONE]
    return {
        "destination": str(first.destination), "source": str(first.source), "report_to": str(first.report_to),
        "created": first.creation_time[0], "sequence": first.creation_time[1], "lifetime": first.lifetime,
        "flags": int(first.bundle_proc_flags), "crc": int(first.crc_type), "payload": found.payload_block.data.hex(),
        "fragment": [first.fragment_offset, first.total_payload_length],
        "blocks": [[int(b.block_type), b.block_number, int(b.block_proc_flags), int(b.crc_type), b.data.hex()]
                   for b in found.blocks],
        "checksums": all(right), "again": bytes(found).hex(),
    }

listening = socket.create_server(("127.0.0.1", 0))
print(json.dumps(listening.getsockname()[1]), flush=True)
for line in sys.stdin:
    what, given = json.loads(line)
    if what == "read":
        answer = told(bytes.fromhex(given))
    elif what == "write":
        answer = serialize_bundle7(**{**given, "payload": bytes.fromhex(given["payload"]),
            "crc_type_primary": CRCType(given["crc_type_primary"]),
            "crc_type_canonical": CRCType(given["crc_type_canonical"])}).hex()
    elif what == "send":
        with MTCPConnection("127.0.0.1", given["port"], timeout=20) as connection:
            for each in given["bundles"]:
                connection.send_bundle(bytes.fromhex(each))
        answer = True
    elif what == "receive":
        connected, _ = listening.accept()
        with MTCPSocket(connected, timeout=20) as connection:
            answer = [told(connection.recv_bundle()) for _ in range(given)]
    print(json.dumps(answer), flush=True)
"""


class Elsewhere:
    """The other implementation, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._ask: IO[str] = process.stdin
        self._answers: IO[str] = process.stdout
        self.port = self.answer()

    def ask(self, what: str, given: Any) -> None:
        self._ask.write(json.dumps([what, given]) + "\n")
        self._ask.flush()

    def answer(self) -> Any:
        line = self._answers.readline()
        assert line, "the other implementation has stopped: see its traceback"
        return json.loads(line)

    def __call__(self, what: str, given: Any) -> Any:
        self.ask(what, given)
        return self.answer()


def _install(place: Path) -> None:
    """Make the environment beside its final place, which it takes when it is complete."""
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder) / "environment"
        venv.create(made, symlinks=True, with_pip=False)
        needs_package(made, THEIRS)
        if not place.exists():
            made.rename(place)


@pytest.fixture(scope="module")
def elsewhere(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    cache = getattr(pytestconfig, "cache", None)  # None if pytest is told to keep none
    place = (cache.mkdir("bundles") if cache else tmp_path_factory.mktemp("bundles")) / THEIRS
    if not place.exists():
        _install(place)
    with subprocess.Popen(
        [place / "bin" / "python", "-I", "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Elsewhere(process)
        finally:
            process.kill()


def ours(given: dict[str, Any]) -> Bundle:
    """The bundle that we make of what the other is told."""
    crc = Crc(given["crc_type_canonical"])
    blocks: list[Block] = []  # it numbers them as they come, and puts the previous node to the front
    if given["hop_limit"] is not None:
        blocks.append(hop_count(given["hop_limit"], given["hop_count"], len(blocks) + 2, crc))
    if given["previous_node_eid"] is not None:
        blocks.insert(0, previous_node(given["previous_node_eid"], len(blocks) + 2, crc))
    if given["bundle_age"] is not None:
        blocks.append(bundle_age(given["bundle_age"] * 1000, len(blocks) + 2, crc))
    return Bundle(
        given["destination_eid"],
        given["source_eid"],
        created=(given["creation_timestamp"] - 946_684_800) * 1000 if given["creation_timestamp"] else 0,
        lifetime=given["lifetime"] * 1000,
        blocks=(*blocks, payload(bytes.fromhex(given["payload"]), crc)),
        sequence=given["sequence_number"],
        report_to=given["report_to_eid"],
        flags=given["flags"],
        fragment=(given["fragment_offset"], given["total_adu_length"]) if given["flags"] & 1 else None,
        crc=Crc(given["crc_type_primary"]),
    )


SIMPLE: dict[str, Any] = {
    "source_eid": "dtn://ann/",
    "destination_eid": "dtn://hunet/~news",
    "payload": b"hello".hex(),
    "report_to_eid": NOBODY,
    "crc_type_primary": 2,
    "creation_timestamp": 1_800_000_000,
    "sequence_number": 0,
    "lifetime": 3600,
    "flags": 0,
    "fragment_offset": None,
    "total_adu_length": None,
    "hop_limit": None,
    "hop_count": 0,
    "bundle_age": None,
    "previous_node_eid": None,
    "crc_type_canonical": 1,
}
VECTORS: dict[str, dict[str, Any]] = {
    "simple": {},
    "checksum of 16 bits": {"crc_type_primary": 1},
    "payload with 32 bits": {"crc_type_canonical": 2},
    "payload without a checksum": {"crc_type_canonical": 0},
    "empty payload": {"payload": ""},
    "long payload": {"payload": bytes(range(256)).hex() * 300},
    "to one node": {"destination_eid": "dtn://bob/inbox"},
    "numbers": {"source_eid": "ipn:23.0", "destination_eid": "ipn:977000.100.1", "report_to_eid": "ipn:23.42"},
    "large numbers": {"sequence_number": (1 << 64) - 1, "destination_eid": f"ipn:{(1 << 64) - 1}.{1 << 32}"},
    "long life": {"lifetime": 1 << 40},
    "no life": {"lifetime": 0},
    "percents": {"destination_eid": "dtn://hunet/~caf%C3%A9%20au%20lait"},
    "anonymous": {"source_eid": NOBODY, "flags": 0x4},
    "reports": {"flags": 0x4 | 0x20 | 0x40 | 0x4000 | 0x10000 | 0x20000, "report_to_eid": "dtn://ann/reports"},
    "administrative": {"flags": 0x2},
    "fragment": {"flags": 0x1, "fragment_offset": 24, "total_adu_length": 1000},
    "hops": {"hop_limit": 32, "hop_count": 3},
    "came over bob": {"previous_node_eid": "dtn://bob/"},
    "came over a number": {"previous_node_eid": "ipn:7.0"},
    "no clock": {"creation_timestamp": 0, "bundle_age": 60, "sequence_number": 9},
    "everything": {
        "hop_limit": 255,
        "hop_count": 0,
        "previous_node_eid": "dtn://bob/",
        "bundle_age": 1,
        "report_to_eid": "dtn://ann/reports",
        "crc_type_canonical": 2,
    },
}


def compare(elsewhere: Elsewhere, given: dict[str, Any]) -> None:
    bundle, theirs = ours(given), bytes.fromhex(elsewhere("write", given))
    assert bundle.to_bytes() == theirs, "equal fields, equal bytes"
    assert read_bundle(theirs) == bundle, "we read theirs"
    said = elsewhere("read", bundle.to_bytes().hex())
    assert said["checksums"], "they find our checksums right"
    assert said == {
        "destination": bundle.destination,
        "source": bundle.source,
        "report_to": bundle.report_to,
        "created": bundle.created,
        "sequence": bundle.sequence,
        "lifetime": bundle.lifetime,
        "flags": bundle.flags,
        "crc": bundle.crc,
        "payload": bundle.payload.hex(),
        "fragment": list(bundle.fragment or (None, None)),
        "blocks": [[b.kind, b.number, b.flags, b.crc, b.data.hex()] for b in bundle.blocks[:-1]],
        "checksums": True,
        "again": bundle.to_bytes().hex(),
    }


@pytest.mark.parametrize("name", VECTORS)
def test_equal_fields_equal_bytes(elsewhere: Elsewhere, name: str) -> None:
    compare(elsewhere, {**SIMPLE, **VECTORS[name]})


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(
        {
            "source_eid": st.from_regex(r"dtn://[a-z0-9._-]{1,9}/[a-z]{0,3}|ipn:[1-9][0-9]{0,3}\.0", fullmatch=True),
            "destination_eid": st.from_regex(r"dtn://[a-z0-9]{1,9}/~[a-z0-9/%._-]{1,9}", fullmatch=True),
            "payload": st.binary(max_size=70).map(bytes.hex),
            "crc_type_primary": st.sampled_from([1, 2]),
            "crc_type_canonical": st.sampled_from([0, 1, 2]),
            "creation_timestamp": st.integers(946_684_801, 4_000_000_000),
            "sequence_number": st.integers(0, (1 << 64) - 1),
            "lifetime": st.integers(0, 1 << 50),
            "hop_limit": st.one_of(st.none(), st.integers(1, 255)),
            "hop_count": st.integers(0, 300),
            "bundle_age": st.one_of(st.none(), st.integers(0, 1 << 40)),
        }
    )
)
def test_any_fields_equal_bytes(elsewhere: Elsewhere, given: dict[str, Any]) -> None:
    compare(elsewhere, {**SIMPLE, **given})


def test_bundles_go_both_ways_over_mtcp(elsewhere: Elsewhere) -> None:
    sent = [ours({**SIMPLE, "sequence_number": number, "payload": "ab" * 400 * number}) for number in range(5)]
    assert [len(each.payload) for each in sent] == [0, 400, 800, 1200, 1600]

    async def to_us() -> list[Bundle]:
        arrived: asyncio.Queue[Bundle] = asyncio.Queue()
        async with asyncio.timeout(20), MtcpPort(arrived.put) as port:
            written = [
                elsewhere("write", {**SIMPLE, "sequence_number": n, "payload": "ab" * 400 * n}) for n in range(5)
            ]
            asked = asyncio.to_thread(elsewhere, "send", {"port": port.port, "bundles": written})
            _, *found = await asyncio.gather(asked, *(arrived.get() for _ in sent))
        return found

    assert asyncio.run(to_us()) == sent

    elsewhere.ask("receive", len(sent))
    assert asyncio.run(send_bundles("127.0.0.1", elsewhere.port, sent)) == len(sent)
    assert [bytes.fromhex(said["again"]) for said in elsewhere.answer()] == [each.to_bytes() for each in sent]


def test_a_publication_goes_over_a_node_of_another_kind(elsewhere: Elsewhere, tmp_path: Path) -> None:
    """From one node of ours to the other implementation, which makes a bundle of it again, and to another of ours."""

    async def play() -> None:
        async with (
            asyncio.timeout(20),
            Node(tmp_path / "ann", listen="127.0.0.1:0", beacons=False) as ann,
            Node(tmp_path / "bob", listen="127.0.0.1:0", beacons=False) as bob,
            MtcpPort(Gateway(bob, accept_unsigned=True)) as port,
        ):
            heard, weather = bob.subscribe("news"), bob.subscribe("weather")
            said = await ann.publish("news", "hello")
            elsewhere.ask("receive", 1)
            await send_bundles("127.0.0.1", elsewhere.port, [bundle_of(said)])
            (got,) = await asyncio.to_thread(elsewhere.answer)
            assert got["destination"] == "dtn://hunet/~news"
            assert bytes.fromhex(got["payload"]) == said.to_bytes()

            added = {"hop_limit": 9, "hop_count": 1, "previous_node_eid": "dtn://station/"}
            fields = {"source_eid": got["source"], "destination_eid": got["destination"], "payload": got["payload"]}
            own = {**SIMPLE, "destination_eid": "dtn://elsewhere/~weather", "creation_timestamp": int(said.created)}
            again = [elsewhere("write", {**SIMPLE, **fields, **added}), elsewhere("write", own)]
            await asyncio.to_thread(elsewhere, "send", {"port": port.port, "bundles": again})
            delivery = await anext(heard)
            assert (delivery.id, delivery.author, delivery.text) == (said.id, ann.device, "hello")
            adopted = await anext(weather)
            assert (adopted.author, adopted.text) == (bob.device, "hello"), "signed by who took it"

    asyncio.run(play())
