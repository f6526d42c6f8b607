"""Single rules of SocialCast and of its forecasts."""

from __future__ import annotations

from typing import Any

import pytest

from hunet.model import ConfigurationError
from hunet.systems.socialcast.kalman import ScalarKalman, local_level, local_linear_trend, with_season
from hunet.systems.socialcast.socialcast import Transfer
from hunet.systems.socialcast.utility import Chosen
from hunet.testing import Network


def test_by_lot_nobody_is_handed_what_it_has() -> None:
    node = Network("socialcast-random", 3)[0]
    have, lack = node.publish("x"), node.publish("x")
    protocol = node.protocol
    protocol.rows = {1: None, 2: None}
    protocol.has = {1: have.bit, 2: have.bit}
    drawn = 0
    for _ in range(50):
        protocol._handovers.clear()
        protocol.choose_carriers(["x"], have.bit | lack.bit)
        assert not any(messages & have.bit for messages in protocol._handovers.values())
        drawn += len(protocol._handovers)
    assert 20 < drawn < 50  # two of three lots


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="weights must not be negative"):
        Network("socialcast", 1, weights={"cdc": 1.5, "col": -0.5})


def test_a_copy_that_was_lost_is_put_back_as_it_was() -> None:
    net = Network("socialcast", 2, copies=1)
    node = net[0].protocol
    message = net[1].publish("x")
    net[0].receive(1, Transfer(message.bit, (3,), True), net.now)
    [(arrival, copy)] = node.copies.items()
    assert copy == (message.number, 3)
    hops = node._lift(message.number)
    node.sent(1, Transfer(message.bit, (hops + 1,), True), False, net.now)
    assert list(node.copies.values()) == [(message.number, 3)]
    assert arrival not in node.copies
    assert node.held == message.bit


def states(predictor: Any) -> int:
    return 1 if isinstance(predictor, ScalarKalman) else len(predictor._model.state)


@pytest.mark.parametrize(("model", "size"), [("level", 1), ("trend", 2), ("season", 3)])
def test_each_model_has_its_own_predictor(model: str, size: int) -> None:
    settings = Network("socialcast", 1, model=model)[0].protocol.parameters
    predictor = Chosen(settings, "col").predictor()
    assert isinstance(predictor, ScalarKalman) == (model == "level")
    assert states(predictor) == size


def test_a_season_is_seen_by_its_first_part() -> None:
    assert with_season(local_level(0.1, 1.0), 24, 0.1).g == [[1.0, 1.0, 0.0]]
    assert with_season(local_linear_trend(0.1, 0.1, 1.0), 24, 0.1).g == [[1.0, 0.0, 1.0, 0.0]]


def test_only_carriers_of_what_was_served_are_asked_again() -> None:
    net = Network("socialcast", 3, copies=1)
    for peer in (1, 2):
        net[0].connect(net[peer], at=1)
    device = net[0].protocol
    device._handovers = {1: 0b01, 2: 0b10}
    device._wake_carriers_of(0b10)
    assert list(net.engine.awake) == [(0, 2)]
