"""What can be set of SocialCast."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hunet.model import Parameters, doc
from hunet.systems.socialcast.utility import ATTRIBUTES, Filter, Model, attribute


class SocialCastParameters(Parameters, frozen=True):
    """SocialCast's parameters; the defaults are Table I's."""

    period: Annotated[float, doc("time between two ticks", symbol="T", unit="s", source="Table I", gt=0)] = 20.0
    lag: (
        Annotated[
            float,
            doc("time between two samples of the surroundings; none: T", symbol="τ", unit="s", source="IV", gt=0),
        ]
        | None
    ) = None
    copies: Annotated[int, doc("copies of a publication", symbol="γ", source="Table I", ge=1)] = 3
    hysteresis: Annotated[float, doc("how much better a carrier must be", symbol="ε", source="Table I", ge=0, le=1)] = (
        0.2
    )
    memory: Annotated[int, doc("ids remembered as received", symbol="λ", source="Table I", ge=1)] = 100
    max_hops: (
        Annotated[int, doc("a copy that has come this far is not stored; none: no limit", symbol="maxTTL", ge=1)] | None
    ) = 10
    buffer: Annotated[int, doc("copies a device can hold; none: no limit", symbol="β", ge=1)] | None = None
    weights: Annotated[
        dict[str, float],
        doc(f"weight of each attribute ({', '.join(ATTRIBUTES)}, or module:NAME); they sum to 1", symbol="w"),
    ] = msgspec.field(default_factory=lambda: {"cdc": 0.25, "col": 0.75})
    state_noise: Annotated[float, doc("variance of the state of the predictors", symbol="Q", ge=0)] = 0.01
    observation_noise: Annotated[float, doc("variance of their samples", symbol="R", gt=0)] = 1.0
    model: Annotated[Model, doc("what predictors assume: a level, a trend, a daily season", source="IV")] = "level"
    distrust: (
        Annotated[float, doc("mean error of 20 forecasts above which the last sample is used; none: never", gt=0)]
        | None
    ) = None
    predictors: Annotated[
        dict[str, Filter],
        doc("by attribute: model, state_noise, observation_noise, distrust where it differs", source="IV"),
    ] = msgspec.field(default_factory=dict)
    forget_after: Annotated[
        float, doc("an interest that nobody near has had, or met lately, for so long is forgotten", unit="s", gt=0)
    ] = 86_400.0
    col_mode: Annotated[
        Literal["instant", "interval"], doc("near now, or at some time since the last tick, counts as near")
    ] = "instant"
    battery: Annotated[float, doc("transmissions that a full battery lasts for, where no real one is known", gt=0)] = (
        10_000.0
    )
    snapshots: Annotated[
        tuple[float, ...], doc("times at which buffers are counted, for studies", unit="s", source="V.B.3, Fig. 7")
    ] = ()

    def __post_init__(self) -> None:
        for name in sorted(self.weights):
            attribute(name)
        without_weight = sorted(self.predictors.keys() - self.weights.keys())
        if without_weight:
            raise ValueError(f"predictors: '{without_weight[0]}' has no weight, so nothing is forecast of it")
        if abs(sum(self.weights.values()) - 1) > 1e-9 or min(self.weights.values(), default=0) < 0:
            raise ValueError(f"weights must not be negative and must sum to 1, not {sum(self.weights.values()):g}")

    @property
    def interval(self) -> float:
        """The time between two samples."""
        return self.period if self.lag is None else self.lag
