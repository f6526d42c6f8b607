"""The figures of a trace that people compare: from what an import says of itself, or from a contact table itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from hunet.pipeline.storage import is_uri, read_json
from hunet.pipeline.traces import MARKER, read_marker, read_trace


def trace_statistics(location: str | Path) -> dict[str, Any]:
    """Nodes, records, merged contacts, mean duration (s), span (s, and its ends), and what was set aside."""
    if is_uri(location):
        from hunet.pipeline.session import spark_errors, spark_session

        with spark_errors():
            quality = read_marker(spark_session(), location)
    else:
        quality = read_json(Path(location) / MARKER)
    if quality is not None and quality.get("kind") in ("import", "follow"):
        return {
            "nodes": quality["nodes"],
            "external": quality["external"],
            "records": quality["records"],
            "used_records": sum(quality["fates"].get(fate, 0) for fate in ("kept", "duplicate")),
            "merged_contacts": quality["contacts"],
            "mean_duration": quality["mean_duration"],
            "span": quality["span"][1] - quality["span"][0],
            "first": quality["span"][0],
            "last": quality["span"][1],
            "origin": quality["origin"],
            "format": quality["format"],
        }
    contacts = read_trace(location)
    return {
        "nodes": len(contacts.names),
        "external": None,
        "records": None,
        "used_records": None,
        "merged_contacts": len(contacts),
        "mean_duration": math.fsum((contacts.end - contacts.start).tolist()) / len(contacts),
        "span": contacts.span[1] - contacts.span[0],
        "first": contacts.span[0],
        "last": contacts.span[1],
        "origin": contacts.origin,
        "format": None,
    }
