"""Who can reach whom in an emulation: cables between network namespaces, or virtual radios.

Loopback needs neither: there the conductor shows devices each other's addresses (see ``emulation``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from hunet.model import OutputError

if TYPE_CHECKING:
    from hunet.model import Contacts


class Radios:
    """A virtual Bluetooth adapter for each device, which hears whom its device is in contact with.

    The adapters are in this process; a device opens its own by the name of :meth:`adapter`.
    """

    def __init__(self, contacts: Contacts) -> None:
        from hunet.node.ble.air import Air

        self._air = Air(apart=True)
        self._adapters = [self._air.adapter(name) for name in contacts.names]
        self._folder = tempfile.mkdtemp(prefix="hunet-")

    async def __aenter__(self) -> Radios:
        for node, adapter in enumerate(self._adapters):
            await self._air.serve(adapter, f"{self._folder}/{node}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._air.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def adapter(self, node: int) -> str:
        """Where a device finds its adapter."""
        return f"unix:{self._folder}/{node}"

    def plug(self, a: int, b: int) -> None:
        """Two devices come into reach."""
        self._air.meet(self._adapters[a], self._adapters[b])

    def pull(self, a: int, b: int) -> None:
        """They part."""
        self._air.part(self._adapters[a], self._adapters[b])


def may_make_namespaces() -> bool:
    """Whether this user may make network namespaces here."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("ip") is not None


class Cables:
    """A namespace for each device, and a cable between each two that ever meet; ``with`` removes them in the end."""

    def __init__(self, contacts: Contacts) -> None:
        self._spaces = [f"hunet-{os.getpid()}-{i}" for i in range(len(contacts.names))]
        self._pairs = sorted(set(zip(contacts.a.tolist(), contacts.b.tolist(), strict=True)))
        self._switches: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Cables:
        try:
            _ip(*(f"netns add {space}" for space in self._spaces))
            for space in self._spaces:
                # Nobody else can have an address here, and asking around for a second would cost minutes of the trace.
                quiet = "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad"
                subprocess.run(["ip", "netns", "exec", space, "sh", "-c", quiet], check=True, capture_output=True)
            spaces = self._spaces
            _ip(
                *(
                    f"link add to{b} netns {spaces[a]} type veth peer name to{a} netns {spaces[b]}"
                    for a, b in self._pairs
                )
            )
            for node, space in enumerate(spaces):
                ends = [f"link set to{a} up" for a, b in self._pairs if b == node]  # the other end is the switch
                _ip("link set lo up", *ends, space=space)
                self._switches[node] = subprocess.Popen(
                    ["ip", "-n", space, "-force", "-batch", "-"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            complaint = getattr(error, "stderr", b"") or str(error).encode()
            raise OutputError(f"network namespaces cannot be made: {complaint.decode().strip()}") from None
        return self

    def __exit__(self, *_: object) -> None:
        for switch in self._switches.values():
            assert switch.stdin is not None
            with suppress(OSError):
                switch.stdin.close()
            switch.wait()
        for space in self._spaces:
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)

    def enter(self, node: int) -> list[str]:
        """What to put before a command to run it in the namespace of a device."""
        return ["ip", "netns", "exec", self._spaces[node]]

    def plug(self, a: int, b: int) -> None:
        """Two devices come into reach."""
        self._switch(a, b, "up")

    def pull(self, a: int, b: int) -> None:
        """They part."""
        self._switch(a, b, "down")

    def _switch(self, a: int, b: int, state: str) -> None:
        switch = self._switches[a].stdin
        assert switch is not None
        switch.write(f"link set to{b} {state}\n".encode())
        switch.flush()


def _ip(*commands: str, space: str = "") -> None:
    batch = "\n".join(commands).encode()
    words = ["ip", *(["-n", space] if space else []), "-batch", "-"]
    subprocess.run(words, input=batch, check=True, capture_output=True)
