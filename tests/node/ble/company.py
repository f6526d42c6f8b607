"""Devices that meet over virtual Bluetooth adapters, without any IP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hunet.node.ble.air import Air, VirtualAdapter
from hunet.node.ble.bluetooth import Bluetooth, BluetoothSettings
from hunet.node.node import Node
from hunet.node.places import NeighbourLimits
from tests.node.company import Diary, Neighbour, neighbour

QUICK = BluetoothSettings(advertise=0.04, scan=1.0, dial_seconds=1.0)
EAGER = NeighbourLimits(retry_seconds=0.05)


class BleNode(Node):
    """A node that has Bluetooth and nothing else."""

    adapter: VirtualAdapter
    radio: Bluetooth


@asynccontextmanager
async def in_the_air(apart: bool = False) -> AsyncIterator[Air]:
    air = Air(apart)
    yield air
    air.close()


def ble_node(air: Air, folder: Path, protocol: str = "push", **given: Any) -> BleNode:
    adapter = air.adapter(folder.name)
    radio = Bluetooth(air.opener(adapter), given.pop("settings", QUICK))
    made = BleNode(
        folder,
        protocol,
        **{"listen": None, "beacons": False, "radios": [radio], "neighbours": EAGER, "encounters": "names", **given},
    )
    made.adapter, made.radio = adapter, radio
    return made


class BleNeighbour:
    """A neighbourhood with Bluetooth, its adapter and what its listener heard."""

    def __init__(self, adapter: VirtualAdapter, radio: Bluetooth, neighbourhood: Neighbour) -> None:
        self.adapter, self.radio, self.links = adapter, radio, neighbourhood

    @property
    def device(self) -> str:
        return self.links.device

    @property
    def diary(self) -> Diary:
        return self.links.diary


@asynccontextmanager
async def ble_neighbour(
    air: Air,
    folder: Path,
    adapter: VirtualAdapter | None = None,
    settings: BluetoothSettings = QUICK,
    **given: Any,
) -> AsyncIterator[BleNeighbour]:
    adapter = adapter or air.adapter()
    radio = Bluetooth(air.opener(adapter), settings)
    given = {"listen": None, "limits": EAGER, **given}
    async with neighbour(folder, ways=[radio], radios=[radio], **given) as made:
        yield BleNeighbour(adapter, radio, made)
    assert not adapter.le_connections
    assert not radio._tasks
