"""The figures of a trace that people compare: from an import's quality report, or from a contact table itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hunet.pipeline.tables import read_json

if TYPE_CHECKING:
    from pathlib import Path


def trace_statistics(path: Path) -> dict[str, Any]:
    """Nodes, records, merged contacts, mean duration (s), span (s, and its ends), and what was set aside."""
    quality = read_json(path / "quality.json") if path.is_dir() else None
    if quality is not None and quality.get("kind") == "import":
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
    from hunet.model.contact_files import read_contacts

    contacts = read_contacts(path)
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
