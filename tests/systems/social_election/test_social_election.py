"""Social election: who becomes a broker, by examples worked out by hand, on a table."""

from __future__ import annotations

from typing import Any

import pytest

from hunet import HunetError, Links, make_workload, make_world, run
from hunet.model import Catalogue, Node
from hunet.protocols.codec import decode, encode
from hunet.systems.social_election.social_election import Hello
from hunet.systems.social_election.swarm import Designation
from hunet.testing import Network, TestNode


def paper(nodes: int, **given: Any) -> Network:
    """Devices with the window of the paper."""
    return Network("social-election", nodes, **{"window": 100.0, **given})


def has_met(node: TestNode, *brokers: tuple[Node, float, int], users: tuple[Node, ...] = ()) -> None:
    """Fill a window: brokers with the time at which the encounter ended and their popularity; users, at time 0."""
    window = node.protocol.window
    for user in users:
        window.record(user, broker=False, peers=())
        window.end(user, 0.0)
    for broker, time, popularity in brokers:
        window.record(broker, broker=True, peers=tuple(range(100, 100 + popularity)))
        window.end(broker, time)


def wish(node: TestNode, role: str, popularity: int = 0, at: float = 0.0, first: int = 100) -> str | None:
    """What a device would designate one of this role and popularity."""
    protocol = node.protocol
    protocol.window.forget(at)
    return protocol.designation(role, tuple(range(first, first + popularity)), at)  # type: ignore[no-any-return]


def roles(net: Network) -> str:
    return "".join(node.protocol.role[0] for node in net.nodes)


BROKERS = ((10, 0.0, 3), (11, 10.0, 6), (12, 50.0, 6))  # a, b and c: mean popularity 5


def test_vector_2_an_unpopular_broker_is_dismissed() -> None:
    for popularity, after in ((4, "user"), (5, "broker")):
        net = paper(2, switching=1.0)
        x, y = net.nodes
        has_met(x, *BROKERS)
        has_met(y, *((20 + i, 1.0, 1) for i in range(popularity)))  # has met enough brokers to leave x alone
        y.protocol.become("broker", 0.0)
        x.meet(y, at=60)
        assert y.protocol.role == after
        assert x.protocol.role == "user"
        # At 101 the first broker has left the window, and a dismissed y is remembered as a user.
        enough = after == "broker"
        assert wish(x, "user", at=101) == (None if enough else "broker")
        assert wish(x, "broker", popularity=0, at=101) == ("user" if enough else None)


def test_vector_3_between_the_bounds_nothing_changes() -> None:
    net = paper(1, lower_bound=1, upper_bound=9)
    has_met(net[0], *((10 + i, 0.0, 9) for i in range(4)))
    assert wish(net[0], "user") is None
    assert wish(net[0], "broker", popularity=0) is None


def test_without_an_upper_bound_of_its_own_the_lower_one_holds() -> None:
    net = paper(1, lower_bound=2)
    has_met(net[0], (10, 0.0, 9))
    assert (wish(net[0], "user"), wish(net[0], "broker")) == ("broker", None)
    has_met(net[0], (11, 0.0, 9))
    assert (wish(net[0], "user"), wish(net[0], "broker")) == (None, "user")


def test_the_first_to_meet_appoint_each_other() -> None:
    """The smaller number decides first; then the other decides, and sees what the first has become."""
    net = paper(2, switching=1.0, lower_bound=1, upper_bound=1)
    net[0].meet(net[1], at=0)
    assert roles(net) == "bb"  # both had met no broker before
    net[0].meet(net[1], at=1)  # now both have, and each has met one node, as the other said
    assert roles(net) == "bb"
    assert [packet.become for _, _, packet in net.sent if hasattr(packet, "become")] == ["broker", "broker", None, None]


def test_the_second_sees_the_changed_role() -> None:
    """The smaller number dismisses the other, which then has a user before it, not a broker."""
    net = paper(2, switching=1.0, lower_bound=1, upper_bound=1)
    one, two = net.nodes
    has_met(one, (10, 0.0, 5))
    has_met(two, (11, 0.0, 5), users=(12,))
    for node in net.nodes:
        node.protocol.become("broker", 0.0)
    one.meet(two, at=1)
    assert roles(net) == "uu"  # each has met fewer than five nodes
    assert one.protocol.window.broker_count == two.protocol.window.broker_count == 1  # the one met before


def test_encounters_are_remembered_by_the_role_after_the_election() -> None:
    net = paper(3, switching=1.0, lower_bound=1, upper_bound=2)
    a, b, c = net.nodes
    a.meet(b, at=0)
    assert a.protocol.window.broker_count == b.protocol.window.broker_count == 1
    b.meet(c, at=50)  # b has met its broker and leaves c alone; c has met none, and b is one already
    assert roles(net) == "bbu"
    assert c.protocol.window.peers == (1,)
    assert b.protocol.window.peers == (0, 2)
    b.protocol.window.forget(100)
    assert b.protocol.window.peers == (2,)


