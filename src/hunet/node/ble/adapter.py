"""Opening an adapter of this machine, or saying in one line why that cannot be done and what helps."""

from __future__ import annotations

import errno
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hunet.model import ConfigurationError

if TYPE_CHECKING:
    from bumble.transport.common import Transport

Adapter = Callable[[], Awaitable["Transport"]]
"""Opens an adapter: a source and a sink of HCI packets."""
KINDS = ("hci-socket", "usb", "serial", "unix", "tcp-client")
_REMEDIES = {
    errno.EBUSY: "it is in use: sudo systemctl stop bluetooth && sudo hciconfig {adapter} down",
    errno.EUSERS: "another program uses it: stop that one",
    132: "Bluetooth is switched off: sudo rfkill unblock bluetooth",  # ERFKILL, which Python knows on Linux only
    errno.EPERM: "it needs the right to use it: run as root, or see docs/bluetooth.md",
    errno.EACCES: "it needs the right to use it: run as root, or see docs/bluetooth.md",
    errno.ENODEV: "there is no such adapter: hciconfig -a lists those of this machine",
    errno.EAFNOSUPPORT: "this system has no Bluetooth: load the kernel module bluetooth, or use usb:0",
}


def named_adapter(name: str) -> Adapter:
    """The adapter of a name: hci0, usb:0, or another kind that bumble knows, as KIND:WHERE."""
    kind, colon, where = name.partition(":")
    if not colon and name.startswith("hci") and name[3:].isdigit():
        kind, where = "hci-socket", name[3:]
    if kind not in KINDS or not where:
        raise ConfigurationError(f"'{name}' is no Bluetooth adapter; write hci0, usb:0, or one of {', '.join(KINDS)}")
    if kind == "hci-socket" and not hasattr(socket, "AF_BLUETOOTH"):
        raise ConfigurationError(f"Bluetooth adapter '{name}': this Python has no Bluetooth sockets; use usb:0")

    async def open_adapter() -> Transport:
        from bumble.transport import open_transport

        try:
            return await open_transport(f"{kind}:{where}")
        except OSError as error:
            remedy = _REMEDIES.get(error.errno or 0, f"{error.strerror or error}; see docs/bluetooth.md")
        except Exception as error:  # bumble raises Exception itself, and the errors of libraries for USB
            remedy = f"{error or type(error).__name__}; see docs/bluetooth.md"
        raise ConfigurationError(f"Bluetooth adapter '{name}': {remedy.format(adapter=name)}")

    return open_adapter
