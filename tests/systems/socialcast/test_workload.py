"""SocialCast's workload: interests mirror communities, and half of the people speak and listen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hunet import Contacts, HunetError, Workload, make_workload

# Six people of community 7, three of 8 and one of 9, of whom nobody meets anybody but the next.
LABELS = [7, 7, 8, 7, 8, 7, 9, 7, 8, 7]


def crowd(labels: list[int] | None = None, nodes: int = 10) -> Contacts:
    rows = [(f"n{k}", f"n{k + 1}", 10.0 * k, 10.0 * k + 5) for k in range(nodes - 1)]
    return Contacts.from_records(rows, metadata={"communities": labels or LABELS})


def of_each(work: Workload) -> dict[int, str]:
    return {wanted.node: wanted.topic for wanted in work.subscriptions}


def test_vector_7_nine_publications_of_each_of_fifty_publishers() -> None:
    """From 3000 s every 60 s until 3500 s; who begins in the last 40 of the first 60 s is done after eight."""
    work = make_workload(crowd([0] * 100, 100), 1, "communities")
    spoken = Counter(said.node for said in work.publications)
    assert len(spoken) == 50
    first = {said.node: said.time for said in reversed(work.publications)}
    assert all(spoken[node] == (9 if first[node] < 3020 else 8) for node in spoken)
    punctual = [3000 + 60 * k for k in range(20) if 3000 + 60 * k < 3500]
    assert (len(punctual), 50 * len(punctual)) == (9, 450)
    for node in spoken:
        times = [said.time for said in work.publications if said.node == node]
        assert times == pytest.approx([first[node] + 60 * k for k in range(len(times))])
        assert 3000 <= times[0] < 3060 and times[-1] < 3500


def test_an_interest_is_that_of_the_own_community_the_largest_first() -> None:
    work = make_workload(crowd(), 1, "communities", subscribers=1.0)
    assert of_each(work) == {node: f"i{LABELS[node] - 7}" for node in range(10)}


def test_communities_share_interests_where_there_are_fewer() -> None:
    work = make_workload(crowd(), 1, "communities", subscribers=1.0, interests=2)
    assert of_each(work) == {node: "i1" if LABELS[node] == 8 else "i0" for node in range(10)}


def test_messages_are_on_interests_that_somebody_has() -> None:
    work = make_workload(crowd(), 3, "communities", subscribers=0.2)
    assert {said.topic for said in work.publications} <= set(of_each(work).values())


def test_publishers_among_the_subscribers_keep_to_their_interest() -> None:
    work = make_workload(crowd(), 1, "communities", among_subscribers=True)
    wanted = of_each(work)
    assert {said.node for said in work.publications} == set(wanted)
    assert all(wanted[said.node] == said.topic for said in work.publications)


def test_a_file_says_who_belongs_where(tmp_path: Path) -> None:
    classes = tmp_path / "classes.txt"
    classes.write_text("\n".join(f"n{k}\t{'2BIO' if k < 6 else 'MP'}\tF" for k in range(12)) + "\n\n")
    work = make_workload(crowd(), 1, "communities", subscribers=1.0, members=str(classes))
    assert of_each(work) == {node: "i0" if node < 6 else "i1" for node in range(10)}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("n0 a\nn1\n", r"line 2: a line has a node and its community"),
        ("n0 a\n", "does not say to which community node 'n1' belongs"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_does_not_say_it_is_refused(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "classes.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(HunetError, match=problem):
        make_workload(crowd(), 1, "communities", members=str(path))


def test_contacts_that_know_no_communities_are_refused() -> None:
    with pytest.raises(HunetError, match="members=FILE"):
        make_workload(Contacts.from_records([("a", "b", 0.0, 1.0)]), 1, "communities")
    with pytest.raises(HunetError, match=r"until \(5\) must be after start \(10\)"):
        make_workload(crowd(), 1, "communities", start=10, until=5)
