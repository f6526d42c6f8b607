"""Movement for other programs, read back by independent readers."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from hunet.model.errors import ConfigurationError, OutputError
from hunet.worlds import make_movement, write_movement
from hunet.worlds.movement import Movement
from hunet.worlds.tracks import Tracks


@pytest.fixture(scope="module")
def movement() -> Movement:
    return make_movement("waypoint", 1, nodes=6, duration=300, pause_max=20)


def replay_ns2(text: str, times: np.ndarray) -> np.ndarray:
    """Positions as ns-2 would have them: each setdest leaves from where the node is then."""
    nodes = sorted({int(number) for number in re.findall(r"\$node_\((\d+)\) set X_", text)})
    tracks = []
    for node in nodes:
        x, y = (float(re.findall(rf"\$node_\({node}\) set {axis}_ (\S+)", text)[0]) for axis in "XY")
        t, track = 0.0, [(0.0, x, y)]
        orders = re.findall(rf'\$ns_ at (\S+) "\$node_\({node}\) setdest (\S+) (\S+) (\S+)"', text)
        for at, gx, gy, speed in (map(float, order) for order in orders):
            if at > t:
                track.append((at, x, y))
            t = at + np.hypot(gx - x, gy - y) / speed
            x, y = gx, gy
            track.append((t, x, y))
        columns = np.array(track).T
        columns[0] = np.maximum.accumulate(columns[0])
        tracks.append(tuple(columns))
    return Tracks.from_breakpoints(tracks).positions(times)


def test_ns2_movement_replays_to_the_same_places(movement: Movement, tmp_path: Path) -> None:
    write_movement(movement, tmp_path / "scene.tcl")
    times = np.linspace(0, 300, 200)
    replayed = replay_ns2((tmp_path / "scene.tcl").read_text(), times)
    assert np.abs(replayed - movement.positions(times)).max() < 1e-5


def test_the_ones_external_movement_has_everybody_at_every_step(movement: Movement, tmp_path: Path) -> None:
    write_movement(movement, tmp_path / "walk.one", step=0.5)
    header, *lines = (tmp_path / "walk.one").read_text().splitlines()
    low_t, high_t, low_x, high_x, low_y, high_y, _, _ = (float(bound) for bound in header.split())
    rows = np.array([[float(part) for part in line.split()] for line in lines])
    assert (low_t, high_t) == (0, 300)
    assert rows.shape == (601 * 6, 4)
    assert rows[:, 0].tolist() == np.repeat(np.arange(601) * 0.5, 6).tolist()
    assert rows[:, 1].tolist() == list(range(6)) * 601
    assert low_x - 1e-3 <= rows[:, 2].min() <= rows[:, 2].max() <= high_x + 1e-3
    assert low_y - 1e-3 <= rows[:, 3].min() <= rows[:, 3].max() <= high_y + 1e-3
    expected = movement.positions(np.arange(601) * 0.5).reshape(-1, 2)
    assert np.abs(rows[:, 2:] - expected).max() <= 0.0005 + 1e-9


def test_csv_keeps_every_digit(movement: Movement, tmp_path: Path) -> None:
    write_movement(movement, tmp_path / "walk.csv")
    rows = np.loadtxt(tmp_path / "walk.csv", delimiter=",", skiprows=1)
    again = Tracks.from_breakpoints([rows[rows[:, 0] == node, 1:].T for node in range(6)])  # type: ignore[misc]
    assert (again.t == movement.tracks.t).all()
    assert (again.x == movement.tracks.x).all()


def test_compressed_files_have_the_same_content_and_the_same_bytes(movement: Movement, tmp_path: Path) -> None:
    for name in ("plain.ns2", "one.ns2.gz", "two.ns2.gz"):
        write_movement(movement, tmp_path / name)
    packed = (tmp_path / "one.ns2.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "plain.ns2").read_bytes()
    assert packed == (tmp_path / "two.ns2.gz").read_bytes()


def test_the_campus_can_be_drawn_too(tmp_path: Path) -> None:
    write_movement(make_movement("campus", 1, days=1), tmp_path / "campus.ns2")
    assert "setdest" in (tmp_path / "campus.ns2").read_text()


def test_a_failure_leaves_what_was_there(movement: Movement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "walk.csv"
    target.write_text("precious")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hunet.worlds.movement_files._write_csv", full)
    with pytest.raises(OutputError, match=r"cannot be written \(No space left"):
        write_movement(movement, target)
    assert target.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [target]


def test_what_cannot_be_written_is_told(movement: Movement, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_movement(movement, tmp_path / "nowhere" / "walk.csv")
    with pytest.raises(ConfigurationError, match=r"end it in \.ns2, \.one or \.csv"):
        write_movement(movement, tmp_path / "walk.txt")
    with pytest.raises(ConfigurationError, match="no movement format 'ns3': did you mean 'ns2'"):
        write_movement(movement, tmp_path / "walk.txt", "ns3")
    with pytest.raises(ConfigurationError, match="a step of 0 s never gets anywhere"):
        write_movement(movement, tmp_path / "walk.one", step=0)
