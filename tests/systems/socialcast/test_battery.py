"""SocialCast's third attribute: what is left of a device's battery, counted in transmissions or as the driver knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunet.node.battery import charge
from hunet.systems.socialcast.socialcast import Advertisement
from hunet.systems.socialcast.utility import Surroundings
from hunet.testing import Network


@pytest.mark.parametrize(("transmissions", "left"), [(0, 1.0), (1, 0.75), (3, 0.25), (4, 0.0), (9, 0.0)])
def test_a_battery_runs_down_with_transmissions_and_not_below_empty(transmissions: int, left: float) -> None:
    surroundings = Surroundings(battery=4.0)
    surroundings.transmissions = transmissions
    assert surroundings.sample(set(), set()).battery == left


def test_every_message_sent_takes_from_the_battery_and_lowers_the_utility() -> None:
    net = Network("socialcast", 2, weights={"battery": 1.0}, battery=4.0, observation_noise=1e-9, copies=1)
    node, other = net.nodes
    for _ in range(3):
        node.publish("x")
    node.protocol.update_own_utilities()
    assert node.protocol.utilities["x"] == pytest.approx(1.0)
    node.connect(other)
    other.protocol.driver.cancel_timer("tick")
    node.protocol.receive(other.node, Advertisement(("x",), {}, 0), net.now)  # it wants them
    net.advance(net.now + 20.0)
    assert len(other.protocol.received) == 3
    node.protocol.update_own_utilities()
    assert node.protocol.surroundings.transmissions == 3
    assert node.protocol.utilities["x"] == pytest.approx(0.25)


def test_the_utility_follows_the_real_battery_that_the_driver_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float | None] = [0.5]
    device = type(Network("socialcast", 1)[0].protocol.driver)
    monkeypatch.setattr(device, "battery", lambda _: left[0], raising=False)
    node = Network("socialcast", 1, weights={"battery": 1.0}, battery=4.0, observation_noise=1e-9)[0]
    node.publish("x")
    for now in (0.5, 0.25, None):
        left[0] = now
        node.protocol.update_own_utilities()
        assert node.protocol.utilities["x"] == pytest.approx(1.0 if now is None else now)  # nothing was sent


def test_a_computers_batteries_are_read_where_linux_tells_of_them(tmp_path: Path) -> None:
    assert charge(tmp_path / "none") is None
    told = {
        "AC": {"type": "Mains"},
        "mouse": {"type": "Battery", "scope": "Device", "capacity": "5"},
        "BAT0": {"type": "Battery", "capacity": "80\n"},
        "BAT1": {"type": "Battery", "scope": "System", "capacity": "40\n"},
        "BAT2": {"type": "Battery", "capacity": "gone"},
    }
    for name, files in told.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text, "utf-8")
    assert charge(tmp_path) == pytest.approx(0.6)
