"""Virtual adapters, and who of them can hear whom: what tests, ``hunet emulate --radio ble`` and the bench run on.

The adapters are bumble's. They advertise at the times that they are told and connect when the other's advertisement
comes. Added here: an adapter hears advertisements only while its scan window is open, hears only who is in reach, and
how strongly; two that go out of reach lose their connection at once. There are no collisions, no errors, and no limit
to the number of bytes a second.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bumble import hci, ll
from bumble.controller import Connection, Controller
from bumble.core import PhysicalTransport
from bumble.link import LocalLink
from bumble.transport.common import AsyncPipeSink, StreamPacketSink, StreamPacketSource, Transport

if TYPE_CHECKING:
    from hunet.node.ble.adapter import Adapter

_RSSI = -60


class VirtualAdapter(Controller):
    """An adapter without a radio."""

    le_acl_data_packet_length = 251
    _heard_at = _RSSI
    _scans_since = 0.0

    def listens(self) -> bool:
        """Whether its scan window is open."""
        since = asyncio.get_running_loop().time() - self._scans_since
        return self.le_scan_enable and since % (self.le_scan_interval * 0.625e-3) < self.le_scan_window * 0.625e-3

    def on_ll_advertising_pdu(self, packet: ll.AdvertisingPdu) -> None:
        dials = self.pending_le_connection is not None
        if isinstance(packet, ll.ConnectInd) or dials or self.listens():
            super().on_ll_advertising_pdu(packet)

    def on_le_connect_ind(self, packet: ll.ConnectInd) -> None:
        if packet.initiator_address not in self.le_connections:  # two that dialled each other have one connection
            super().on_le_connect_ind(packet)

    def hear(self, packet: ll.AdvertisingPdu, rssi: int) -> None:
        """An advertisement has come, so strongly."""
        self._heard_at = rssi
        self.on_ll_advertising_pdu(packet)

    def send_hci_packet(self, packet: hci.HCI_Packet) -> None:
        if isinstance(packet, hci.HCI_LE_Extended_Advertising_Report_Event):
            reports = hci.HCI_LE_Extended_Advertising_Report_Event
            if packet.reports[0].event_type == reports.EventType.SCAN_RESPONSE:  # which nobody asked for
                return
            packet = reports([_at(report, self._heard_at) for report in packet.reports])
        if self.host:  # as in bumble, but that it would write out every packet for its log first
            asyncio.get_running_loop().call_soon(self.host.on_packet, bytes(packet))

    def on_hci_le_set_extended_scan_parameters_command(
        self, command: hci.HCI_LE_Set_Extended_Scan_Parameters_Command
    ) -> hci.HCI_StatusReturnParameters:
        self.le_scan_interval, self.le_scan_window = command.scan_intervals[0], command.scan_windows[0]
        return super().on_hci_le_set_extended_scan_parameters_command(command)

    def on_hci_le_set_extended_scan_enable_command(
        self, command: hci.HCI_LE_Set_Extended_Scan_Enable_Command
    ) -> hci.HCI_StatusReturnParameters:
        self._scans_since = asyncio.get_running_loop().time()
        return super().on_hci_le_set_extended_scan_enable_command(command)

    def on_hci_le_create_connection_command(self, command: hci.HCI_LE_Create_Connection_Command) -> None:
        if command.peer_address in self.le_connections:
            error = hci.HCI_ErrorCode.CONNECTION_ALREADY_EXISTS_ERROR
            self._send_hci_command_status(error, command.op_code)
        else:
            super().on_hci_le_create_connection_command(command)

    def on_hci_le_create_connection_cancel_command(
        self, _command: hci.HCI_LE_Create_Connection_Cancel_Command
    ) -> hci.HCI_StatusReturnParameters:
        """As the specification has it: dialling ends, and the host is told that it came to nothing."""
        wanted, self.pending_le_connection = self.pending_le_connection, None
        if wanted is None:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        asyncio.get_running_loop().call_soon(
            self.send_hci_packet,
            hci.HCI_LE_Connection_Complete_Event(
                status=hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
                connection_handle=0,
                role=hci.Role.CENTRAL,
                peer_address_type=wanted.peer_address.address_type,
                peer_address=wanted.peer_address,
                connection_interval=0,
                peripheral_latency=0,
                supervision_timeout=0,
                central_clock_accuracy=0,
            ),
        )
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)


def _at(report: Any, rssi: int) -> Any:
    report.rssi = rssi
    return report


class Air(LocalLink):
    """What is between virtual adapters; everybody hears everybody unless ``apart``."""

    def __init__(self, apart: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._apart = apart
        self._reach: dict[frozenset[VirtualAdapter], int] = {}
        self._servers: list[asyncio.Server] = []

    def adapter(self, name: str = "") -> VirtualAdapter:
        """A new adapter, switched off."""
        return VirtualAdapter(name, link=self, public_address=hci.Address.generate_static_address())

    def opener(self, adapter: VirtualAdapter) -> Adapter:
        """What a radio in this process opens the adapter with."""

        async def open_adapter() -> Transport:
            return Transport(adapter, AsyncPipeSink(adapter))

        return open_adapter

    async def serve(self, adapter: VirtualAdapter, path: str) -> None:
        """Lets a radio in another process use the adapter, as ``unix:PATH``."""
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_unix_server(lambda: _Port(adapter), path))

    def close(self) -> None:
        """Switches all adapters off, and takes them away from other processes."""
        for server in self._servers:
            server.close()
        for adapter in self.controllers:
            adapter.le_legacy_advertiser.stop()
            for each in adapter.advertising_sets.values():
                each.stop()

    # Who hears whom ---------------------------------------------------------------------------------------------------

    def meet(self, one: VirtualAdapter, two: VirtualAdapter, rssi: int = _RSSI) -> None:
        """They are in reach of each other from now on."""
        self._reach[frozenset((one, two))] = rssi

    def part(self, one: VirtualAdapter, two: VirtualAdapter) -> None:
        """They are not any more: their connection is lost."""
        self._reach[frozenset((one, two))] = 0
        for connection in list(one.le_connections.values()):
            other = two.le_connections.get(connection.self_address)
            if other is not None and other.self_address == connection.peer_address:
                for adapter, end in ((one, connection), (two, other)):
                    adapter.on_le_disconnected(end, hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR)

    def _carry(self, sender: Controller, receiver: VirtualAdapter, packet: ll.AdvertisingPdu) -> None:
        if rssi := self._rssi(sender, receiver):
            receiver.hear(packet, rssi)

    def _rssi(self, one: Controller, two: Controller) -> int:
        """How strongly two hear each other; 0 if they do not."""
        return self._reach.get(frozenset((one, two)), 0 if self._apart else _RSSI)  # type: ignore[arg-type]

    def send_advertising_pdu(self, sender_controller: Controller, packet: ll.AdvertisingPdu) -> None:
        loop = asyncio.get_running_loop()
        for adapter in self.controllers:
            if adapter is not sender_controller:
                assert isinstance(adapter, VirtualAdapter)
                loop.call_soon(self._carry, sender_controller, adapter, packet)
        if isinstance(packet, ll.ConnectInd):
            loop.call_soon(self._check_connection, sender_controller, packet.advertiser_address)

    def _check_connection(self, dialler: Controller, address: hci.Address) -> None:
        """Who dialled learns that the other end has not heard it."""
        connection = dialler.le_connections.get(address)
        others = (each.le_connections.get(connection.self_address) for each in self.controllers if connection)
        if connection and not any(other and other.self_address == address for other in others):
            dialler.on_le_disconnected(connection, hci.HCI_ErrorCode.CONNECTION_FAILED_TO_BE_ESTABLISHED_ERROR)

    def send_acl_data(
        self,
        sender_controller: Controller,
        destination_address: hci.Address,
        transport: PhysicalTransport,
        data: bytes,
    ) -> None:
        """By the address that the connection was made with; bumble takes the one that the sender has now."""
        connection: Connection = sender_controller.le_connections[destination_address]
        receiver = self.find_le_controller(destination_address)
        if receiver is not None:
            asyncio.get_running_loop().call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)

    def send_ll_control_pdu(
        self, sender_address: hci.Address, receiver_address: hci.Address, packet: ll.ControlPdu
    ) -> None:
        with suppress(Exception):  # nobody is there any more
            super().send_ll_control_pdu(sender_address, receiver_address, packet)


class _Port(StreamPacketSource):
    """The end of a socket at which a virtual adapter is."""

    def __init__(self, adapter: VirtualAdapter) -> None:
        super().__init__()
        self._adapter = adapter
        self.set_packet_sink(adapter)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._adapter.host = StreamPacketSink(transport)