def test_a_broker_that_stays_is_met_all_the_time_and_its_encounter_ages_from_the_end() -> None:
    net = paper(2, switching=0.0)
    user, broker = net.nodes
    broker.protocol.become("broker", 0.0)
    user.connect(broker, at=0)
    user.protocol.window.forget(1000)
    assert user.protocol.window.peers == (1,)
    assert user.protocol.window.broker_count == 1
    user.disconnect(broker, at=1000)
    user.protocol.window.forget(1099)
    assert user.protocol.window.broker_count == 1
    user.protocol.window.forget(1100)
    assert user.protocol.window.peers == ()


def test_a_role_that_changes_during_a_contact_counts() -> None:
    net = paper(3, switching=0.0)
    watcher, peer, _ = net.nodes
    watcher.connect(peer, at=0)
    counts = []
    for at, role in ((10, "broker"), (200, "user"), (300, "broker")):
        net.advance(at)
        peer.protocol.become(role, at)
        net.engine.settle()
        counts.append(watcher.protocol.window.broker_count)
    assert counts == [1, 0, 1]
    watcher.disconnect(peer, at=400)
    peer.protocol.become("user", 401)  # nobody tells the watcher
    assert watcher.protocol.window.broker_count == 1


def test_popularity_is_told_without_the_present_encounter() -> None:
    net = paper(3)
    net[0].meet(net[1], at=0)
    net[0].meet(net[2], at=1)
    hellos = [(a, b, packet.peers) for a, b, packet in net.sent if isinstance(packet, Hello)]
    assert hellos == [(0, 1, ()), (1, 0, ()), (0, 2, (1,)), (2, 0, ())]


@pytest.mark.parametrize(
    ("difference", "popularity", "first", "dismissed"),
    [
        ("mean", 4, 100, True),  # of popularities 3, 6 and 6
        ("mean", 5, 100, False),
        ("marginal", 6, 100, True),  # adds nobody to 100..105
        ("marginal", 6, 102, True),  # adds 2
        ("marginal", 5, 200, False),  # adds 5
        ("scalar", 10, 200, True),  # 4 more than their 6
        ("scalar", 11, 200, False),
    ],
)
def test_three_readings_of_the_popularity_difference(
    difference: str, popularity: int, first: int, dismissed: bool
) -> None:
    net = paper(1, difference=difference)
    has_met(net[0], *BROKERS)
    assert (wish(net[0], "broker", popularity, at=60, first=first) == "user") is dismissed


def test_the_threshold_can_be_set() -> None:
    net = paper(1, difference="marginal", threshold=2)
    has_met(net[0], *BROKERS)
    assert wish(net[0], "broker", 6, at=60, first=101) == "user"  # adds 1
    assert wish(net[0], "broker", 6, at=60, first=102) is None


def test_the_designated_obey_with_the_switching_probability() -> None:
    for switching, expected in ((0.0, 0), (1.0, 400), (0.5, 200)):
        obeyed = 0
        for seed in range(200):
            net = paper(2, switching=switching, seed=seed)
            net[0].meet(net[1], at=0)
            obeyed += roles(net).count("b")
        assert obeyed == pytest.approx(expected, abs=40 if switching == 0.5 else 0)


def pairs(seconds: float, **given: Any) -> tuple[int, int]:
    """Of 100 pairs that stay together: how many have a broker, and how many their message, by then."""
    elected = delivered = 0
    for seed in range(100):
        net = paper(2, seed=seed, **given)
        net[1].subscribe("A")
        net[0].connect(net[1], at=0)
        net[0].publish("A", at=1)
        net.advance(seconds)
        elected += "b" in roles(net)
        delivered += len(net[1].delivered)
    return elected, delivered


def test_two_people_are_enough() -> None:
    assert pairs(30)[1] == 100
    with_brokers_only = {"direct_delivery": False, "window": 100.0}
    elected, delivered = pairs(1000, ask_again=False, **with_brokers_only)
    assert 60 < elected == delivered < 90  # two coins each, for ever
    assert pairs(100, **with_brokers_only) == (100, 100)


def test_who_has_a_broker_does_not_ask_again() -> None:
    net = paper(3, switching=0.0, window=100.0)
    one, two, three = net.nodes
    one.connect(two, at=0)
    net.advance(35)
    asked = [(a, b) for a, b, packet in net.sent if isinstance(packet, Designation)]
    assert sorted(asked) == [(0, 1)] * 4 + [(1, 0)] * 4  # when they meet, and at 10, 20 and 30
    three.protocol.become("broker", 35)
    for other in (one, two):
        other.connect(three, at=36)
    before = len(net.packets("Designation"))
    net.advance(200)
    assert len(net.packets("Designation")) == before
    two.disconnect(three, at=201)
    net.advance(300)
    assert len(net.packets("Designation")) == before
    net.advance(320)  # the broker has left the second's window
    assert set(net.packets("Designation")[before:]) == {"1->0"}


def test_bounds_can_grow_during_the_first_window() -> None:
    net = paper(1, adaptive_start=True, lower_bound=2, upper_bound=4)
    has_met(net[0], (10, 0.0, 9))
    assert wish(net[0], "user", at=25) is None  # a lower bound of 0.5
    assert wish(net[0], "broker", at=25) == "user"  # an upper bound of 1
    has_met(net[0], (10, 70.0, 9))
    assert wish(net[0], "user", at=75) == "broker"
    assert wish(net[0], "broker", at=75) is None
    assert wish(net[0], "user", at=150) == "broker"


