"""What this machine has. Probes use no code of hunet: where hunet is broken a test must fail, not be skipped.

No other file of the tests may skip one (``tests/test_skips.py``). The end of a run says what was not tested, and how to
get it.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest

REMEDIES = {
    "a browser": "apt install chromium chromium-driver",
    "the real traces": "they lie in ../shared, beside the project, and are no part of it: their terms forbid it",
    "network namespaces": "run the tests as root on Linux, with the command ip (apt install iproute2)",
    "multicast on loopback": "use a network interface lo that multicasts: ip link set lo multicast on",
    "broadcasts of its own": "use Linux, with a network interface that broadcasts or has an IPv6 address",
    "an IPv6 link-local address": "switch IPv6 on: sysctl net.ipv6.conf.all.disable_ipv6=0",
    "the folder /proc": "use Linux",
    "a package index": "let pip reach one",
    "LaTeX with pgfplots": "apt install texlive-pictures",
    "file systems of its own": "run the tests as root on Linux, where mounting a tmpfs is allowed",
    "a C compiler": "apt install gcc python3-dev",
}
"""What tests may need beyond the packages that ``./run setup`` installs, and how to get it."""
SHARED = Path(__file__).resolve().parents[2] / "shared"
GROUP = "239.255.104.117"
GROUP_6 = "ff02::6875:6e65:74"


def _lacks(what: str) -> NoReturn:
    pytest.skip(f"needs {what}: {REMEDIES[what]}")


def needs_shared() -> Path:
    """The folder of real traces and of other programs' answers."""
    return SHARED if (SHARED / "traces").is_dir() else _lacks("the real traces")


def needs_compiler() -> None:
    """The compiler that extensions of this Python are built with, and Python's headers."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if not shutil.which(compiler) or not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        _lacks("a C compiler")


def needs_browser() -> tuple[str, str]:
    """The programs Chromium and chromedriver."""
    program = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    return (program, driver) if program and driver else _lacks("a browser")


def needs_namespaces() -> None:
    """Makes a namespace with a cable into it, and removes both."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        _lacks("network namespaces")
    space, ends = f"probe-{os.getpid()}", (f"pa{os.getpid()}", f"pb{os.getpid()}")
    steps = [
        ["ip", "netns", "add", space],
        ["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1], "netns", space],
    ]
    try:
        if not all(subprocess.run(step, capture_output=True, check=False).returncode == 0 for step in steps):
            _lacks("network namespaces")
    finally:
        subprocess.run(["ip", "link", "del", ends[0]], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


@contextmanager
def needs_small_disk(folder: Path, size: str) -> Iterator[Callable[[str], object]]:
    """A file system of so many bytes in a folder, and how to give it another size."""
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        _lacks("file systems of its own")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
    finally:
        subprocess.run(["umount", str(folder)], capture_output=True, check=True)


def needs_multicast() -> str:
    """The name of the loopback interface, over which datagrams to a group pass."""
    name = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "")
    try:
        here = struct.pack("@4s4si", socket.inet_aton(GROUP), bytes(4), socket.if_nametoindex(name))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
            ear.bind(("", 0))
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, here)
            ear.settimeout(1.0)
            ear.sendto(b"?", (GROUP, ear.getsockname()[1]))
            ear.recv(1)
    except OSError:
        _lacks("multicast on loopback")
    return name


def _broadcast_ear(port: int) -> socket.socket:
    """Hears broadcasts alone."""
    ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind(("255.255.255.255", port))
    return ear


def _ipv6_ear(port: int, interface: int) -> socket.socket:
    """Hears the group of beacons on one interface alone."""
    ear = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind((GROUP_6, port, 0, interface))
    group = socket.inet_pton(socket.AF_INET6, GROUP_6) + struct.pack("@I", interface)
    ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
    return ear


def needs_broadcasts(port: int) -> dict[str, socket.socket]:
    """By name, the sockets that hear what this machine broadcasts, and multicasts over IPv6, to a port."""
    if sys.platform != "linux":
        _lacks("broadcasts of its own")  # sockets bound to a group's address are Linux's way
    ears: dict[str, socket.socket] = {}
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
        ears["broadcast"] = _broadcast_ear(port)
        mouth.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        mouth.sendto(b"probe", ("255.255.255.255", port))
    for interface, name in socket.if_nameindex():
        with suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as mouth:
            ears[name] = _ipv6_ear(port, interface)
            mouth.sendto(b"probe", (GROUP_6, port, 0, interface))
    heard = {}
    for name, ear in ears.items():
        ear.settimeout(0.2)
        try:
            assert ear.recv(100) == b"probe"
            heard[name] = ear
        except TimeoutError:
            ear.close()
    return heard or _lacks("broadcasts of its own")


def needs_link_local() -> tuple[str, int]:
    """An IPv6 link-local address in hexadecimal digits, and the number of its interface."""
    table = Path("/proc/net/if_inet6")
    rows = [row.split() for row in table.read_text("utf-8").splitlines()] if table.exists() else []
    local = [(row[0], int(row[1], 16)) for row in rows if row[0].startswith("fe80")]
    return local[0] if local else _lacks("an IPv6 link-local address")


def needs_proc() -> None:
    """Where the memory of a process is read."""
    if not Path("/proc/self/statm").exists():
        _lacks("the folder /proc")


def needs_pgfplots() -> str:
    """The program pdflatex, which finds pgfplots."""
    program, finder = shutil.which("pdflatex"), shutil.which("kpsewhich")
    found = finder and not subprocess.run([finder, "pgfplots.sty"], capture_output=True, check=False).returncode
    return program if program and found else _lacks("LaTeX with pgfplots")


def needs_package(environment: Path, requirement: str) -> None:
    """Installs a package from an index into a virtual environment."""
    words = ["--python", str(environment), "install", "--quiet", "--disable-pip-version-check", requirement]
    pip = [sys.executable, "-m", "pip", *words]
    if subprocess.run(pip, capture_output=True, check=False, timeout=120).returncode:
        _lacks("a package index")
