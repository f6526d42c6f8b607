"""Two claims of the paper, as rules of the yardstick on the study ``probability``."""

from __future__ import annotations

from pathlib import Path

from hunet.report.claims import Rule, Rules
from hunet.report.evidence import Evaluation
from hunet.report.yardstick import Above, At


def _at(metric: str) -> tuple[At, At]:
    """With p = 0.7, and with flooding."""
    return At("probability", metric, "gossip", {"probability": 0.7}), At("probability", metric, "push")


_DELIVERED, _SENT = _at("delivery_ratio"), _at("relayed")
EVALUATION = Evaluation(
    Rules(
        since="2026-11-16",
        fitted="none",
        rules=[
            Rule(
                "GO-1",
                "p between 0.6 and 0.8 reaches almost every node that flooding reaches",
                core=[Above(*_DELIVERED, by=0.9)],
            ),
            Rule(
                "GO-2",
                "up to 35 % fewer messages than flooding",
                core=[Above(_SENT[1], _SENT[0]), Above(*_SENT, by=0.65)],
            ),
        ],
    ),
    figures={},
    folder=Path(__file__).parent / "studies",
)


def sections(results: Path) -> dict[str, str]:
    """The sections of the system's page, from its folder of results."""
    return {"claims": EVALUATION.section(EVALUATION.read(results))}