def test_ferries_promote_themselves() -> None:
    """Between two crowds a device meets nobody; then it is the only one who can carry anything."""
    net = paper(2, self_promotion=True, switching=1.0, lower_bound=1)
    ferry, other = net.nodes
    has_met(ferry, (10, 0.0, 1))
    has_met(other, (10, 0.0, 1), (11, 60.0, 1))
    net.advance(99)
    assert roles(net) == "uu"  # the window still has a broker
    net.advance(102)
    assert roles(net) == "bu"
    net.advance(162)
    assert roles(net) == "bb"


def test_all_who_meet_fewer_brokers_than_before_may_promote_themselves() -> None:
    """The paper's condition: the number of brokers met drops below the lower bound, wherever a device is."""
    net = paper(3, self_promotion=True, ferries="all", switching=1.0, lower_bound=1, ask_again=False)
    one = net[0]
    has_met(one, (10, 0.0, 1))
    net.advance(99)
    assert roles(net) == "uuu"
    net.advance(111)
    assert roles(net) == "buu"  # the others have never met enough


def test_who_stands_in_company_is_not_a_ferry() -> None:
    net = paper(2, self_promotion=True, switching=1.0, lower_bound=0, upper_bound=1)
    net[0].connect(net[1], at=10)
    net.advance(500)
    assert roles(net) == "uu"
    for node in net.nodes:
        node.protocol.parameters = type(node.protocol.parameters)(self_promotion=True, switching=1.0)
    net[0].disconnect(net[1], at=501.25)
    net.advance(550)
    assert roles(net) == "uu"
    net.advance(553)
    assert net.engine.record.roles[-2:] == [(551.25, 0, "broker"), (551.25, 1, "broker")]  # after half a window


def test_nobody_waits_for_a_greeting_that_was_lost() -> None:
    for seed in range(10):
        net = paper(2, links=Links(loss=0.2), seed=seed)
        net[1].subscribe("x")
        hello = net[0].publish("x")
        for at in range(10, 2000, 20):
            net[0].meet(net[1], at=at)
        assert net[1].delivered == [hello]


def test_a_popularity_travels_by_name() -> None:
    hello = Hello("user", (0, 2))
    plain = encode(hello, Catalogue(), ["ann", "bob", "eve"])
    assert plain == {"kind": "social-election.Hello", "role": "user", "peers": ["ann", "eve"]}
    assert decode(plain, Catalogue(), {"eve": 5, "ann": 3}) == Hello("user", (3, 5))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"lower_bound": 4, "upper_bound": 3}, r"lower_bound \(4\) must not exceed upper_bound \(3\)"),
        ({"switching": 2}, "switching"),
        ({"window": 0}, "window"),
        ({"replication": "none"}, "replication"),
        ({"buffer": 0}, "buffer"),
    ],
)
def test_bad_parameters_are_refused_in_a_line(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(HunetError, match=problem) as error:
        paper(2, **given)
    assert "\n" not in str(error.value)


# Random broker allocation ------------------------------------------------------------------------------------------


def test_brokers_by_lot_serve_for_a_cycle() -> None:
    net = Network("random-broker", 200, share=0.3, cycle=50)
    seen = []
    for at in (0, 49, 50, 99, 100):
        net.advance(at)
        net.advance(at)
        seen.append(roles(net))
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert len(set(seen)) == 3
    assert all(drawn.count("b") == pytest.approx(60, abs=20) for drawn in seen)


def test_the_number_of_random_brokers_is_matched_to_social_elections() -> None:
    contacts = make_world("waypoint", seed=3, nodes=60, duration=900.0, width=700.0, height=700.0)
    workload = make_workload(contacts, seed=3, kind="types", interval=20.0)
    found = {}
    for bound in (1, 3):
        given: dict[str, Any] = {"window": 100.0, "lower_bound": bound, "upper_bound": bound, "seed": 3}
        elected = run(contacts, workload, "social-election", **given)
        drawn = run(contacts, workload, "random-broker", **given)
        share = elected.summary["observed"]["duty"] / elected.summary["observed"]["watched"]
        assert drawn.name["prepared"]["share"] == share
        assert drawn.summary["observed"]["duty"] / drawn.summary["observed"]["watched"] == pytest.approx(
            share, abs=0.07
        )
        found[bound] = share
    assert found[1] < 0.6 * found[3]
    set_by_hand = run(contacts, workload, "random-broker", **drawn.name["prepared"], **given)
    assert set_by_hand.summary == drawn.summary


def test_a_share_is_asked_for_where_it_cannot_be_measured() -> None:
    with pytest.raises(HunetError, match="needs a share of brokers"):
        Network("random-broker", 2)
    contacts = make_world("waypoint", seed=1, nodes=5, duration=90)
    with pytest.raises(HunetError, match=r"end within the first window \(100 s\)"):
        run(contacts, make_workload(contacts), "random-broker")
