"""Single rules of the overlay: of its directory of brokers and of its communities."""

from __future__ import annotations

from hunet.systems.socio_aware_overlay.broker_directory import BrokerDirectory, Entry
from hunet.systems.socio_aware_overlay.detection import agreed
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters, LocalCommunity


def test_of_two_entries_with_one_handle_the_newer_stays_however_unlike_they_are() -> None:
    new = Entry(0b001, 0b000111, 5.0)
    old = Entry(0b001, 0b111001, 1.0)
    assert (new.handle, old.handle) == (0, 0)
    directory = BrokerDirectory()
    assert directory.update([new])
    assert not directory.update([old])
    assert directory.entries() == (new,)


def test_who_is_in_a_community_makes_no_other() -> None:
    assert agreed([0b011, 0b011, 0b100], least=1) == [0b011, 0b100]


def test_a_friend_whom_the_window_has_left_behind_is_a_change() -> None:
    mine = LocalCommunity(0, DetectionParameters(threshold=10.0, window=100.0))
    mine.meet(1, 0.0)
    mine.cross(1, 10.0)
    mine.part(1, 20.0)
    mine._confirm(1, 20.0)
    assert not mine._forget(105.0)
    assert mine._forget(115.0)  # five seconds are left in the window, and it was confirmed within it
    assert (mine.familiar, mine.nodes) == (0, 0b11)
