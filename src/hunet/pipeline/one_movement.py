"""The ONE's movement without maps, as a world: ``RandomWaypoint``, ``ClusterMovement``, ``StationaryMovement``.

Paths are drawn from hunet's random numbers, so that hosts move by the same rules, not along the same paths. The seed of
the movement (``MovementModel.rngSeed``) is the seed of the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hunet.pipeline.one_settings import OneSettings

MODELS = ("RandomWaypoint", "ClusterMovement", "StationaryMovement")
"""The models of movement that can be taken over."""

EXPORT = (
    "for other movement have The ONE write the contacts once (Report.report1 = ConnectivityONEReport), read that file "
    "with Events1.class = ExternalEventsQueue and Events1.filePath, and set Scenario.simulateConnections = false"
)


def world_of_movement(
    run: OneSettings, groups: list[str], end: float, radio_range: float
) -> tuple[int, dict[str, Any]]:
    """The seed and the parameters of the world ``clusters`` in which hosts move as the settings say."""
    width, height = _pair(run, "MovementModel.worldSize")
    seed = run.whole("MovementModel.rngSeed") if run.find("MovementModel.rngSeed") else 0
    return seed, {
        "groups": [_group(run, group) for group in groups],
        "width": width,
        "height": height,
        "radio_range": radio_range,
        "duration": end,
        "warmup": run.number("MovementModel.warmup") if run.find("MovementModel.warmup") else 0.0,
    }


def _group(run: OneSettings, group: str) -> dict[str, Any]:
    def names(setting: str) -> tuple[str, str]:
        return f"{group}.{setting}", f"Group.{setting}"

    model = run.text(*names("movementModel"))
    hosts: dict[str, Any] = {"nodes": run.whole(*names("nrofHosts"))}
    if model == "StationaryMovement":
        x, y = _pair(run, *names("nodeLocation"))
        return hosts | {"x": x, "y": y, "radius": 0.0}
    if model == "ClusterMovement":
        x, y = _pair(run, *names("clusterCenter"))
        hosts |= {"x": x, "y": y, "radius": run.number(*names("clusterRange"))}
    slowest, fastest = _pair(run, *names("speed")) if run.find(*names("speed")) else (1.0, 1.0)
    shortest, longest = _pair(run, *names("waitTime")) if run.find(*names("waitTime")) else (0.0, 0.0)
    if slowest <= 0:
        found = run.find(*names("speed"))
        assert found is not None
        raise found[1].error(f"'{found[0]}' = {found[1].value}: hosts that walk need a speed above 0")
    return hosts | {"speed_min": slowest, "speed_max": fastest, "pause_min": shortest, "pause_max": longest}


def _pair(run: OneSettings, *names: str) -> tuple[float, float]:
    values = run.numbers(*names)
    if len(values) != 2:
        found = run.find(*names)
        assert found is not None
        raise found[1].error(f"'{found[0]}' must be two numbers, not '{found[1].value}'")
    return values[0], values[1]
