"""SocialCast: routing by where subscribers are likely to be met soon.

P. Costa, C. Mascolo, M. Musolesi and G. P. Picco, "Socially-Aware Routing for Publish-Subscribe in Delay-Tolerant
Mobile Ad Hoc Networks", IEEE Journal on Selected Areas in Communications 26(5), 2008.

Theory of operation. People who share an interest meet more often than others. A publication exists in γ copies, never
more, which travel from carrier to carrier towards those who are expected to be near its subscribers. Every T seconds,
each device at its own time, a device (1) samples its surroundings and updates its *utility* for each interest, (2)
tells its neighbours its interests, its utilities and what it received last, and (3) hands each message to the
neighbour of the highest utility for its interest, if that exceeds its own by more than ε; neighbours that want a
message get it in passing, without becoming carriers (section III, Fig. 2). A utility is a weighted sum of forecasts
of attributes: whether a subscriber is near (``col``) and how fast the neighbourhood changes (``cdc``), each smoothed
by a Kalman predictor (section IV and appendix).

``socialcast-random`` is the paper's baseline "without prediction": each message stays, or one copy of it goes to a
neighbour drawn by lot. It reckons no utilities and tells none, since nobody would ask.

Where we depart from the paper, and why. The replica flag
belongs to the transmission, not to the message. A next carrier that subscribes gets one transmission that does
both jobs. One copy of a message moves per tick and a neighbour that was just sent a message counts as having
received it: the printed loop would hand all γ copies to the same neighbour. Utilities are told for all interests
a device knows of, not only its own: otherwise only subscribers could become carriers. maxTTL and the filters'
constants are not given and were fitted; docs/systems/socialcast.md has the curves. For the predictability
component the paper has no rule; ours is ``distrust``, and off, as there is no sign of it in the paper's
evaluation. A device that subscribes while it carries a matching message
delivers it. The paper's messages live for ever; where a workload gives them a life, it is kept.
"""

from __future__ import annotations

from hunet.systems import Scales, Setting, System, rounded

SYSTEM = System(
    "socialcast",
    "SocialCast",
    paper=(
        'P. Costa, C. Mascolo, M. Musolesi, G. P. Picco, "Socially-Aware Routing for Publish-Subscribe in '
        'Delay-Tolerant Mobile Ad Hoc Networks", IEEE JSAC 26(5), 2008'
    ),
    protocols={
        "socialcast": "hunet.systems.socialcast.socialcast:SocialCast",
        "socialcast-random": "hunet.systems.socialcast.baselines:SocialCastRandom",
    },
    workloads={
        "communities": "hunet.systems.socialcast.workload:COMMUNITIES",
    },
    settings="hunet.systems.socialcast:settings",
    claims="hunet.systems.socialcast.claims:sections",
    figures="hunet.systems.socialcast.measures:FIGURES",
    evaluation="hunet.systems.socialcast.claims:EVALUATION",
    pictures="hunet.systems.socialcast.pictures:draw",
)


def settings(scales: Scales) -> list[Setting]:
    """The paper looks round every 20 s in a run of hours; with longer delays less often is enough."""
    period = max(20.0, rounded(scales.within / 200))
    return [
        Setting("socialcast-random", "socialcast-random", {"copies": 8, "period": period}, "demo"),
        *(
            Setting(
                f"socialcast, {copies} copies",
                "socialcast",
                {"copies": copies, "period": period},
                "quick" if copies == 8 else "advise",
            )
            for copies in (3, 8, 20)
        ),
    ]
