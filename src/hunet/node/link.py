"""A link with a neighbour as the driver sees it, and the frames that cross it.

Both ends greet, each in one frame, and say when they have heard the other's greeting (``ready``). Data then takes
turns, as in the simulator: the end that holds the turn polls its protocol and sends one data frame; the other end
writes it to the disk and acknowledges it, and only then is the sender's protocol told that it arrived. The turn goes
to the other end if that has something to send. An end without the turn that comes to have something says so (``want``).
When neither has anything, the holder says ``settled``. The end with the greater name begins.

Every frame has the number of its contact. Some systems exchange everything when a contact begins and nothing after
that (``exchanges_once``); devices that stay together then end the contact and begin the next, over the same
session, whenever one of them has news: a greeting with the next number says so, and frames of the one before are void.

======================  ============================================================================================
frame                   what it says
======================  ============================================================================================
greet                   the protocol's name, what ``link_up`` answered, and the time by the device's clock
ready                   your greeting has been heard; whether I have something to send
control                 a control packet
data                    a data packet with its number, and every publication that it carries, signed
ack                     it is on my disk, or not taken; whether I have something to send
turn                    it is your turn; whether I still have something to send
want                    I have something to send
settled                 neither of us has anything to send
out of band             a packet that needs no contact, to a device that happens to be in reach
receipts                who has got a publication (see ``receipts``)
======================  ============================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hunet.model import Node
    from hunet.protocols.contract import Data


_FIRST_ROOM = 4
"""A node that is flooded lets strangers bring few messages a second: with a large packet first, who has much to bring
would wait for long, and nothing of it would have arrived if the link were lost meanwhile."""


class Link:
    """A neighbour, as seen from here."""

    __slots__ = (
        "awake",
        "began",
        "changes",
        "contact",
        "device",
        "greeted",
        "holds_turn",
        "mute",
        "node",
        "packet",
        "ready",
        "reported",
        "room",
        "sequence",
        "settled",
        "skew",
    )

    def __init__(self, device: str, node: Node, contact: int, began: float, changes: int) -> None:
        self.device, self.node = device, node
        self.contact, self.began = contact, began
        self.changes = changes
        """How much was new to this device when the contact began."""
        self.greeted = False
        """Whether this end has heard the other's greeting, and said so."""
        self.ready = False
        """Whether the other end has heard this end's too."""
        self.mute = False
        """Whether it runs another protocol."""
        self.holds_turn = False
        self.awake = {True: False, False: False}
        """Whether this end (True), the other end (False) has something to send, as far as it is known here."""
        self.reported = False
        """What the other end thinks of this end being awake."""
        self.room = _FIRST_ROOM
        """Messages in the next data packet at most: twice as many after each that was taken."""
        self.packet: Data | None = None
        """What is under way."""
        self.sequence = 0
        self.skew: float | None = None
        """By how much its clock is ahead of ours (s)."""
        self.settled = False
