"""What belongs to no paper of ours: protocols that every system is compared with, and plain workloads."""

from __future__ import annotations

from hunet.systems import Scales, Setting, System, rounded

SYSTEM = System(
    "baselines",
    "Baselines",
    protocols={
        "push": "hunet.protocols.push:Push",
        "pull": "hunet.protocols.pull:Pull",
        "spray-and-wait": "hunet.protocols.spray_and_wait:SprayAndWait",
        "prophet": "hunet.protocols.prophet:Prophet",
        "prophet-v2": "hunet.protocols.prophet:Prophet2",
        "max-prop": "hunet.protocols.max_prop:MaxProp",
        "bubble-rap": "hunet.systems.socio_aware_overlay.bubble_rap:BubbleRap",
    },
    workloads={
        "uniform": "hunet.simulation.workloads:UNIFORM",
        "questionnaires": "hunet.simulation.real_interests:QUESTIONNAIRES",
        "groups": "hunet.simulation.real_interests:GROUPS",
    },
    settings="hunet.systems.baselines:settings",
)


def settings(scales: Scales) -> list[Setting]:
    """What PRoPHET knows of a meeting should halve within the delay: 0.98 does after 34 units of time.

    A familiar peer, and a window of ranks, are as for the Socio-Aware Overlay: a sixteenth of the trace. PRoPHETv2 is
    left out for being much like PRoPHET; MaxProp because without limits of links and storage it sends what push does.
    """
    part = rounded(scales.span / 16)
    return [
        Setting("push", "push", {}, "quick"),
        Setting("pull", "pull", {}, "quick"),
        Setting("pull from anyone", "pull", {"from_anyone": True}, "quick"),
        *(
            Setting(
                f"spray-and-wait, {copies} copies",
                "spray-and-wait",
                {"copies": copies},
                "quick" if copies == 8 else "advise",
            )
            for copies in (2, 4, 8, 16, 32)
        ),
        Setting("PRoPHET", "prophet", {"time_unit": rounded(scales.within / 34)}),
        Setting("BUBBLE Rap", "bubble-rap", {"threshold": part, "window": part}),
    ]
