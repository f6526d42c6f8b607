"""Foresight: a copy for the further subscribers that it is expected to reach. Hunet's own system.

Theory of operation. A copy of a message is worth the subscribers that it will serve and that no other copy would have
served. A carrier that meets a device which does not want a message itself estimates that number and gives a copy if it
is at least the *price*; with one price everywhere copies go where they do most for what they cost. For a subscriber s,
within the life that the message has left::

    worth = sum over s of  open(s) (1 - own(s)) reach(s)

reach(s)  the chance that the neighbour gets something to s, itself or over one more device: it tells that (``Reach``)
own(s)    the chance that the carrier meets s itself; it would not have needed the neighbour
open(s)   the chance that no other copy serves s, as far as this carrier knows

Chances come from a device's own encounters (``encounters``). What is *open* travels with a copy and falls when another
copy is given; two carriers that meet tell each other what is open for each (``Share``), once for each message, since
the same copies would count twice.

Little evidence is no evidence against a copy. The price is multiplied with e / (e + doubt), where e is the number of
encounters of the less experienced of the two. So a new device, and a crowd that hardly meets, behaves like PUSH, which
costs little where people seldom meet; a crowd that meets often is served by few copies. Subscribers keep what they
wanted and serve others.

A neighbour is told the whole reach once, and later what has changed, when the evidence has doubled: so the number of
times grows with the logarithm of the encounters. Nothing is measured in seconds: spans of time are magnitudes.

From the papers: hand-over along a gradient of chances (SocialCast, MOPS), two hops across communities (overlay, MOPS),
fewer copies where many carriers are near (social election), counting what others cover (the decaying filters of B-SUB).

Where we depart from the paper, and why: there is none; this is hunet's own. ``docs/systems/foresight.md`` has what was
measured, where it loses, and which ideas did not help.

Privacy. A neighbour learns the topics of this device, and of all devices it knows of: their topics and how likely this
device meets them, which is more than B-SUB tells.
"""

from __future__ import annotations

from hunet.systems import Scales, Setting, System

SYSTEM = System(
    "foresight",
    "Foresight",
    protocols={"foresight": "hunet.systems.foresight.foresight:Foresight"},
    settings="hunet.systems.foresight:settings",
)


def settings(scales: Scales) -> list[Setting]:  # noqa: ARG001
    """One setting for every crowd."""
    return [Setting("foresight", "foresight", {}, "quick")]
