"""Ten events for every protocol, and capabilities that drivers look for."""

from __future__ import annotations

from typing import Any

import pytest

from hunet import Contacts, HunetError, Publication, Subscription, Workload, run
from hunet.model import Message, Parameters, PeerError
from hunet.protocols import Protocol
from hunet.protocols.capabilities import (
    Checks,
    Counts,
    Delivers,
    Experiment,
    Explains,
    FindsCommunity,
    OutOfBand,
    Prepares,
    Repeats,
    Settles,
    Surrenders,
    Trains,
    exchanges_once,
)
from hunet.protocols.watcher import EVENTS, watch_protocol
from hunet.systems import PROTOCOLS
from hunet.testing import Pair
from tests.node.table import NAMES, Table

CAPABILITIES: tuple[Any, ...] = (
    *(Checks, Counts, Delivers, Explains, FindsCommunity, OutOfBand, Prepares, Repeats, Settles, Surrenders, Trains),
)
B_SUB = {"b-sub", "b-sub-p", "b-sub-pull", "b-sub-push"}
BROKERS = {"social-election", "random-broker"}
LINE = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30)])
NEWS = Workload.of([Publication("m", 0.0, 0, "news")], [Subscription(1, "news")])


class Silent(Protocol):
    """Has what every protocol must have, and no capability."""

    def publish(self, message: Message, now: float) -> None:
        self.driver.stored(message.bit)


def test_a_protocol_has_ten_events() -> None:
    assert [verb for verb, contract in EVENTS.items() if contract is Protocol] == [
        "start", "subscribe", "unsubscribe", "publish", "link_up", "link_down", "receive", "poll", "sent", "timer",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("capability", "who"),
    [
        (Settles, B_SUB),
        (OutOfBand, {"socio-aware-overlay"}),
        (Trains, {"mops", "k-nearest"}),
        (Checks, B_SUB | {"foresight", "max-prop", "prophet", "prophet-v2"}),
        (FindsCommunity, {"mops", "socio-aware-overlay", "bubble-rap"}),
        (Counts, B_SUB | BROKERS | {"mops", "socio-aware-overlay", "socialcast", "socialcast-random"}),
        (Delivers, {"bubble-rap", "max-prop", "prophet", "prophet-v2", "pull", "push", "spray-and-wait"}),
        (Repeats, {"socialcast", "socialcast-random"}),
        (Surrenders, set(PROTOCOLS)),
        (Explains, set(PROTOCOLS)),
    ],
)
def test_who_has_which_capability(capability: Any, who: set[str]) -> None:
    assert {name for name, kind in PROTOCOLS.items() if issubclass(kind, capability)} == who


def test_who_exchanges_once_in_a_contact() -> None:
    assert {name for name, kind in PROTOCOLS.items() if exchanges_once(kind)} == B_SUB | BROKERS


def test_a_protocol_without_capabilities_is_simulated() -> None:
    assert not any(issubclass(Silent, capability) for capability in CAPABILITIES)
    summary = run(LINE, NEWS, Silent, train=0.1).summary
    assert (summary["relayed"], summary["observed"]) == (0, {})
    with pytest.raises(HunetError, match="Silent cannot keep to a storage"):
        run(LINE, NEWS, Silent, storage=1000)


def test_a_protocol_without_capabilities_is_driven_live() -> None:
    table = Table(f"{__name__}:Silent")
    table.publish(0, "news")
    table.meet(0, 1)
    assert [carried["devices"] for carried in table[0].carried(9)] == [[]]
    assert table[0].community() is None
    table[0].link_up(NAMES[1])
    with pytest.raises(PeerError, match="makes no sense here"):
        table.say(1, 0, t="out of band", contact=1, packet={"kind": "hunet.Seen", "messages": []}, publications=[])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_watched_protocol_has_the_capabilities_of_its_kind(protocol: str) -> None:
    given = {"share": 0.5} if protocol == "random-broker" else {}
    inner = Pair(protocol, **given).a.protocol
    watched = watch_protocol(inner, lambda *_: None)
    for capability in CAPABILITIES:
        assert isinstance(watched, capability) == isinstance(inner, capability)
    assert isinstance(watch_protocol(inner, lambda *_: None, also=("settled",)), Settles)


class PreparedParameters(Parameters, frozen=True):
    """What an experimenter gives."""

    nodes: int = 0
    topics: str = ""


class Prepared(Silent):
    """Has no use for what it is given."""

    Parameters = PreparedParameters
    times = 1

    @classmethod
    def prepare(cls, parameters: PreparedParameters, experiment: Experiment) -> dict[str, Any]:
        return {"nodes": len(experiment.contacts.names), "topics": "".join(experiment.topics * cls.times)}


def test_what_is_too_long_for_a_name_is_named_by_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    name = run(LINE, NEWS, Prepared).name
    assert name["parameters"] == {"nodes": 0, "topics": ""}
    assert name["prepared"] == {"nodes": 3, "topics": "news"}
    monkeypatch.setattr(Prepared, "times", 10_000)
    prepared = run(LINE, NEWS, Prepared).name["prepared"]
    assert (prepared["nodes"], prepared["topics"][:7]) == (3, "sha256:")
