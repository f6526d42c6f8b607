"""Two claims of the paper, judged by the study ``probability``."""

from __future__ import annotations

from pathlib import Path

from hunet.report.claims import Claim, claims_table
from hunet.report.runs import Runs, read_studies

_STUDY = "probability"


def sections(results: Path) -> dict[str, str]:
    """The sections of the system's page, from its folder of results."""
    studies = read_studies(results, [_STUDY])
    return {"claims": claims_table(_claims(studies[_STUDY]))} if studies else {}


def _claims(runs: Runs) -> list[Claim]:
    flooding, gossip = (runs.at("delivery_ratio", "push"), runs.at("delivery_ratio", "gossip", probability=0.7))
    sent = {name: runs.at("relayed", name, **at) for name, at in (("push", {}), ("gossip", {"probability": 0.7}))}
    saved = 1 - sent["gossip"].mean / sent["push"].mean
    return [
        Claim(
            "GO-1",
            "p between 0.6 and 0.8 reaches almost every node that flooding reaches",
            f"delivered: flooding {flooding.text()}, p = 0.7 {gossip.text()}",
            "reproduced" if gossip.mean > 0.9 * flooding.mean else "not reproduced",
        ),
        Claim(
            "GO-2",
            "up to 35 % fewer messages than flooding",
            f"{saved:.0%} fewer with p = 0.7",
            "reproduced" if 0 < saved <= 0.35 else "not reproduced",
        ),
    ]
