"""MOPS: mobile community-based publish/subscribe.

F. Li and J. Wu, "MOPS: Providing Content-Based Service in Disruption-Tolerant Networks", ICDCS 2009.

Theory of operation. From whom people met in a training period follows how close they are (section II.B), and from that
*communities* in which everybody is close to everybody, directly or over a few hops (section III.A), and *brokers* on
their borders (section IV.D). Inside a community interest lists are broadcast, and a publisher sends an event to those
who want it: hand to hand when they meet, or over the people on the best path to them (section III.B). Between
communities brokers exchange what their communities want, and collect events by weight (section IV, see
``interests``): first for their own people, then for the communities beyond. A contact carries only so much, so the
weights decide what is carried. What nobody is known to want a broker takes last, by its default weight, or not at all.

When two meet, each tells its community, the pairs of communities that it brokers, which lists it knows, and what it has
seen. Then each answers with the interest list that is meant for such a peer:

=============================================  =======================================================================
the peer is                                    it gets
=============================================  =======================================================================
of the same community                          self interests (weight 1), or a broker's list by Eq. 5; the lists of
                                               others if the two do not know the same; among brokers a relay list
of another, both broker this pair              a list by Eq. 6, and the internal list
of another, otherwise                          self interests
=============================================  =======================================================================

Structures are made by an experimenter who has the trace (``learning = "central"``, as in the paper's simulation) and do
not change, unless ``relearn`` says how often they are made anew, of the last ``window`` seconds. With ``learning =
"exchange"`` devices make them themselves (``exchange``).

Where the paper contradicts itself, a parameter chooses; ``interests`` and ``baselines`` have the sentences. Studies
name two readings: *as printed* (``unsubscribed = "listed"``, IV.B; Eq. 4 over all communities; Neighbors collect from
publishers) and *as meant* (``unsubscribed = "known"``, IV.C and V.B; ``exclude_peer_community``, IV.A).

Where we depart from the paper, and why
- Two who are not both brokers of their pair still tell each other their own interests: section II.C says that any two
  exchange interest lists, section IV.B leaves this case out.
- Eq. 6 is used as printed, not as section IV.B repeats it (see ``interests``).
- An event on its way over a virtual link has the weight of neither list; it goes after what the peer asks for itself
  and before what it takes by default. Who carries it for others only gives it to them and forgets it then.
- Lists are renewed when contacts begin. While one lasts, only changed subscriptions are told.
- Without a training phase nothing is known: everybody is a community of one and asks for its own interests.
"""

from __future__ import annotations

from hunet.systems import Scales, Setting, System

SYSTEM = System(
    "mops",
    "MOPS",
    paper='F. Li, J. Wu, "MOPS: Providing Content-Based Service in Disruption-Tolerant Networks", ICDCS 2009',
    protocols={
        "mops": "hunet.systems.mops.mops:Mops",
        "k-nearest": "hunet.systems.mops.baselines:KNearest",
    },
    workloads={
        "intervals": "hunet.systems.mops.workload:INTERVALS",
    },
    finders={
        "mops": "hunet.systems.mops.finder:FINDER",
    },
    settings="hunet.systems.mops:settings",
    claims="hunet.systems.mops.claims:sections",
    figures="hunet.systems.mops.measures:FIGURES",
    evaluation="hunet.systems.mops.claims:EVALUATION",
)


def settings(scales: Scales) -> list[Setting]:  # noqa: ARG001
    """No constant of MOPS is a time: its closeness is relative to the crowd's mean separation (section V.A).

    A low threshold makes few, large communities, which need fewer gateways: the demo shows that.
    """
    return [
        Setting("mops", "mops", {"threshold": 0.2}, "demo"),
        *(
            Setting(f"mops, closeness above {t:g}", "mops", {"threshold": t}, "quick" if t == 0.5 else "advise")
            for t in (0.3, 0.5, 0.7)
        ),
        *(
            Setting(f"k-nearest, {k} people", "k-nearest", {"nearest": k}, "quick" if k == 5 else "advise")
            for k in (2, 5, 10)
        ),
    ]
