"""States on the disk: parts that are damaged, and states of other versions of hunet.

``python -m tests.node.test_states`` writes ``states-1.cbor`` again, which must never be needed: later versions have to
read the file as it is. The state of a protocol that is new is added to what it holds.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from hunet.model import Catalogue, from_mapping
from hunet.model.messages import DeviceCatalogue
from hunet.node import wire
from hunet.node.state import DriverState
from hunet.protocols.carrier import Carried
from hunet.protocols.contract import Driver
from hunet.protocols.push import Push
from hunet.protocols.spray_and_wait import Spray
from hunet.protocols.state import keeps_state, part_names, parts_of, plain, restore_part, typed
from hunet.systems import PROTOCOLS
from tests.node.table import NAMES, Table
from tests.node.test_driver import STATES, lived

WRITTEN = Path(__file__).with_name("states-1.cbor")
LASTING = DriverState(77.5, 3, 0b101, {2: 1}, (("tick", 80.0),), ((5, True, None), (6, False, Spray(0b100, (2,), 4))))


REPLACED = {"socio-aware-overlay.SocioAwareOverlay"}
"""Parts that have another version since: nodes start without them."""


class Disk:
    """All that the parts of a state need of a driver."""

    def __init__(self) -> None:
        self.messages = DeviceCatalogue(Catalogue())
        self.held: list[int] = []

    def stored(self, messages: int) -> None:
        self.held.append(messages)


@pytest.mark.parametrize(("protocol", "parameters"), STATES, ids=str)
def test_states_of_this_version_can_be_read_by_later_ones(protocol: str, parameters: dict[str, Any]) -> None:
    parts = wire.decode(WRITTEN.read_bytes())[f"{protocol} {parameters}"]
    kind, disk = PROTOCOLS[protocol], Disk()
    made = kind(0, from_mapping(kind.Parameters, parameters), cast("Driver", disk), Random(0))
    for name in set(part_names(kind)) & REPLACED:
        with pytest.raises(ValueError, match="is of version 1, and version 2 is understood"):
            restore_part(made, name, parts.pop(name))
    for name in parts:
        restore_part(made, name, parts[name])
    now = parts_of(made)
    assert parts
    assert {name: now[name] for name in parts} == parts  # later versions may have more
    assert disk.held


def test_the_drivers_part_of_a_state_can_be_read_by_later_versions() -> None:
    assert typed(wire.decode(WRITTEN.read_bytes())["driver"], DriverState) == LASTING


@pytest.mark.parametrize(
    "protocol", ["push", "b-sub", "socialcast", "social-election", "mops", "max-prop", "socio-aware-overlay"]
)
def test_a_part_that_is_damaged_is_lost_and_the_others_are_not(
    protocol: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parameters = next(given for name, given in reversed(STATES) if name == protocol)
    table = lived(protocol, tmp_path, **parameters)
    names = ["driver", *part_names(PROTOCOLS[protocol])]
    for number, name in enumerate(names):
        table[0].save()
        before = parts_of(table[0].protocol)
        part = table[0].store.fact(f"state {name}") or b""
        damaged = [part[: len(part) // 2], None, wire.encode([99, {}]), wire.encode([1, {"no": 1}])][number % 4]
        table[0].store.set_fact(f"state {name}", damaged)
        table[0].store.commit()
        caplog.clear()
        table.crash(0)
        assert caplog.text.count("is lost") == 1, caplog.text
        assert f"the part '{name}' of the saved state is lost" in caplog.text
        after = parts_of(table[0].protocol)
        same = [each for each in before if before[each] == after[each]]
        assert name not in same or before[name] == after[name]
        assert same, "something is left of it"
        assert table[0].protocol.topics == {"news"}
        said = table.publish(2, "news")
        for _ in range(3):
            table.meet(0, 2)
            table.advance(table.now + 100)
            table.part(0, 2)
        assert said.id in table.delivered(0), f"without {name} of its state, {protocol} does not go on"


def test_a_state_of_an_earlier_version_is_left_aside_and_publications_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Earlier versions wrote a pickle, under another name."""
    table = Table("push", folder=tmp_path)
    hello = table.publish(0, "news")
    store = table[0].store
    for name in ("driver", *part_names(Push)):
        store.set_fact(f"state {name}", None)
    store.set_fact("protocol", b"hunet.protocols.push:Push of hunet 0.1.0 with QueueParameters() at 1")
    store.set_fact("state", bytes.fromhex("80059506000000000000007d942e"))
    store.commit()
    table.crash(0)
    assert "was written by an earlier version of hunet and is left aside" in caplog.text
    assert table[0].store.fact("state") is None
    caplog.clear()
    table.crash(0)
    assert caplog.text == ""
    table[1].subscribe("news")
    table.meet(0, 1)
    assert table.delivered(1) == [hello.id]


def test_a_state_is_used_by_a_version_that_has_more_parameters(tmp_path: Path) -> None:
    """Only what somebody has chosen is in its label."""
    table = Table("push", folder=tmp_path, buffer=7)
    assert table[0]._label() == f"push with {{'buffer': 7}} at {table[0].holdings.node}"


def test_protocols_keep_their_state_if_all_their_classes_name_it() -> None:
    assert all(keeps_state(PROTOCOLS[name]) for name in PROTOCOLS)

    class Learning(Push):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)

    class Named(Learning):
        saved = {"met": dict[int, int]}  # noqa: RUF012

    assert not keeps_state(Learning)
    assert not keeps_state(Named)
    assert keeps_state(type("Plain", (Push,), {}))


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ("1", int),
        (1, str),
        (b"", float),
        ([1], dict[int, int]),
        ([[1, 2, 3]], tuple[tuple[int, int], ...]),
        (1, set[int]),
    ],
    ids=str,
)
def test_what_is_of_another_type_is_refused(data: Any, hint: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        typed(data, hint)


def test_a_packet_that_was_under_way_comes_back() -> None:
    assert typed(wire.decode(wire.encode(plain(LASTING, DriverState))), DriverState) == LASTING
    assert plain(DriverState(contacts=((1, True, Carried(1, (2,))),)), DriverState)[5] == [
        [1, True, ["hunet.Carried", [b"\x01", [2]]]]
    ]


def write() -> None:
    """Write the states of this version."""
    found: dict[str, Any] = {"driver": plain(LASTING, DriverState)}
    for protocol, parameters in STATES:
        with TemporaryDirectory() as folder:
            table = lived(protocol, Path(folder), **parameters)
            found[f"{protocol} {parameters}"] = parts_of(table[0].protocol)
    WRITTEN.write_bytes(wire.encode(found))


if __name__ == "__main__":
    write()
    print(WRITTEN, WRITTEN.stat().st_size, NAMES)
