"""What a node counts, in the text format that Prometheus reads (version 0.0.4)."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

CONTENT_TYPE = "text/plain"
_GAUGES = {
    "peers": "Devices in reach.",
    "held": "Messages that it carries.",
    "held_bytes": "Bytes of messages that it carries.",
    "waiting": "Deliveries that nobody has taken.",
    "disk_bytes": "Bytes of its database.",
}


def metrics(status: dict[str, Any]) -> str:
    """The status of a node as metrics.

    >>> print(metrics({"protocol": "b-sub", "peers": 2, "counters": {"refused: expired": 3}, "radios": {}}))
    # HELP hunet_info The version and the protocol of this node.
    # TYPE hunet_info gauge
    hunet_info{version="0.1.0",protocol="b-sub"} 1
    # HELP hunet_peers Devices in reach.
    # TYPE hunet_peers gauge
    hunet_peers 2
    # HELP hunet_events_total What has been counted since the node was made.
    # TYPE hunet_events_total counter
    hunet_events_total{event="refused: expired"} 3
    <BLANKLINE>
    """
    lines = _family("info", "gauge", "The version and the protocol of this node.")
    lines.append(_sample("info", 1, version=version("hunet"), protocol=status["protocol"]))
    for name, says in _GAUGES.items():
        if name in status:
            lines += [*_family(name, "gauge", says), _sample(name, status[name])]
    lines += _family("events_total", "counter", "What has been counted since the node was made.")
    lines += [_sample("events_total", many, event=event) for event, many in sorted(status["counters"].items())]
    radios: dict[str, dict[str, float]] = status["radios"]
    for name in dict.fromkeys(name for values in radios.values() for name in values):
        lines += _family(f"radio_{name}", "gauge", "What a radio other than IP tells.")
        lines += [
            _sample(f"radio_{name}", values[name], radio=radio) for radio, values in radios.items() if name in values
        ]
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, says: str) -> list[str]:
    return [f"# HELP hunet_{name} {says}", f"# TYPE hunet_{name} {kind}"]


def _sample(name: str, value: float, **labels: str) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"hunet_{name}{{{inside}}} {value}" if inside else f"hunet_{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
