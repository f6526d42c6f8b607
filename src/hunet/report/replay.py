"""``hunet replay``: a run as one page that plays it, in any browser and offline.

Theory of operation. The page (``pages/replay.html`` and ``pages/replay.js``) draws every frame from the time alone, so
all it needs are columns sorted for searching: contacts by start, hand-overs and deliveries by message and time, roles
by node and time, and everybody's track where a world has one. Numbers travel as the bytes of typed arrays in base64.
"""

from __future__ import annotations

import base64
import json
from html import escape
from importlib.resources import files
from math import isnan
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from hunet.model import InputError
from hunet.model.files import file_in_place
from hunet.report.crowd import Crowd, community_letter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunet.report.node_logs import NodeLogs
    from hunet.worlds.tracks import Tracks

_MOST_NODES = 1 << 16
"""Nodes are numbers of two bytes."""


def read_run(folder: Path) -> dict[str, Any]:
    """The name and the summary of a run that was saved."""
    try:
        found: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(folder, _remedy(folder)) from None
    except (OSError, ValueError) as error:
        raise InputError(folder / "summary.json", f"cannot be read: {error}") from None
    return found


def _remedy(folder: Path) -> str:
    if not (folder / "study.json").exists():
        return "is not the folder of a run: run 'hunet run ... --out FOLDER' first"
    kept = sorted(path.parent for path in folder.glob("tables/*/summary.json"))
    if kept:
        return f"is a study: name one of its {len(kept)} runs, such as {kept[0]}"
    return "is a study that kept no tables: write 'tables = true' into its file, run it into a new folder, name a run"


def write_replay(folder: Path, crowd: Crowd, tracks: Tracks | None = None, out: Path | None = None) -> Path:
    """Write the page of a run; returns its path."""
    found = read_run(folder)
    names = crowd.contacts.names
    name = found["name"]
    facts = [
        f"seed {name['seed']}",
        f"{len(names)} people, {len(crowd.contacts):,} contacts",
        f"{found['created']:,} messages, {_share(found['delivery_ratio'])} delivered",
        f"contacts {name['contacts']['sha256'][:12]}",
        f"hunet {name['versions']['hunet']}",
    ]
    tables = {each: _table(folder, each) for each in ("publications", "forwards", "deliveries", "roles")}
    out = out or folder / "replay.html"
    return _write_page(folder, tables, f"{name['protocol']} on {crowd.label}", facts, crowd, tracks, out)


def write_replay_of_logs(paths: Sequence[Path], logs: NodeLogs, crowd: Crowd, out: Path | None = None) -> Path:
    """Write the page of the event logs of live nodes; returns its path."""
    tables = logs.tables()
    facts = [
        f"{len(paths)} logs of live nodes" if len(paths) > 1 else "the log of a live node",
        f"{len(crowd.contacts.names)} devices, {len(crowd.contacts):,} contacts",
        f"{len(tables['publications']['publication']):,} messages, {len(tables['deliveries']['time']):,} deliveries",
    ]
    title = f"{', '.join(sorted(logs.protocols))}, live"
    out = out or paths[0].with_suffix(".html")
    return _write_page(paths[0], tables, title, facts, crowd, None, out)


