"""B-SUB's tables: all panels of Fig. 9, what they depend on, what an attacker guesses, and real interests."""

from __future__ import annotations

from typing import Any

from hunet.model.intervals import Interval
from hunet.report.claims import percent, table
from hunet.report.runs import Runs, Studies
from hunet.systems.b_sub.filter import HIGHEST
from hunet.systems.b_sub.measures import (
    AXIS,
    B_SUB,
    FALSE_POSITIVES,
    FILTER_SIZE,
    PRIVATE,
    PULL,
    PUSH,
    RELAYED_TAGS,
    dropped,
    observed,
)


def panels_table(runs: Runs) -> str:
    """All panels of Fig. 9."""
    rows = []
    for protocol in (PUSH, B_SUB, PRIVATE, PULL):
        for cycle, here in (runs.only(protocol).by(AXIS) or {0: runs}).items():
            cells = [
                here.at("delivery_ratio", protocol).text(),
                here.at("copies_delivered_avg", protocol).text(1),
                here.at("latency_avg", protocol).text(1, unit=60),
                percent(here.at(FALSE_POSITIVES, protocol), 2),
                here.at(dropped, protocol).text(0),
                here.at(RELAYED_TAGS, protocol).text(1) if protocol in (B_SUB, PRIVATE) else "–",
                here.at(FILTER_SIZE, protocol).text(0, unit=0.5) if protocol != PUSH else "–",
            ]
            rows.append([protocol, _power(cycle) if cycle else "–", *cells])
    heading = "protocol | decay cycle | delivery (a) | copies (b) | delay, min (c) | false positives (d) "
    return table(heading + "| dropped/node (e) | relayed tags (g) | bytes/contact (h)", rows)


def what_matters_table(runs: Runs) -> str:
    """What the results depend on: the life of messages, and the echo of own interests."""
    lives = {1800: "30 min", 3600: "1 h", 7200: "2 h", "none": "no limit"}
    cases: list[tuple[str, str, dict[str, Any]]] = [("PUSH", PUSH, {})]
    for cycle in (256, 1024, 4096):
        cases.append((f"B-SUB at {_power(cycle)}", B_SUB, {AXIS: cycle, "ceiling": 255}))
        for suppress in (False, True):
            name = f"B-SUB-P at {_power(cycle)}" + (", no echo of own interests" if suppress else "")
            cases.append((name, PRIVATE, {AXIS: cycle, "suppress_own": suppress}))
    cases.append(("PULL", PULL, {}))
    rows = []
    for name, protocol, coordinates in cases:
        by_life = [runs.only(protocol, ttl=life, **coordinates) for life in lives]
        delivery = [here.at("delivery_ratio", protocol).text() for here in by_life]
        copies = [here.at("copies_net_delivered_avg", protocol).text(1) for here in by_life]
        rows.append([name, *map(", ".join, zip(delivery, copies, strict=True))])
    found = table(f"delivery ratio, copies | {' | '.join(lives.values())}", rows)
    return f"{found}\n\n{_repetitions(runs)}; copies are net of those dropped."


def overflow_table(runs: Runs) -> str:
    """Delivery along the decay cycle, with counters that stop and with counters that never do."""
    rows = []
    for protocol in (B_SUB, PRIVATE):
        for ceiling, here in runs.only(protocol).by("ceiling").items():
            along = here.along("delivery_ratio", protocol, AXIS)
            named = "none" if ceiling == HIGHEST else f"{ceiling:,}"
            rows.append([protocol, named, *(each.text() for each in along.values())])
    cycles = " | ".join(_power(cycle) for cycle in runs.only(PRIVATE).by(AXIS))
    return f"{table(f'delivery ratio | ceiling | {cycles}', rows)}\n\n{_repetitions(runs)}."


def readings_table(runs: Runs) -> str:
    """What follows from readings of the paper: a row for each, columns for what its figures show."""
    readings: dict[str, dict[str, Any]] = {
        "mark 0, all relay": {"first_wins": False, "consumers_relay": True},
        "first query wins": {"first_wins": True, "consumers_relay": True},
        "consumers do not relay": {"first_wins": False, "consumers_relay": False},
    }
    rows = []
    for name, coordinates in readings.items():
        for protocol in (PUSH, B_SUB, PRIVATE, PULL):
            here = runs.only(protocol, **(coordinates if protocol != PULL else {}))  # PULL's receivers relay nothing
            cells = [
                here.at("delivery_ratio", protocol).text(),
                here.at("copies_net_delivered_avg", protocol).text(1),
                here.at("copies_delivered_avg", protocol).text(1),
                here.at(dropped, protocol).text(0),
                percent(here.at(FALSE_POSITIVES, protocol), 1),
            ]
            rows.append([name, protocol, *cells])
    heading = "reading | protocol | delivery | copies, net | copies | dropped/node | false positives"
    return f"{table(heading, rows)}\n\n{_repetitions(runs)}, at 2^8 s."


def privacy_table(runs: Runs) -> str:
    """How well an attacker who knows all tags guesses a peer's interests (section 4.5), along the decay cycle."""
    once, lasting = observed("guessed", "interests"), observed("lasting_guessed", "lasting_interests")
    participant = observed("participant_guessed", "participant_interests")
    columns = ((once, B_SUB), (once, PRIVATE), (participant, PRIVATE), (lasting, PRIVATE))
    rows = (
        [_power(cycle), *(percent(runs.at(metric, protocol, **{AXIS: cycle}), 1) for metric, protocol in columns)]
        for cycle in runs.only(PRIVATE).by(AXIS)
    )
    private = "B-SUB-P: one greeting | B-SUB-P: a participant | B-SUB-P: all greetings"
    heading = f"decay cycle | B-SUB: one greeting | {private}"
    return f"{table(heading, rows)}\n\n{_repetitions(runs)}."


def interests_table(studies: Studies) -> str:
    """The results on real interests, by trace."""
    rows = []
    for trace, runs in studies.items():
        for protocol in (PUSH, B_SUB, PRIVATE, PULL):
            along = runs.along("delivery_ratio", protocol, AXIS)
            here = runs.only(**{AXIS: _highest(along)}) if along else runs
            cells = [
                here.at("delivery_ratio", protocol).text(),
                here.at("latency_avg", protocol).text(0, unit=60),
                here.at("copies_delivered_avg", protocol).text(1),
                percent(here.at(FALSE_POSITIVES, protocol), 1),
                here.at(FILTER_SIZE, protocol).text(0) if protocol != PUSH else "–",
            ]
            rows.append([trace, protocol, _power(_highest(along)) if along else "–", *cells])
    heading = "trace | protocol | decay cycle | delivery | delay (min) | copies | false positives | bytes a greeting"
    return table(heading, rows)


def _highest(along: dict[Any, Interval]) -> Any:
    """Where a metric has its highest mean."""
    return max(along, key=lambda coordinates: along[coordinates].mean)


def _power(cycle: float) -> str:
    return f"2^{int(cycle).bit_length() - 1} s"


def _repetitions(runs: Runs) -> str:
    return f"{runs.repetitions} repetition{'s' if runs.repetitions > 1 else ''}"
