"""A device whose ticks are alike leaves them out and makes up for them later: nothing that anybody sees may differ."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunet import Contacts, Crash, Links, Publication, Subscription, Workload, run
from hunet.systems.socialcast.baselines import SocialCastRandom
from hunet.systems.socialcast.kalman import ScalarKalman
from hunet.systems.socialcast.parameters import SocialCastParameters
from hunet.systems.socialcast.socialcast import SocialCast
from hunet.systems.socialcast.utility import Chosen


def awake(kind: type[SocialCast]) -> type[SocialCast]:
    """The plain loop of Fig. 2: a tick every T seconds, whoever is there."""

    base: Any = kind

    class Awake(base):  # type: ignore[misc]
        def timer(self, tag: str, now: float) -> None:
            super().timer(tag, now)
            due: float | None = vars(self)["_asleep"]
            if due is not None:
                self.driver.set_timer("tick", due)
                self._asleep = None

    return Awake


def counting(kind: type[SocialCast]) -> Any:
    """The same, which counts its ticks."""
    base: Any = kind

    class Counting(base):  # type: ignore[misc]
        ticks = 0

        def timer(self, tag: str, now: float) -> None:
            Counting.ticks += tag == "tick"
            super().timer(tag, now)

    return Counting


def sparse_crowd(seed: int) -> tuple[Contacts, Workload]:
    """Short meetings with long pauses; some begin and end at the very instants of others."""
    return crowd(seed, 60, [0.0, 5.0, 45.0])


def crowd(seed: int, meetings: int, lengths: list[float]) -> tuple[Contacts, Workload]:
    rng = Random(seed)
    rows = []
    for _ in range(meetings):
        a, b = rng.sample(range(6), 2)
        start = float(rng.randrange(0, 4000, 10))
        rows.append((str(a), str(b), start, start + rng.choice(lengths)))
    topics = ["x", "y"]
    publications = [
        Publication(
            f"m{i}", float(rng.randrange(0, 3000)), rng.randrange(6), rng.choice(topics), 10, rng.choice([None, 700.0])
        )
        for i in range(20)
    ]
    subscriptions = [Subscription(n, rng.choice(topics), float(rng.randrange(0, 2000))) for n in range(6)]
    subscriptions[0] = subscriptions[0]._replace(end=2500.0)
    return Contacts.from_records(rows), Workload.of(publications, subscriptions)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (SocialCast, {}),
        (SocialCast, {"buffer": 3, "hysteresis": 0.0}),
        (SocialCast, {"lag": 3.0, "predictors": {"cdc": {"state_noise": 0.4}}}),
        (SocialCast, {"lag": 23.0, "weights": {"cdc": 0.2, "col": 0.6, "battery": 0.2}}),
        (SocialCast, {"col_mode": "interval", "weights": {"cdc": 0.2, "col": 0.6, "battery": 0.2}}),
        (SocialCast, {"model": "trend", "distrust": 0.1}),
        (SocialCastRandom, {}),
    ],
)
def test_a_device_that_sleeps_does_what_one_that_ticks_does(kind: type[SocialCast], parameters: dict[str, Any]) -> None:
    delivered = 0
    for seed in range(2 if "model" in parameters else 12):  # the general predictor takes its time
        crowd = sparse_crowd(seed)
        sleeping, ticking = (run(*crowd, each, seed=seed, period=7.0, **parameters) for each in (kind, awake(kind)))
        assert sleeping.deliveries.equals(ticking.deliveries)
        assert sleeping.forwards.equals(ticking.forwards)
        assert sleeping.summary == ticking.summary
        delivered += len(sleeping.deliveries)
    assert delivered > (8 if "model" in parameters else 60)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (SocialCast, {}),
        (SocialCast, {"memory": 4, "hysteresis": 0.05}),
        (SocialCast, {"buffer": 3, "col_mode": "interval", "copies": 1}),
        (SocialCast, {"weights": {"col": 1.0}, "hysteresis": 0.0, "links": Links(rate=0.02)}),
        (SocialCast, {"storage": 40, "crashes": [Crash(1, 900.0, 200.0), Crash(2, 1500.0)]}),
        (SocialCast, {"links": Links(loss=0.3)}),
        (SocialCastRandom, {}),
    ],
)
def test_in_company_too(kind: type[SocialCast], parameters: dict[str, Any]) -> None:
    forwarded = ticks = made = 0
    for seed in range(3):
        people = crowd(seed, 25, [5.0, 200.0, 900.0])
        counted = counting(kind), counting(awake(kind))
        sleeping, ticking = (run(*people, each, seed=seed, period=7.0, **parameters) for each in counted)
        assert sleeping.forwards.equals(ticking.forwards)
        assert sleeping.series.equals(ticking.series)
        assert sleeping.deliveries.equals(ticking.deliveries)
        assert sleeping.summary == ticking.summary
        forwarded += len(sleeping.forwards)
        made, ticks = made + counted[0].ticks, ticks + counted[1].ticks
    assert forwarded > 60
    assert made < (0.9 if "links" in parameters else 0.5) * ticks


@given(
    st.floats(0.001, 2), st.floats(0.1, 2), st.lists(st.floats(0, 1), max_size=5), st.floats(0, 1), st.integers(1, 3000)
)
def test_repeating_a_sample_is_updating_so_often(q: float, r: float, before: list[float], y: float, times: int) -> None:
    one, other = ScalarKalman(q, r), ScalarKalman(q, r)
    for sample in before:
        one.update(sample)
        other.update(sample)
    forecasts = [other.update(y) for _ in range(times)]
    assert one.repeat(y, times) == forecasts[-1]
    assert (one.error, one.forecast) == (other.error, other.forecast)


@pytest.mark.parametrize("distrust", [None, 0.1])
def test_any_model_repeats_a_sample_so_often(distrust: float | None) -> None:
    chosen = Chosen(SocialCastParameters(model="trend", distrust=distrust), "col")
    one, other = chosen.predictor(), chosen.predictor()
    for times in (1, 2, 5):
        assert one.repeat(0.7, times) == [other.update(0.7) for _ in range(times)][-1]