def _write_page(
    source: Path,
    tables: dict[str, dict[str, list[Any]]],
    title: str,
    facts: list[str],
    crowd: Crowd,
    tracks: Tracks | None,
    out: Path,
) -> Path:
    if len(crowd.contacts.names) >= _MOST_NODES:
        problem = f"has {len(crowd.contacts.names)} nodes: a page can draw fewer than {_MOST_NODES}"
        raise InputError(source, problem)
    run = _run(source, tables, crowd, tracks)
    pages = files("hunet.report") / "pages"
    text = Template((pages / "replay.html").read_text("utf-8")).substitute(
        title=escape(title),
        facts=escape(" · ".join(facts)),
        found_by=escape(crowd.found_by),
        # No tag can begin inside the data, whatever people called their topics.
        run=json.dumps(run, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        script=(pages / "replay.js").read_text("utf-8"),
    )
    with file_in_place(out) as partial:
        partial.write_text(text, encoding="utf-8")
    return out


def _run(source: Path, tables: dict[str, dict[str, list[Any]]], crowd: Crowd, tracks: Tracks | None) -> dict[str, Any]:
    """All that the page knows."""
    contacts, names = crowd.contacts, crowd.contacts.names
    community = crowd.community().tolist()
    publications = tables["publications"]
    if not publications["publication"]:
        raise InputError(source, "has no messages: there is nothing to follow")
    node = {name: number for number, name in enumerate(names)}
    ids = {each: number for number, each in enumerate(publications["publication"])}
    messages = [
        {
            "id": row["publication"],
            "topic": row["topic"],
            "publisher": node[row["publisher"]],
            "created": row["created"],
            "ttl": None if row["ttl"] is None or isnan(row["ttl"]) else row["ttl"],
            "interested": row["interested"],
            "delivered": row["delivered"],
        }
        for row in (dict(zip(publications, values, strict=True)) for values in zip(*publications.values(), strict=True))
    ]
    moved = tables["forwards"]
    sender, receiver = ([node[each] for each in moved[column]] for column in ("sender", "receiver"))
    handed = _grouped(
        [ids[each] for each in moved["publication"]], len(ids), time=moved["time"], sender=sender, receiver=receiver
    )
    got = tables["deliveries"]
    arrived = _grouped(
        [ids[each] for each in got["publication"]],
        len(ids),
        time=got["time"],
        node=[node[each] for each in got["node"]],
    )
    turns = tables["roles"]
    served = _grouped(
        [node[each] for each in turns["node"]],
        len(names),
        time=turns["time"],
        broker=[role == "broker" for role in turns["role"]],
    )
    begin, end = contacts.span
    times = [*publications["created"], *moved["time"]]
    return {
        "span": [min([begin, *times]), max([end, *times])],
        "names": list(names),
        "community": community,
        "letters": [community_letter(each) for each in community],
        "contacts": {
            "a": _bytes(contacts.a, np.uint16),
            "b": _bytes(contacts.b, np.uint16),
            "start": _bytes(contacts.start, np.float64),
            "end": _bytes(contacts.end, np.float64),
        },
        "messages": messages,
        "first": max(ids.values(), key=lambda number: (messages[number]["delivered"], -number)),
        "forwards": handed,
        "deliveries": arrived,
        "roles": served,
        **_places(crowd, tracks),
    }


_KINDS = {"time": np.float64, "broker": np.uint8, "node": np.uint16, "sender": np.uint16, "receiver": np.uint16}


def _places(crowd: Crowd, tracks: Tracks | None) -> dict[str, Any]:
    """A place for everybody, and everybody's track with the area that they need."""
    x, y = crowd.layout.round(4).T.tolist()
    placed: dict[str, Any] = {"layout": {"x": x, "y": y}}
    if tracks is None:
        return placed
    return placed | {
        "tracks": {
            "first": tracks.first.tolist(),
            "t": _bytes(tracks.t, np.float64),
            "x": _bytes(tracks.x, np.float32),
            "y": _bytes(tracks.y, np.float32),
        },
        "area": [float(edge) for edge in (tracks.x.min(), tracks.y.min(), tracks.x.max(), tracks.y.max())],
    }


def _grouped(group: list[int], groups: int, **columns: list[Any]) -> dict[str, Any]:
    """Columns sorted by group and then time; group i owns the rows ``first[i]`` to ``first[i + 1]``."""
    numbers = np.array(group, np.int64)
    order = np.lexsort((np.array(columns["time"], np.float64), numbers))
    first = np.searchsorted(numbers[order], np.arange(groups + 1))
    return {
        "first": first.tolist(),
        **{
            name: _bytes(np.array(values)[order] if len(values) else np.empty(0), _KINDS[name])
            for name, values in columns.items()
        },
    }


def _bytes(values: Any, kind: Any) -> str:
    return base64.b64encode(np.asarray(values).astype(np.dtype(kind).newbyteorder("<")).tobytes()).decode()


def _table(folder: Path, name: str) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{name}.parquet"
    try:
        found: dict[str, list[Any]] = pq.read_table(path).to_pydict()
    except FileNotFoundError:
        raise InputError(path, "is missing: run again with 'hunet run ... --out FOLDER'") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(path, f"cannot be read: {str(error).splitlines()[0]}") from None
    return found


def _share(ratio: float | None) -> str:
    return "nothing" if ratio is None else f"{100 * ratio:.0f} %"
