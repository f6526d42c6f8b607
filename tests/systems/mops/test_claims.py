"""MOPS's claims: judged by the numbers of studies, written into the page, "not run" where there are none."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import hunet.systems.mops
from hunet.report.claims import Claim, replace_sections
from hunet.systems.mops.claims import EVALUATION, LIVES, RULES, THRESHOLDS, sections
from hunet.systems.mops.tables import SCHEMES
from tests.report.test_claims import save

DAY = 86_400
SECTIONS = (
    "claims",
    *(f"figures 8 and 9, {trace}" for trace in ("Infocom 2005", "Reality", "campus")),
    *(f"as meant, {trace}" for trace in ("Infocom 2005", "Reality", "campus")),
    *("as recorded", "scarce links", "figure 10", "figure 11", "brokers", "relearning"),
)


def row(protocol: str, axes: dict[str, Any], repetition: int, **columns: Any) -> dict[str, Any]:
    plain = {"utility": 0.5, "efficiency": 0.5, "latency_avg": 7200.0, "relayed": 1000, "aborted": 10}
    plain |= {"control_bytes": 10**6, "role_changes": 5}
    observed = {"communities": 3.0, "brokers": 9.0, "lists_sent": 50.0, "decided_by_1": 6.0, "decided_by_2": 3.0}
    observed |= columns.pop("observed", {})
    common = {
        "protocol": protocol,
        "point": 0,
        "repetition": repetition,
        "seed": repetition,
        "axes": axes,
        "name": {},
        "observed": observed,
    }
    return common | plain | columns


def as_the_paper_has_it() -> dict[str, list[dict[str, Any]]]:
    """Results that bear out every claim."""
    studies: dict[str, list[dict[str, Any]]] = {}
    efficiency = dict(zip(SCHEMES, (0.2, 0.9, 0.4, 0.97), strict=True))
    for trace, level in (("infocom05", 0.6), ("reality", 0.2), ("campus", 0.4)):
        rows = studies[f"figures-8-and-9-{trace}"] = []
        for life, scheme, repetition in product(LIVES, SCHEMES, (0, 1)):
            rank = list(SCHEMES).index(scheme)
            utility = level - (0.08 if trace == "campus" else 0.05) * rank + 0.001 * LIVES.index(life)
            if scheme == "mops" and trace != "reality" and life > 3600:
                utility += 0.1
            share = 1.0 if scheme == "pull" else efficiency[scheme] + 0.01 * life / DAY
            rows.append(row(scheme, {"workload.ttl": life}, repetition, utility=utility, efficiency=share))
    studies["figure-10"] = [row("k-nearest", {}, repetition, relayed=1500) for repetition in (0, 1)]
    for threshold, weight, repetition in product(THRESHOLDS, (0.0, 1e-5), (0, 1)):
        axes = {"parameters.threshold": threshold, "parameters.default_weight": weight}
        sent = 1000 + abs(threshold - 0.5) * (2000 if threshold < 0.5 else 900) - 100 * (weight == 0)
        seen = {"communities": 1.0 + 9 * threshold}
        studies["figure-10"].append(
            row("mops", axes, repetition, relayed=sent, latency_avg=7200 + 60 * (weight == 0), observed=seen)
        )
    studies["figure-11"] = [
        row(scheme, {"workload.rate": rate}, repetition, utility=0.9 - loss * rate, efficiency=0.9 - loss * rate)
        for scheme, loss in zip(SCHEMES, (0.01, 0.001, 0.005, 0.002), strict=True)
        for rate, repetition in product((2, 5, 10, 20, 50), (0, 1))
    ]
    for trace, shares in (("reality", (608, 309)), ("infocom05", (122, 833))):
        studies[f"closeness-{trace}"] = [
            row("mops", {"parameters.hops": hops, "parameters.edges": edges}, 0, observed=_decided(hops, shares))
            for hops, edges in product((2, 3), ("both", "inner"))
        ]
    for trace in ("infocom05", "reality"):
        lives = [{"workload.ttl": life} for life in (10_800, DAY, 3 * DAY)]
        rows = [row(scheme, life, 0) for scheme in SCHEMES if scheme != "pull" for life in lives]
        rows += [row("pull", {**life, "parameters.from_anyone": whom}, 0) for life in lives for whom in (True, False)]
        studies[f"as-recorded-{trace}"] = rows
    studies["relearning-reality"] = [
        row("mops", {"parameters.relearn": period, "parameters.learning": learning}, 0, utility=0.5)
        for period, learning in product(("none", 604_800), ("central", "exchange"))
    ]
    for trace in ("infocom05", "reality", "campus"):
        studies[f"brokers-{trace}"] = [
            row("mops", {"parameters.pruning": share}, seed, efficiency=0.9 - share, observed={"brokers": 100 * share})
            for share, seed in product((0.0, 0.2, 0.8), (0, 1))
        ]
    studies["scarce-infocom05"] = [
        row(scheme, {"workload.ttl": life, **alpha}, seed, utility=utility)
        for scheme, utility in zip(SCHEMES, (0.55, 0.65, 0.6, 0.3), strict=True)
        for life, seed in product((3600, DAY, 3 * DAY), (0, 1))
        for alpha in ([{"parameters.alpha": each} for each in (0.01, 0.99)] if scheme == "mops" else [{}])
    ]
    studies["efficiency-infocom05"] = [
        *(
            row("k-nearest", {"parameters.nearest": nearest}, seed, efficiency=1 / nearest)
            for nearest in (2, 5, 10, 20)
            for seed in (0, 1)
        ),
        *(
            row("mops", {"parameters.default_weight": weight}, seed, efficiency=0.3)
            for weight in (0.0, 1e-5)
            for seed in (0, 1)
        ),
    ]
    return studies


def _decided(hops: int, shares: tuple[int, int]) -> dict[str, float]:
    found = {f"decided_by_{number}": float(share) for number, share in enumerate(shares, 1)}
    return found | ({"decided_by_3": 59.0} if hops == 3 else {})


def as_meant(studies: dict[str, list[dict[str, Any]]], *traces: str) -> dict[str, list[dict[str, Any]]]:
    """The same results, in the other reading too."""
    return studies | {
        f"figures-8-and-9-{trace}-as-meant": deepcopy(studies[f"figures-8-and-9-{trace}"]) for trace in traces
    }


def stored(folder: Path, studies: dict[str, list[dict[str, Any]]]) -> Path:
    for name, rows in studies.items():
        save(folder / name, rows)
    return folder


def judged(folder: Path, studies: dict[str, list[dict[str, Any]]]) -> list[Claim]:
    return RULES.judged(EVALUATION.read(stored(folder, studies)))


def test_every_claim_can_be_reproduced(tmp_path: Path) -> None:
    claims = judged(tmp_path, as_the_paper_has_it())
    assert [claim.id.partition(",")[0] for claim in claims] == [f"MO-{number}" for number in range(1, 12)]
    assert {claim.id: claim.verdict for claim in claims if claim.verdict != "reproduced"} == {}


def test_readings_are_judged_side_by_side(tmp_path: Path) -> None:
    studies = as_meant(as_the_paper_has_it(), "infocom05", "reality", "campus")
    for one in studies["figures-8-and-9-infocom05-as-meant"]:
        if one["protocol"] == "mops":
            one.update(efficiency=0.1)
    verdicts = {claim.id: claim.verdict for claim in judged(tmp_path, studies)}
    assert verdicts["MO-7, as printed"] == "reproduced"
    assert verdicts["MO-7, as meant"] == "not reproduced"
    assert verdicts["MO-3, as meant"] == "reproduced"
    assert "MO-8" in verdicts  # no study of the reading is about it


def test_results_that_contradict_the_paper_are_said_to(tmp_path: Path) -> None:
    studies = as_the_paper_has_it()
    for rows in studies.values():
        for one in rows:
            one.update(utility=0.9 if one["protocol"] == "push" else 0.5, efficiency=0.1, relayed=7, latency_avg=1.0)
            one["observed"].update(communities=1.0, decided_by_1=50.0, decided_by_2=50.0)
    claims = {claim.id: claim for claim in judged(tmp_path, studies)}
    assert {claim.verdict for claim in claims.values()} == {"not reproduced"}
    assert claims["MO-7, as printed"].why == "open"  # the studies that would show a reason contradict it


def test_reasons_are_told_where_studies_show_them(tmp_path: Path) -> None:
    studies = as_the_paper_has_it()
    for name in ("infocom05", "reality", "campus"):
        for one in studies[f"figures-8-and-9-{name}"]:
            one.update(efficiency=0.1)
    [claim] = [claim for claim in judged(tmp_path, studies) if claim.id == "MO-7, as printed"]
    assert claim.verdict == "not reproduced"
    assert "with fewer brokers (B = 0.2) efficiency is higher: efficiency of mops (`brokers-infocom05`" in claim.why
    assert "Neighbors' depends on its K" in claim.why
    assert "default weight" not in claim.why  # with and without it efficiency is the same here


def test_claims_without_results_are_not_run(tmp_path: Path) -> None:
    studies = {"figure-11": as_the_paper_has_it()["figure-11"]}
    claims = {claim.id: claim.verdict for claim in judged(tmp_path, studies)}
    assert claims.pop("MO-10") == "reproduced"
    assert set(claims.values()) == {"not run"}


def test_the_page_is_written(tmp_path: Path) -> None:
    everything = as_meant(as_the_paper_has_it(), "infocom05", "reality", "campus")
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name} -->\nthe last table\n<!-- end of {name} -->\n" for name in SECTIONS))
    replace_sections(page, sections(tmp_path / "none"))
    assert page.read_text().count("the last table") == len(SECTIONS) - 1  # only the claims, by what is kept
    assert "`brokers-campus` (kept, means of 10 runs)" in page.read_text()
    replace_sections(page, sections(stored(tmp_path / "results", everything)))
    text = page.read_text()
    assert "the last table" not in text
    assert "| MO-9 |" in text
    assert "| exchange | every 7 days | 0.500 |" in text
    assert "| Reality: pull from anybody |" in text
    replace_sections(page, sections(tmp_path / "results"))
    assert page.read_text() == text


def test_the_page_of_the_project_has_a_place_for_every_table() -> None:
    page = (Path(__file__).parents[3] / "docs/systems/mops.md").read_text()
    for name in SECTIONS:
        assert page.count(f"<!-- {name} -->") == page.count(f"<!-- end of {name} -->") == 1


@pytest.mark.parametrize(
    "path", sorted((Path(hunet.systems.mops.__file__).parent / "studies").glob("*.toml")), ids=lambda p: p.stem
)
def test_studies_are_at_the_paper_s_size(path: Path) -> None:
    of_the_paper = not path.stem.startswith(("closeness", "brokers"))
    of_the_paper &= "stand for the paper's thirty" not in path.read_text()
    assert "repetitions = 30" in path.read_text() or not of_the_paper
