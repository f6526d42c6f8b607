"""Gossip: flooding in which everybody tosses a coin before passing a message on.

Z. J. Haas, J. Y. Halpern, L. Li, "Gossip-Based Ad Hoc Routing", IEEE/ACM Transactions on Networking 14(3), 2006.

Theory of operation. GOSSIP1(p, k): the source sends with probability 1. A device that receives a message for the first
time passes it on with probability p, and otherwise never. In the first k hops everybody passes it on, so that the
gossip does not die at its source (section II).

Where we depart from the paper, and why. The paper's nodes broadcast once to all neighbours; devices here meet over
time, so "to pass on" means to carry the message and to give it to everybody who is met.
"""

from __future__ import annotations

from hunet.systems import Scales, Setting, System

SYSTEM = System(
    "gossip",
    "Gossip",
    paper='Z. J. Haas, J. Y. Halpern, L. Li, "Gossip-Based Ad Hoc Routing", IEEE/ACM ToN 14(3), 2006',
    protocols={"gossip": "hunet_gossip.gossip:Gossip"},
    settings="hunet_gossip:settings",
    claims="hunet_gossip.claims:sections",
)


def settings(scales: Scales) -> list[Setting]:  # noqa: ARG001
    """The paper recommends p between 0.6 and 0.8; no parameter is a time."""
    return [
        Setting(f"gossip, p = {p:g}", "gossip", {"probability": p}, "quick" if p == 0.7 else "advise")
        for p in (0.6, 0.7, 0.8)
    ]
