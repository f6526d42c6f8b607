"""Every table of the pipeline: its columns, their types, and what they say.

Times are seconds. Before a trace's origin is known they are those of the log; in ``contacts`` and everything after it
they count from the origin, which ``trace.json`` keeps. Nodes are named as in
the log. A contact is a closed interval: both ends are usable, and one of length zero is one usable instant.
"""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column: Spark's type, and what it says."""

    kind: str
    help: str


_PLACE = {
    "source": Column("bigint", "what tells the input file from others; 0 for a row that was computed"),
    "row": Column("bigint", "number of the row in Spark's scan; of a packed file, the line below 0"),
}
_FATE = {
    "fate": Column("string", "why the row is not used (see FATES); null if it is"),
    "detail": Column("string", "what exactly was wrong with an unreadable line, and the line"),
}
_PAIR = {
    "a": Column("string", "the node that comes first in order (numbers by value, before other names)"),
    "b": Column("string", "the other node"),
}
_INTERVAL = {
    "start": Column("double", "first instant (s)"),
    "end": Column("double", "last instant (s)"),
}

TABLES: dict[str, dict[str, Column]] = {
    "lines": {
        "row": _PLACE["row"],
        "source": _PLACE["source"],
        "file": Column("string", "name of the file"),
        "text": Column("string", "the line without blanks at its ends"),
    },
    "sightings": {
        **_PLACE,
        "scanner": Column("string", "the node that saw"),
        "seen": Column("string", "the node that was seen"),
        **_INTERVAL,
        **_FATE,
    },
    "positions": {
        **_PLACE,
        "node": Column("string", "who"),
        "start": Column("double", "from when on it was there, until its next position (s)"),
        "x": Column("double", "where (m)"),
        "y": Column("double", "where (m)"),
        **_FATE,
    },
    "stays": {
        **_PLACE,
        "node": Column("string", "who"),
        "place": Column("string", "at which access point or in which class"),
        **_INTERVAL,
        **_FATE,
    },
    "checked": {
        **_PLACE,
        "scanner": Column("string", "the node that saw"),
        "seen": Column("string", "the node that was seen"),
        **_INTERVAL,
        "repaired": Column("boolean", "whether the row had to be mended"),
        **_FATE,
    },
    "joined": {
        **_PAIR,
        **_INTERVAL,
        "records": Column("bigint", "rows of the log that became this one"),
        "repaired": Column("bigint", "how many of them had to be mended"),
        "instants": Column("bigint", "how many of them have no length"),
        "a_saw": Column("boolean", "whether a saw b in any of them"),
        "b_saw": Column("boolean", "whether b saw a in any of them"),
        **_PLACE,
        "fate": Column("string", "null for a contact; why a record is part of none (see FATES); or node"),
        "detail": Column("string", "what exactly was wrong with an unreadable line, and the line"),
    },
    "contacts": {**_PAIR, **_INTERVAL},
    "trace_nodes": {"node": Column("string", "who takes part, with contacts or without")},
    "rejected": {
        "file": Column("string", "path of the input file"),
        "line": Column("bigint", "line in it, from 1"),
        "reason": Column("string", "why the record is not used (see FATES)"),
        "a": Column("string", "the node that saw, or whose record it is; null if unreadable"),
        "b": Column("string", "the node or place that was seen; null if unreadable"),
        "start": Column("double", "as in the log (s); null if unreadable"),
        "end": Column("double", "as in the log (s); null if unreadable"),
        "detail": Column("string", "what was wrong with an unreadable line, and the line"),
    },
    "pairs": {
        **_PAIR,
        "contacts": Column("bigint", "number of contacts in the window"),
        "duration": Column("double", "their total length (s)"),
        "contact_mean": Column("double", "mean length of a contact (s)"),
        "contact_max": Column("double", "longest contact (s)"),
        "inter_contact_mean": Column("double", "mean time from the end of a contact to the next (s); null if met once"),
        "inter_contact_max": Column("double", "longest such time (s); null if met once"),
        "separations": Column("bigint", "maximal intervals of the window without contact, by the rule of its edges"),
        "separation": Column("double", "their mean length, MOPS's AVG(D) (s); 0 if there is none"),
        "closeness": Column("double", "exp(-separation² / 2σ²), MOPS's equation (1)"),
        "category": Column("string", "community, familiar stranger, stranger or friend (overlay paper, section 3.2)"),
    },
    "inter_contacts": {
        **_PAIR,
        "time": Column("double", "from the end of a contact to the next start of the pair (s)"),
    },
    "profiles": {
        "node": Column("string", "who"),
        "community": Column("bigint", "its pairs of many contacts and long"),
        "familiar_stranger": Column("bigint", "its pairs of many contacts, but short"),
        "friend": Column("bigint", "its pairs of few contacts, but long"),
        "stranger": Column("bigint", "its pairs of few contacts and short"),
    },
    "laws": {
        "by": Column("string", "how pairs are told apart: all, category, or community"),
        "group": Column("string", "which of them: a category, a community's number, or between (communities)"),
        "times": Column("bigint", "their inter-contact times above 0"),
        "alpha": Column("double", "exponent of the power law; null if there are too few times for one"),
        "low": Column("double", "from where it holds (s)"),
        "high": Column("double", "up to where it holds (s)"),
        "share": Column("double", "share of the times in that range"),
        "distance": Column("double", "Kolmogorov-Smirnov distance"),
    },
    "edges": {
        "window": Column("int", "number of the time window, from 0"),
        **_PAIR,
        "contacts": Column("bigint", "contacts in the window"),
        "duration": Column("double", "their total length in it (s)"),
    },
    "nodes": {
        "window": Column("int", "number of the time window, from 0"),
        "node": Column("string", "who"),
        "degree": Column("bigint", "neighbours"),
        "strength": Column("double", "weight of its edges: contact time (s), or contacts"),
        "clustering": Column("double", "share of its pairs of neighbours that are neighbours"),
        "closeness": Column("double", "(reached - 1) / Σ hops, scaled by the share reached"),
        "closeness_error": Column("double", "its standard error: 0 if exact, above 0 if paths are those of a sample"),
        "betweenness": Column("double", "share of the shortest paths of others that pass it"),
        "betweenness_error": Column("double", "its standard error; 0 if exact"),
    },
    "hops": {
        "window": Column("int", "number of the time window, from 0"),
        "hops": Column("int", "shortest distance in the graph; null for pairs without a path"),
        "pairs": Column("bigint", "unordered pairs at that distance"),
        "error": Column("double", "standard error of their number; 0 if exact"),
    },
    "communities": {
        "window": Column("int", "number of the time window, from 0"),
        "method": Column("string", "k-clique, girvan-newman, modularity or label-propagation"),
        "community": Column("int", "its number, largest first, from 0"),
        "node": Column("string", "a member; by k-clique a node may be in several, or in none"),
        "modularity": Column("double", "weighted modularity of the window's partition; null by k-clique"),
    },
    "found": {
        "part": Column("string", "what the row is: member, link or gateway"),
        "method": Column("string", "by which system's method"),
        "community": Column("int", "number of a community, from 0"),
        "other": Column("int", "gateways: number of the other community"),
        "node": Column("string", "who"),
        "peer": Column("string", "links: the other end"),
        "broker": Column("boolean", "members, gateways: whether it is a broker"),
        "handle": Column("boolean", "members: whether the community goes by this node"),
        "depth": Column("int", "members: the most hops from a broker of the community to a member; 0 if not counted"),
        "value": Column("double", "links: closeness; gateways: betweenness"),
    },
    "members": {
        "method": Column("string", "simple, k-clique (Socio-Aware Overlay) or mops"),
        "community": Column("int", "its number, from 0"),
        "node": Column("string", "a member, or one alone"),
        "broker": Column("boolean", "whether it is a broker"),
        "handle": Column("boolean", "whether the community goes by this node: its initiator, or its first broker"),
        "depth": Column("int", "the most hops from a broker of the community to a member; 0 if not counted"),
    },
    "closeness": {**_PAIR, "closeness": Column("double", "MOPS's equation (1), from above 0 to 1")},
    "gateways": {
        "method": Column("string", "mops"),
        "community": Column("int", "number of its community"),
        "other": Column("int", "number of the community to which it has a link"),
        "node": Column("string", "who"),
        "betweenness": Column("double", "its share of what flows from the one to the other, MOPS's equation (7)"),
        "broker": Column("boolean", "whether it is a broker for this pair, after pruning"),
    },
    "windows": {
        "window": Column("int", "number of the time window, from 0"),
        "start": Column("double", "first instant (s)"),
        "end": Column("double", "last instant (s)"),
        "nodes": Column("bigint", "nodes with an edge"),
        "edges": Column("bigint", "pairs that met often or long enough"),
        "hops_mean": Column("double", "mean hops over pairs with a path (Table 1 of the overlay paper)"),
        "hops_error": Column("double", "its standard error: 0 if exact, above 0 if paths are those of a sample"),
        "paths": Column("string", "how hops and centralities were found: exact, or sampled; null if not at all"),
        "clustering_mean": Column("double", "mean clustering coefficient over its nodes (Table 1)"),
    },
}
"""The tables by name. ``runs`` and ``points`` of studies are in ``hunet.pipeline.study_results``."""


def ddl(table: str) -> str:
    """A table's schema as Spark takes it.

    >>> ddl("contacts")
    'a string, b string, start double, end double'
    """
    return ", ".join(f"{name} {column.kind}" for name, column in TABLES[table].items())


def names(table: str) -> list[str]:
    """The columns of a table."""
    return list(TABLES[table])
