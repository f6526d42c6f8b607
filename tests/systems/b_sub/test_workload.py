"""B-SUB's workload, and those from real interests."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from hunet import Contacts, make_workload
from hunet.model import ConfigurationError, InputError
from hunet.systems.b_sub.workload import TABLE_2, TAGS, tag_shares

CROWD = Contacts.from_records([(str(n), str(n + 1), 0, 720_000) for n in range(1, 30)])


def test_vector_12_table_2() -> None:
    assert round(sum(TABLE_2), 4) == 0.3976
    assert [len(tag) for tag in TAGS[:4]] == [7, 12, 15, 13]
    assert mean(len(tag) for tag in TAGS[:4]) == 11.75


def test_the_pool_has_38_tags_of_about_12_bytes() -> None:
    assert len(set(TAGS)) == 38
    assert mean(len(tag.encode()) for tag in TAGS) == pytest.approx(12, abs=0.5)
    assert not any(" " in tag for tag in TAGS)


def test_the_tail_falls_off_geometrically_and_makes_the_sum_one() -> None:
    shares = tag_shares()
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    ratios = [two / one for one, two in pairwise(shares[3:])]
    assert ratios == pytest.approx([0.892793] * 34, abs=1e-6)
    assert (round(shares[4], 4), round(shares[37], 5)) == (0.0660, 0.00156)
    for tags in (5, 6, 12, 38):
        assert sum(tag_shares(tags)) == pytest.approx(1)


def test_everybody_wants_two_tags_and_keeps_talking() -> None:
    work = make_workload(CROWD, seed=3, kind="tags", max_interval=3600)
    wanted = Counter(s.node for s in work.subscriptions)
    assert set(wanted.values()) == {2}
    assert len(wanted) == len(CROWD.names)
    said = Counter(p.node for p in work.publications)
    assert mean(said.values()) == pytest.approx(2 * 200, rel=0.03)
    for node in said:
        times = sorted(p.time for p in work.publications if p.node == node)
        gaps = [two - one for one, two in pairwise(times)]
        assert max(gaps) <= 3600
        assert mean(gaps) == pytest.approx(1800, rel=0.12)
    shares = Counter(p.topic for p in work.publications)
    for tag, share in zip(TAGS[:4], TABLE_2, strict=True):
        assert shares[tag] / len(work.publications) == pytest.approx(share, abs=0.012)
    assert {(p.size, p.ttl) for p in work.publications} == {(140, 3600.0)}


def test_the_same_seed_gives_the_same_workload_and_others_do_not() -> None:
    one, two, other = (make_workload(CROWD, seed=s, kind="tags") for s in (1, 1, 2))
    assert one.fingerprint == two.fingerprint != other.fingerprint


def test_a_pool_smaller_than_the_interests_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot exceed tags"):
        make_workload(CROWD, kind="tags", tags=5, interests=6)


def test_a_message_may_have_several_tags() -> None:
    work = make_workload(CROWD, seed=3, kind="tags", each=3)
    assert {len(set(said.topic.split())) for said in work.publications} == {3}
    common = Counter(tag for said in work.publications for tag in said.topic.split())
    assert [tag for tag, _ in common.most_common(4)] == list(TAGS[:4])
    for each in (6, 39):
        with pytest.raises(ConfigurationError, match=r"each .* cannot exceed tags"):
            make_workload(CROWD, kind="tags", tags=5, interests=1, each=each)


# Real interests --------------------------------------------------------------------------------------------------


def test_people_want_their_topics_in_languages_that_they_know(tmp_path: Path) -> None:
    (tmp_path / "1.dat").write_text("Name=1\nlanguages=3,1\ntopics=15,22\n")
    (tmp_path / "2.dat").write_text("Name=2\nlanguages=1\ntopics=15\n")
    (tmp_path / "3.dat").write_text("Name=3\nlanguages=\ntopics=15\n")
    work = make_workload(CROWD, kind="questionnaires", folder=str(tmp_path), languages=True)
    assert [(each.node, each.topic) for each in work.subscriptions] == [
        (0, "(language = 1 or language = 3) and topic-15"),
        (0, "(language = 1 or language = 3) and topic-22"),
        (1, "language = 1 and topic-15"),
        (2, "topic-15"),
    ]
    assert {said.topic for said in work.publications if said.node == 0} == {
        f"topic-{topic} language = {language}" for topic in (15, 22) for language in (1, 3)
    }
    assert {said.topic for said in work.publications if said.node == 2} == {"topic-15"}
    wanting = make_workload(CROWD, kind="questionnaires", folder=str(tmp_path))
    assert {each.topic for each in wanting.subscriptions} == {"topic-15", "topic-22"}


def test_questionnaires_give_interests_and_messages_on_them(tmp_path: Path) -> None:
    (tmp_path / "1.dat").write_text("Name=1\ntopics=15, 22,15\n")
    (tmp_path / "2.dat").write_text("Name=2\ntopics=\n")
    work = make_workload(CROWD, kind="questionnaires", folder=str(tmp_path))
    assert [(s.node, s.topic) for s in work.subscriptions] == [(0, "topic-15"), (0, "topic-22")]
    assert {(p.node, p.topic) for p in work.publications} == {(0, "topic-15"), (0, "topic-22")}


def test_groups_give_interests_and_the_messages_that_were_sent(tmp_path: Path) -> None:
    (tmp_path / "interests1.csv").write_text("# Format: user_id;group_id\n1;7\n2;7\n99;7\n")
    (tmp_path / "interests2.csv").write_text("# Format: user_id;group_id;time_added\n3;7;500\n")
    (tmp_path / "messages.csv").write_text("# Format: ...\n4;1;100;M;7\n5;1;100;B;-1\n6;99;100;M;7\n")
    work = make_workload(CROWD, kind="groups", folder=str(tmp_path), ttl=None)
    assert [(p.id, p.time, p.node, p.topic) for p in work.publications] == [("m4", 100.0, 0, "group-7")]
    assert [(s.node, s.start) for s in work.subscriptions] == [(0, float("-inf")), (1, float("-inf")), (2, 500.0)]


def test_files_that_are_not_there_or_not_right_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no form"):
        make_workload(CROWD, kind="questionnaires", folder=str(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        make_workload(CROWD, kind="groups", folder=str(tmp_path))
    (tmp_path / "interests1.csv").write_text("1;2;3\n")
    with pytest.raises(InputError, match="line 1: 3 values where 2 belong"):
        make_workload(CROWD, kind="groups", folder=str(tmp_path))
    for name, text in (("interests1.csv", ""), ("interests2.csv", ""), ("messages.csv", "")):
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="no messages to groups"):
        make_workload(CROWD, kind="groups", folder=str(tmp_path))


def test_the_real_forms_and_profiles(shared: Path) -> None:
    motes = Contacts.from_records([(str(n), str(n + 1), 0, 86_400) for n in range(21, 98)])
    work = make_workload(motes, kind="questionnaires", folder=str(shared / "traces" / "infocom06" / "forms"))
    assert len({s.topic for s in work.subscriptions}) == 35
    phones = Contacts.from_records([(str(n), str(n + 1), 0, 400_000) for n in range(1, 76)])
    work = make_workload(phones, kind="groups", folder=str(shared / "traces" / "sigcomm09"))
    assert 70 <= len(work.publications) <= 82
