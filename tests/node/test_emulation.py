"""A trace over real processes, small: they deliver what their protocols say, and what is missing has a reason."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hunet.cli import app
from hunet.model import ConfigurationError, Contacts, OutputError, Publication, Subscription, Workload
from hunet.node.emulated_device import Network
from hunet.node.emulation import Emulation, emulate
from hunet.protocols.watcher import Logged
from hunet.simulation.agreement import compare
from tests.machine import needs_namespaces

PACE = 40.0
MEETINGS = [
    ("0", "1", 10, 25),
    ("1", "2", 20, 40),
    ("2", "3", 45, 60),
    ("0", "3", 50, 50),
    ("0", "2", 62, 75),
    ("1", "3", 70, 90),
    ("0", "1", 80, 95),
    ("2", "3", 85, 100),
]
SAID = [Publication("m1", 5, 0, "news"), Publication("m2", 30, 1, "art", ttl=20.0), Publication("m3", 65, 3, "news")]
WANTED = [Subscription(3, "news"), Subscription(2, "art"), Subscription(1, "news", start=15.0, end=70.0)]


@pytest.mark.parametrize(
    ("protocol", "network", "pace", "slowest"),
    [
        ("push", "loopback", PACE, 30.0),
        ("b-sub", "loopback", PACE, 30.0),
        pytest.param("push", "ble", 8.0, 1.5, marks=pytest.mark.slow),
        pytest.param("b-sub", "ble", 8.0, 1.5, marks=pytest.mark.slow),
    ],
)
def test_real_nodes_deliver_what_their_protocols_say(
    protocol: str, network: Network, pace: float, slowest: float, tmp_path: Path
) -> None:
    """Most contacts over Bluetooth are longer than devices may take to meet: what is missing there is missing for a
    reason, such as that the machine had no time for them, or the test fails."""
    contacts, workload = Contacts.from_records(MEETINGS), Workload.of(SAID, WANTED)
    real = asyncio.run(emulate(contacts, workload, protocol, pace=pace, network=network, folder=tmp_path / "d"))
    delivered = {(each.publication, each.node): each.time for each in real.deliveries}
    agreement = compare(
        contacts, workload, real.events, delivered, protocol, slowest=slowest * pace, stalls=real.stalls
    )
    assert agreement.broken == []
    assert agreement.lost == []
    assert real.repeated == []
    missing = [each for each in agreement.differences if each.happened is None]
    assert delivered or all("no time for them" in each.reason for each in missing)


def test_devices_in_namespaces_find_each_other_by_beacons() -> None:
    needs_namespaces()
    contacts = Contacts.from_records([("0", "1", 0, 30)])
    workload = Workload.of([Publication("m", 0, 0, "news")], [Subscription(1, "news")])
    real = asyncio.run(emulate(contacts, workload, "push", pace=10.0, network="namespaces"))
    assert [(each.publication, each.node) for each in real.deliveries] == [("m", 1)]


def test_a_device_that_does_not_start_says_why(tmp_path: Path) -> None:
    contacts, nothing = Contacts.from_records([("0", "1", 0, 1)]), Workload.of([], [])
    with pytest.raises(ConfigurationError, match="no protocol 'pusch': did you mean 'push'"):
        asyncio.run(emulate(contacts, nothing, "pusch", folder=tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    with pytest.raises(OutputError, match=r"device \d did not start: .*random-broker needs a share of brokers"):
        asyncio.run(emulate(contacts, nothing, "random-broker", folder=tmp_path / "d"))
    with pytest.raises(OutputError, match="holds devices already"):
        asyncio.run(emulate(contacts, nothing, "push", folder=tmp_path / "d"))
    with pytest.raises(ConfigurationError, match="a pace of 0"):
        asyncio.run(emulate(contacts, nothing, "push", pace=0))


def test_the_command_refuses_what_real_nodes_cannot_do() -> None:
    said = CliRunner().invoke(app, ["emulate", "--world", "waypoint", "--set", "links.loss=0.5"])
    assert isinstance(said.exception, ConfigurationError)
    assert "links of real nodes" in str(said.exception)
    said = CliRunner().invoke(app, ["emulate", "--world", "waypoint", "--until=60", "--radio=ble", "--loopback"])
    assert "knows no IP" in str(said.exception)


def test_the_command_refuses_links_between_brokers_that_live_nodes_have_not() -> None:
    given = ["emulate", "--world", "waypoint", "--protocol=socio-aware-overlay", "--set", "broker_link=direct"]
    said = CliRunner().invoke(app, given)
    assert said.exit_code
    assert "set broker_link=unicast" in str(said.exception)


@pytest.mark.slow
def test_brokers_of_live_nodes_reach_each_other_over_contacts(tmp_path: Path) -> None:
    """Two communities of three, and two of their members who meet: the simulator and the devices deliver the same."""
    files = {
        "contacts": "a,b,start,end\n"
        + "".join(f"{c}{i},{c}{j},0,100\n" for c in "ab" for i, j in ((0, 1), (0, 2), (1, 2)))
        + "a2,b0,200,300\na0,a1,320,400\na1,a2,420,500\na2,b0,520,600\nb0,b1,620,700\nb0,b2,620,700\n",
        "publications": "id,time,node,topic\nm1,310,a0,news\nm2,150,a0,news\n",
        "subscriptions": "node,topic\nb1,news\nb2,news\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    given = [f"--{name}={tmp_path / name}.csv" for name in files]
    given += ["--protocol=socio-aware-overlay", "--set=threshold=50", "--set=k=2", "--pace=60", "--loopback"]
    said = CliRunner().invoke(app, ["emulate", *given])
    assert said.exit_code == 0, said.output
    assert "4 deliveries; 4 as simulated" in said.output


@pytest.mark.parametrize(("end", "lost"), [(100.0, 1), (1.0, 0)])
def test_the_command_fails_if_a_delivery_is_missing_and_no_contact_was_too_short(
    end: float, lost: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody_meets(*_: Any, pace: float, **__: Any) -> Emulation:
        return Emulation(pace, "loopback", [], [Logged(0.0, 0.0, 0, "publish", -1, "m")], [], {}, [])

    monkeypatch.setattr("hunet.node.emulation.emulate", nobody_meets)
    for name, text in {
        "contacts": f"a,b,start,end\nann,bob,0,{end}\n",
        "publications": "id,time,node,topic\nm,0,ann,news\n",
        "subscriptions": "node,topic\nbob,news\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    files = [f"--{name}={tmp_path / name}.csv" for name in ("contacts", "publications", "subscriptions")]
    said = CliRunner().invoke(app, ["emulate", *files, "--protocol=push", "--pace=10", "--meeting=1", "--loopback"])
    assert said.exit_code == lost, said.output
    assert ("NO REASON WAS MEASURED" in said.output) is bool(lost)
    assert "m at bob: simulated at 0.0 s, really never" in said.output
