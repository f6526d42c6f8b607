"""The radio: a device advertises the short id of the moment, scans for others', dials and accepts.

What takes how long
-------------------
A device advertises every ``advertise`` seconds. It scans for two advertisements and their jitter at a time, so that it
hears everybody in reach twice in each window, and as seldom as the share of time ``scan`` says. A device is reported
when it was heard twice: an id that is heard once is noise, or somebody who makes ids up.

Id and address change together, as the short id does, so that neither tells which the next one is. Connections last.

Connections
-----------
Whoever sights another dials, as over IP; ``neighbourhood`` decides which session stays. Two devices share one
connection, however many channels they open on it: who sights a device that has connected already opens a channel
there. The connection ends with its last channel, and if nobody opens one. While as many connections stand as the
adapter is trusted with, the device neither dials nor advertises.

An adapter dials one device at a time. It does not scan meanwhile, which not every adapter can do.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from bumble import att, core, hci, smp
from bumble.device import (
    Connection,
    ConnectionParametersPreferences,
    Device,
    DeviceConfiguration,
)
from bumble.host import Host
from bumble.l2cap import LeCreditBasedChannel, LeCreditBasedChannelSpec

from hunet.model import ConfigurationError
from hunet.node.ble import advertisement
from hunet.node.ble.channel import Traffic, open_stream
from hunet.node.discovery import Discovery, Sighting
from hunet.node.radio import Radio
from hunet.node.rate_limits import BoundedDict
from hunet.node.tasks import Tasks

if TYPE_CHECKING:
    from bumble.transport.common import Transport

    from hunet.node.ble.adapter import Adapter
    from hunet.node.radio import Accepted

_log = logging.getLogger(__name__)

_PSM = 0xD3
_JITTER = 0.010  # that the specification adds to the time between advertisements, at most
_MTU, _MPS, _CREDITS = 2048, 247, 64  # with its header a packet of 247 bytes fills one of the air
_ADVERTISED = 3 * (10 + 6 + 31)  # on three channels: preamble, access address, header, CRC; address; data
_HEAD = 10 + 4  # of a data packet: preamble, access address, header, CRC; header of L2CAP
_ANSWER = 10.0  # for an adapter that is switched on
_GOODBYE = 1.0  # for a peer that is told that a channel or a connection ends
_HEARD_LATELY = 10.0
_REMEMBERED = 1024
_INCOMING, _HEARD = "incoming", "heard"


class BluetoothSettings(msgspec.Struct, frozen=True):
    """How much the radio works: that is how much energy it takes, and how soon devices find each other."""

    advertise: float = 0.25
    """Seconds between advertisements."""
    scan: float = 0.1
    """The share of time in which the device listens for others."""
    connections: int = 8
    """At once; adapters differ in how many they can hold."""
    dial_seconds: float = 2.0
    """How long a device that was sighted is called."""
    supervision: float = 4.0
    """After so many seconds without a packet the other device is gone."""

    def __post_init__(self) -> None:
        if not 0.02 <= self.advertise <= 5.0:
            raise ConfigurationError(f"advertisements every {self.advertise:g} s; give 0.02 to 5")
        if not 0 < self.scan <= 1:
            raise ConfigurationError(f"a share of {self.scan:g} of the time for scanning; give more than 0, at most 1")
        if self.scan_interval > 10.24:
            raise ConfigurationError(
                f"scanning {self.scan:.1%} of the time needs advertisements more often than every {self.advertise:g} s"
            )

    @property
    def scan_window(self) -> float:
        """Seconds of scanning at a time: two advertisements of everybody fall into it."""
        return 2 * (self.advertise + _JITTER)

    @property
    def scan_interval(self) -> float:
        """Seconds from the beginning of a window to that of the next."""
        return self.scan_window / self.scan


class _Host(Device):
    """bumble, but for two things.

    It takes a connection that somebody else made for the one that it is making: here they have two names. And it keeps
    something of every advertisement, of which there are many in a crowd, and most are not of hunet.
    """

    def on_advertising_report(self, report: Any) -> None:
        self.emit(_HEARD, report)

    def emit(self, event: str, *args: Any, **kwargs: Any) -> bool:
        if event == self.EVENT_CONNECTION and args[0].role == hci.Role.PERIPHERAL:
            event = _INCOMING
        return super().emit(event, *args, **kwargs)


class Bluetooth(Radio, Discovery):
    """Bluetooth Low Energy over one adapter."""

    name = "ble"

    def __init__(self, adapter: Adapter, settings: BluetoothSettings | None = None) -> None:
        super().__init__()
        self.settings = settings or BluetoothSettings()
        self._open_adapter = adapter
        self._transport: Transport | None = None
        self._accepted: Accepted
        self._device: _Host
        self._tasks = Tasks()
        self._looking = self._gone = False
        self._announced = ""
        """The short id that is advertised."""
        self._changing, self._dialling = asyncio.Lock(), asyncio.Lock()
        self._channels: Counter[Connection] = Counter()
        """For each connection, how many channels use it."""
        self._called: hci.Address | None = None
        """Whom the adapter is dialling."""
        self._heard: BoundedDict[str, float] = BoundedDict(_REMEMBERED)
        self._traffic = Traffic()
        self._advertising = _Stopwatch()
        self._scanning = _Stopwatch(self.settings.scan_window, self.settings.scan_interval)
        self._listening = _Stopwatch()

    # Connections ------------------------------------------------------------------------------------------------------

    async def serve(self, accepted: Accepted) -> None:
        """Opens the adapter and takes connections."""
        self._accepted = accepted
        self._transport = await self._open_adapter()
        configuration = DeviceConfiguration(
            name="", address=_new_address(), gap_service_enabled=False, gatt_service_enabled=False
        )
        host = Host(self._transport.source, self._transport.sink)
        # Whatever goes wrong with what one stranger sent must not keep bumble from dealing with the rest.
        host.on("error", lambda error: _log.debug("bumble: %r", error))
        host.on("flush", self._lost)
        device = self._device = _Host(config=configuration, host=host)
        for cid in (att.ATT_CID, smp.SMP_CID):  # nothing is read from this device, and nobody is paired with it
            device.l2cap_channel_manager.deregister_fixed_channel(cid)
        try:
            async with asyncio.timeout(_ANSWER):
                await device.power_on()
                with suppress(core.BaseBumbleError):  # an older adapter sends packets of 27 bytes
                    await device.send_sync_command(
                        hci.HCI_LE_Write_Suggested_Default_Data_Length_Command(
                            suggested_max_tx_octets=251, suggested_max_tx_time=2120
                        )
                    )
        except (core.BaseBumbleError, TimeoutError, OSError) as error:
            raise ConfigurationError(
                f"the Bluetooth adapter does not answer as it should ({error or 'silence'}); unplug it, or restart it"
            ) from None
        device.on(_INCOMING, self._connected)
        device.on(device.EVENT_CONNECTION, self._connected)
        device.on(_HEARD, self._advertised)
        device.create_l2cap_server(self._channel_with(_PSM), self._opened)

    async def stop(self) -> None:
        """Switches the adapter off."""
        if self._transport is None:
            return
        transport, self._transport = self._transport, None
        await asyncio.gather(*map(self._disconnect, list(self._device.connections.values())))
        await self._tasks.close()
        await transport.close()

    def _lost(self) -> None:
        """The adapter was unplugged, unless this end has closed it."""
        if self._transport is None:
            return
        _log.warning("the Bluetooth adapter is gone; plug it in, and start the node again")
        self._looking = False
        self._gone = True
        for channels in list(self._device.l2cap_channel_manager.le_coc_channels.values()):
            for channel in list(channels.values()):
                channel.abort()

    async def connect(self, sighting: Sighting) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Opens a channel, on a new connection or on the one that stands."""
        address = hci.Address(sighting.host)
        if self._gone:
            raise ConnectionError("there is no adapter")
        try:
            async with self._dialling:
                connection = self._connection_with(address) or await self._dial(address)
                self._channels[connection] += 1
                try:
                    channel = await self._open_channel(connection, sighting.port)
                except BaseException:
                    self._release(connection)
                    raise
        except core.BaseBumbleError as error:
            raise ConnectionError(str(error)) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ConnectionError("the connection was lost") from None  # by which bumble cancels what waits for it
        return open_stream(channel, self._traffic, self._closed)

    async def _dial(self, address: hci.Address) -> Connection:
        if self.full:
            raise ConnectionError("no connection is left")
        wanted = ConnectionParametersPreferences(supervision_timeout=int(1000 * self.settings.supervision))
        self._called = address
        try:
            await self._set_up()
            self._listening.run(True)
            return await self._device.connect_le(address, {hci.Phy.LE_1M: wanted}, timeout=self.settings.dial_seconds)
        except core.BaseBumbleError:
            if incoming := self._connection_with(address):  # it was quicker
                return incoming
            raise
        except asyncio.CancelledError:
            self._tasks.start(self._stop_dialling())
            raise
        finally:
            self._called = None
            self._listening.run(False)
            self._update()

    async def _stop_dialling(self) -> None:
        with suppress(core.BaseBumbleError):
            await self._device.send_sync_command(hci.HCI_LE_Create_Connection_Cancel_Command())

    async def _open_channel(self, connection: Connection, psm: int) -> LeCreditBasedChannel:
        if not self._stands(connection):
            raise ConnectionError("the connection was lost")
        # bumble keeps requests by their numbers only: an answer over another connection must not have the same.
        manager = self._device.l2cap_channel_manager
        manager.identifiers.setdefault(connection.handle, random.SystemRandom().randrange(255))
        manager.le_coc_requests.clear()
        async with asyncio.timeout(self.settings.dial_seconds):
            return await connection.create_l2cap_channel(self._channel_with(psm))

    def _connection_with(self, address: hci.Address) -> Connection | None:
        found = self._device.connections.values()
        return next((each for each in found if each.peer_address == address), None)

    def _connected(self, connection: Connection) -> None:
        """A connection stands, which has ended advertising if somebody else has made it."""
        if self._called == connection.peer_address and connection.role == hci.Role.PERIPHERAL:
            self._tasks.start(self._stop_dialling())
        connection.on(connection.EVENT_DISCONNECTION, lambda _: self._update())
        self._tasks.start(self._expect_channel(connection))
        self._update()

    async def _expect_channel(self, connection: Connection) -> None:
        await asyncio.sleep(self.settings.supervision)
        self._end_if_unused(connection)

    def _opened(self, channel: LeCreditBasedChannel) -> None:
        """Somebody has opened a channel."""
        self._channels[channel.connection] += 1
        with suppress(ConnectionError):
            self._accepted(*open_stream(channel, self._traffic, self._closed))

    def _closed(self, channel: LeCreditBasedChannel) -> None:
        """The stream of a channel has ended."""
        self._tasks.start(self._close(channel))

    async def _close(self, channel: LeCreditBasedChannel) -> None:
        if channel.state == channel.State.CONNECTED:
            with suppress(core.BaseBumbleError, TimeoutError):
                async with asyncio.timeout(_GOODBYE):
                    await channel.disconnect()
        channel.disconnection_result = None  # which would be set when the connection ends, though nobody waits
        # bumble forgets only one of the two numbers of a channel; the peer may use the other again.
        channel.manager.le_coc_channels.get(channel.connection.handle, {}).pop(channel.destination_cid, None)
        self._release(channel.connection)

    def _release(self, connection: Connection) -> None:
        self._channels[connection] -= 1
        self._channels += Counter()  # forgets connections at zero
        self._end_if_unused(connection)

    def _end_if_unused(self, connection: Connection) -> None:
        if self._stands(connection) and not self._channels[connection]:
            self._tasks.start(self._disconnect(connection))

    def _stands(self, connection: Connection) -> bool:
        return self._device.connections.get(connection.handle) is connection

    async def _disconnect(self, connection: Connection) -> None:
        with suppress(core.BaseBumbleError, TimeoutError):
            async with asyncio.timeout(_GOODBYE):
                await connection.disconnect()

    def _channel_with(self, psm: int) -> LeCreditBasedChannelSpec:
        return LeCreditBasedChannelSpec(psm, _MTU, _MPS, _CREDITS)

    # Discovery --------------------------------------------------------------------------------------------------------

    async def start(self, port: int) -> None:  # noqa: ARG002 - a channel has its own number
        """Begins to advertise and to scan."""
        self._looking = True
        await self._set_up()
        self._tasks.start(self._rotate())

    async def close(self) -> None:
        """Falls silent."""
        self._looking = False
        if self._transport is not None:
            await self._set_up()
        await super().close()

    @property
    def full(self) -> bool:
        """Whether as many connections stand as the adapter is trusted with."""
        return len(self._device.connections) >= self.settings.connections

    def status(self) -> dict[str, Any]:
        """What the radio does, and what it has done since the start."""
        settings, traffic = self.settings, self._traffic
        advertisements = int(self._advertising.seconds / settings.advertise)
        return {
            "scan_duty_cycle": round(settings.scan, 4),
            "listen_seconds": round(self._scanning.seconds + self._listening.seconds, 1),
            "advertise_seconds": settings.advertise,
            "advertisements": advertisements,
            "connections": len(self._device.connections),
            "sent_bytes": traffic.sent,
            "received_bytes": traffic.received,
            "air_bytes": traffic.sent + traffic.received + traffic.packets * _HEAD + advertisements * _ADVERTISED,
        }

    async def _rotate(self) -> None:
        while True:
            await asyncio.sleep(self.ids.left)
            await self._set_up()

    def _update(self) -> None:
        self._tasks.start(self._set_up())

    async def _set_up(self) -> None:
        """Has the adapter advertise and scan as it should now."""
        async with self._changing:
            if self._gone:
                return
            with suppress(core.BaseBumbleError, TimeoutError):  # it is busy: whatever happens next sets it up again
                async with asyncio.timeout(_ANSWER):
                    await self._set_up_now()

    async def _set_up_now(self) -> None:
        device, settings = self._device, self.settings
        scan = self._looking and self._called is None
        advertise = self._looking and not self.full
        new = scan and self._announced != self.ids.now
        if device.is_advertising and (new or not advertise):
            await device.stop_advertising()
        if device.is_scanning and (new or not scan):
            await device.stop_scanning()
        if new:
            device.random_address = _new_address()
            await device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=device.random_address))
            self._announced = self.ids.now
        if advertise and not device.is_advertising and device.legacy_advertising_set and not new:
            await device.legacy_advertising_set.start()  # a connection has ended it: one command instead of seven
        elif advertise and not device.is_advertising:
            await device.start_advertising(
                advertising_data=advertisement.encode(self._announced, _PSM),
                advertising_interval_min=1000 * settings.advertise,
                advertising_interval_max=1000 * settings.advertise,
            )
        if scan and not device.is_scanning:
            await device.start_scanning(
                active=False,
                scan_interval=1000 * settings.scan_interval,
                scan_window=1000 * settings.scan_window,
                scanning_phys=[hci.Phy.LE_1M],
            )
        self._advertising.run(device.is_advertising)
        self._scanning.run(device.is_scanning)

    def _advertised(self, heard: Any) -> None:
        advertised = advertisement.decode(heard.data)
        if advertised is None:
            return
        short_id, psm = advertised
        if self.ids.ours(short_id):
            return
        now = time.monotonic()
        before = self._heard.get(short_id, now - _HEARD_LATELY)
        self._heard[short_id] = now
        if now - before < _HEARD_LATELY:
            rssi = heard.rssi if -127 < heard.rssi <= 20 else None
            self.sight(Sighting(heard.address.to_string(), psm, short_id, self.name, rssi))


class _Stopwatch:
    """For how long something was on, in all: of that, only ``window`` seconds of every ``interval``.

    >>> watch = _Stopwatch(window=1.0, interval=10.0)
    >>> watch.open_for(0.5), watch.open_for(5.0), watch.open_for(20.5)
    (0.5, 1.0, 2.5)
    """

    def __init__(self, window: float = 1.0, interval: float = 1.0) -> None:
        self._window, self._interval = window, interval
        self._before, self._since = 0.0, 0.0

    @property
    def seconds(self) -> float:
        return self._before + (self.open_for(time.monotonic() - self._since) if self._since else 0.0)

    def open_for(self, seconds: float) -> float:
        whole, rest = divmod(seconds, self._interval)
        return whole * self._window + min(rest, self._window)

    def run(self, on: bool) -> None:
        if on != bool(self._since):
            self._before, self._since = self.seconds, time.monotonic() if on else 0.0


def _new_address() -> hci.Address:
    """A private address, of a key that nobody has: it says nothing."""
    return hci.Address.generate_private_address(os.urandom(16))
