"""Bluetooth Low Energy as a radio of the node: found by advertisements, connected by L2CAP channels (``hunet[ble]``).

=============  =========================================================================================================
module         what it does
=============  =========================================================================================================
advertisement  what a device says of itself to strangers: 31 bytes
channel        an L2CAP credit-based channel as a stream of bytes, with flow control in both directions
adapter        opens an adapter of this machine, or says in one line why it cannot be used
bluetooth      the radio: advertises, scans, dials, accepts, and counts what that costs
air            virtual adapters, and who of them can hear whom: for tests, emulation and measurement
=============  =========================================================================================================

The stack is bumble, a whole Bluetooth host in Python. It talks to the adapter itself (HCI), so that one program
advertises, scans, dials and accepts over L2CAP, and it brings virtual adapters, on which all of this is tested. bleak
can only scan and dial, over GATT: it neither advertises nor opens L2CAP channels. BlueZ has both behind D-Bus and
sockets of its own, but no virtual adapters without a kernel module, and takes a daemon that runs as root.
"""

import logging

logging.getLogger("bumble").setLevel(logging.CRITICAL)  # it logs whatever strangers do wrong
