"""Brokers that retire or leave for good: nobody lists them any more, and others take their part."""

from __future__ import annotations

from typing import Any

import pytest

from hunet import Contacts, Publication, Subscription, Workload, run
from hunet.systems.socio_aware_overlay.socio_aware_overlay import SocioAwareOverlay
from hunet.worlds import make_world

HOUR = 3600.0
PEOPLE = 5


def circle(leaves_at: float = 99 * HOUR) -> Contacts:
    """Five people of whom each pair meets every ten minutes for eight hours; 0 may leave for good."""
    rows = [
        (str(one), str(two), start + 60.0 * one, start + 60.0 * one + 50)
        for start in range(0, int(8 * HOUR), 600)
        for one in range(PEOPLE)
        for two in range(one + 1, PEOPLE)
        if one or start < leaves_at
    ]
    return Contacts.from_records(rows)


WORK = Workload.of(
    [Publication(f"m{quarter}", HOUR * quarter / 4, 3, "news", ttl=HOUR) for quarter in range(4, 31)],
    [Subscription(4, "news")],
)


@pytest.mark.parametrize("link", ["direct", "unicast"])
def test_a_broker_that_leaves_for_good_is_replaced_without_any_setting(link: str) -> None:
    """The only broker leaves after three hours: known for three, it is taken for gone after one and a half."""

    def found(contacts: Contacts, **given: Any) -> Any:
        chosen = {"broker_link": link, "unicast": "contact", "inject": "broker", "broker_group": False, **given}
        return run(contacts, WORK, "socio-aware-overlay", **chosen)

    stays = found(circle())
    assert stays.summary["delivered"] == len(WORK.publications)
    assert stays.roles[stays.roles["role"] == "broker"]["node"].tolist() == ["0"]
    left = found(circle(leaves_at=3 * HOUR))
    (successor,) = left.roles[(left.roles["role"] == "broker") & (left.roles["time"] > HOUR)].itertuples()
    assert successor.node == "1"
    assert 4.0 * HOUR < successor.time < 4.6 * HOUR
    assert left.summary["delivered"] >= 25
    late = {publication.id for publication in WORK.publications if publication.time > successor.time}
    assert len(late) == 13
    assert late <= set(left.deliveries["publication"])
    never = found(circle(leaves_at=3 * HOUR), patience=None)
    assert never.summary["delivered"] == 8  # nothing more after it has left


def test_directories_list_the_brokers_that_there_are_and_each_publication_goes_to_them_once() -> None:
    """At the end of a run of a world with communities fewer than one entry in ten is stale."""
    devices: list[SocioAwareOverlay] = []
    sent = {"Direct": 0, "Announcements": 0, "Subscriptions": 0}

    class Watched(SocioAwareOverlay):
        def observations(self, now: float) -> dict[str, float]:
            devices.append(self)
            return super().observations(now)

        def _send_out_of_band(self, broker: int, packet: Any) -> None:
            sent[type(packet).__name__] += 1
            super()._send_out_of_band(broker, packet)

    contacts = make_world("community", seed=2, hosts=40, caves=5, duration=4 * HOUR)
    result = run(contacts, {"messages": 60, "ttl": HOUR, "first": 0.25}, Watched, threshold=900.0, seed=2)
    there = sum(1 << device.node for device in devices if device.is_broker)
    listed = [device.directory.brokers for device in devices]
    stale = sum((brokers & ~there).bit_count() for brokers in listed)
    missing = sum((there & ~brokers).bit_count() for brokers in listed)
    assert there.bit_count() >= 5
    assert stale < 0.1 * sum(map(int.bit_count, listed))
    assert missing < 0.1 * there.bit_count() * len(devices)
    brokers, most = set[str](), 0
    for change in result.roles.itertuples():
        (brokers.add if change.role == "broker" else brokers.discard)(change.node)
        most = max(most, len(brokers))
    assert most > there.bit_count(), "some have retired"
    assert 0 < sent["Direct"] < 1.25 * most * 60
