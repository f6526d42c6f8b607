"""The result of a run: a summary and tables, in memory and on disk.

A saved result is a folder: ``summary.json`` (the run's full name and its metrics) and one Parquet file per table, each
with the run's name in its metadata. It is written beside its final place and moved there when complete.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model import OutputError
from hunet.model.files import folder_in_place, is_unused
from hunet.model.plot import Plot

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

TABLES: dict[str, dict[str, str]] = {
    "deliveries": {
        "publication": "id of the message",
        "node": "the subscriber",
        "time": "when it was delivered (s)",
        "hops": "transmissions behind the delivered copy",
        "topic": "its topic",
        "publisher": "the node that published it",
        "created": "when it was published (s)",
        "delay": "time - created (s)",
    },
    "forwards": {
        "time": "when the data packet arrived (s)",
        "sender": "from whom",
        "receiver": "to whom",
        "publication": "id of the message",
        "bytes": "size of the packet",
    },
    "publications": {
        "publication": "id of the message",
        "topic": "its topic",
        "publisher": "the node that published it",
        "created": "when (s)",
        "size": "bytes",
        "ttl": "life (s); missing if unlimited",
        "interested": "interested nodes",
        "reachable": "of them, how many contacts could reach",
        "delivered": "of them, how many were reached",
        "infected": "nodes that received it, the publisher not counted",
        "copies": "nodes that ever held or received it, the publisher included",
        "copies_net": "copies without those that a full buffer dropped",
        "forwards": "data packets that carried it",
    },
    "nodes": {
        "node": "name",
        "published": "messages published",
        "sent": "data packets sent",
        "received": "data packets received",
        "delivered": "messages delivered to its application",
        "dropped": "copies lost to a full buffer",
        "buffer_avg": "messages held, averaged over time",
        "buffer_max": "most messages held at once",
    },
    "roles": {"time": "when (s)", "node": "who", "role": "its role from then on"},
    "series": {
        "time": "end of the interval (s)",
        "published": "publications so far",
        "delivered": "deliveries so far",
        "data_packets": "data packets so far",
        "data_bytes": "their bytes",
        "control_packets": "control packets so far",
        "control_bytes": "their bytes",
        "seen_bytes": "of them, lists of messages that were seen",
        "buffered": "copies held in all buffers at that time",
    },
}
"""Every table of a result: its columns and what they say."""

SUMMARY: dict[str, str] = {
    "created": "publications",
    "unpublished": "publications that never left because their device was down",
    "pairs": "(publication, interested subscriber) pairs",
    "delivered": "pairs that were served",
    "delivery_ratio": "delivered / pairs",
    "reachable": "pairs that contacts could serve: the bound of any protocol that uses contacts only",
    "reachable_ratio": "reachable / pairs",
    "delivery_prob": "The ONE's name for delivery_ratio",
    "message_delivery_ratio": "share of the publications with an interested node that reached at least one",
    "utility": "mean over those publications of the share of their interested nodes that were reached (MOPS)",
    "efficiency": "mean over publications that anybody received of the share of receivers that wanted it (MOPS)",
    "latency_avg": "mean delay of deliveries (s)",
    "latency_med": "median delay of deliveries (s)",
    "reachable_latency_avg": "mean delay of the reachable bound (s)",
    "hopcount_avg": "mean hops of deliveries",
    "hopcount_max": "most hops of a delivery",
    "relayed": "data packets that arrived",
    "relayed_bytes": "their bytes",
    "duplicates": "of them, how many brought what the receiver had received or published already",
    "aborted": "data packets under way when their contact ended",
    "lost": "data packets that a link lost",
    "overhead_ratio": "(relayed - delivered) / delivered",
    "control_packets": "control packets sent over contacts",
    "control_bytes": "their bytes",
    "seen_bytes": "of them, lists of messages that were seen; the rest is knowledge of people",
    "out_of_band_packets": "packets that needed no contact",
    "out_of_band_bytes": "their bytes",
    "copies_avg": "mean over publications of the nodes that ever held or received it, publisher included",
    "copies_net_avg": "the same without copies that a full buffer dropped",
    "copies_delivered_avg": "copies_avg over the publications that were delivered to anybody (B-SUB)",
    "copies_net_delivered_avg": "copies_net_avg over the same",
    "dropped": "copies lost before their time: to full buffers, old age and crashes",
    "dropped_overflow": "of them to a full buffer",
    "dropped_expired": "of them to old age",
    "dropped_crash": "of them to a crash",
    "buffertime_avg": "mean time that a removed copy was held (s)",
    "buffer_avg": "messages held by a node, averaged over nodes and time",
    "buffer_max": "most messages that any node held at once",
    "role_changes": "how often a node took another role",
    "role_time": "for each role, the mean number of nodes that had it over the run",
    "false_matches": "false positives: messages that a filter matched and its owner did not want",
    "repeated": "deliveries repeated at a node that had crashed and forgotten",
    "observed": "what protocols count themselves, summed over nodes; their pages say what",
}
"""Every number of a summary and what it says. A mean over nothing is null."""


class Coded(NamedTuple):
    """A column of names, as numbers into a list of them."""

    codes: NDArray[np.integer[Any]]
    names: tuple[str, ...]


Column = Any
"""An array, or a :class:`Coded`."""


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What came out of a run.

    ``summary`` has the metrics (``hunet.simulation.result.SUMMARY`` explains each), ``name`` what was run; the tables
    of ``TABLES`` are DataFrames: ``deliveries``, ``forwards``, ``publications``, ``nodes``, ``roles``, ``series``.
    """

    name: dict[str, Any]
    summary: dict[str, Any]
    columns: dict[str, dict[str, Column]]

    def __repr__(self) -> str:
        found, bound = self.summary["delivery_ratio"], self.summary["reachable_ratio"]
        ratio = "nothing to deliver" if found is None else f"delivery ratio {found:.4f} of {bound:.4f} reachable"
        return f"Result({self.name['protocol']}, seed {self.name['seed']}: {ratio})"

    def _repr_html_(self) -> str:
        shown = ("delivery_ratio", "reachable_ratio", "latency_avg", "hopcount_avg", "relayed", "overhead_ratio")
        known = {name: self.summary[name] for name in shown if self.summary[name] is not None}
        rows = [f"<tr><td>{name}</td><td>{known[name]:,.4g}</td><td>{SUMMARY[name]}</td></tr>" for name in known]
        return f"<p>{self.name['protocol']}, seed {self.name['seed']}</p><table>{''.join(rows)}</table>"

    def plot(self) -> Plot:
        """Deliveries over time, beside publications."""
        plot, panel = Plot.empty()
        hours = self.columns["series"]["time"] / 3600
        for name, colour, dash in (("delivered", "#0072b2", "-"), ("published", "#d55e00", "--")):
            panel.plot(hours, self.columns["series"][name], color=colour, linestyle=dash, label=name)
        panel.set(xlabel="time (h)", ylabel="so far", ylim=(0, None))
        panel.legend(frameon=False)
        return plot

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(
            {
                column: pd.Categorical.from_codes(values.codes, list(values.names))
                if isinstance(values, Coded)
                else values
                for column, values in self.columns[name].items()
            }
        )

    @property
    def deliveries(self) -> pd.DataFrame:
        """Every first delivery, in order of time."""
        return self.table("deliveries")

    @property
    def forwards(self) -> pd.DataFrame:
        """Every data packet that arrived, in order of time; within an instant, causes before effects."""
        return self.table("forwards")

    @property
    def publications(self) -> pd.DataFrame:
        """How each publication fared."""
        return self.table("publications")

    @property
    def nodes(self) -> pd.DataFrame:
        """How each node fared."""
        return self.table("nodes")

    @property
    def roles(self) -> pd.DataFrame:
        """Every change of role."""
        return self.table("roles")

    @property
    def series(self) -> pd.DataFrame:
        """Counts over time."""
        return self.table("series")

    def save(self, folder: Path | str) -> None:
        """Write ``summary.json`` and the tables; a folder that holds anything but this run is left alone."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = Path(folder)
        refuse_foreign_folder(folder, self.name)
        metadata = {b"hunet.run": json.dumps(self.name).encode()}
        with folder_in_place(folder) as partial:
            for name, table in self.columns.items():
                arrays = {
                    column: pa.DictionaryArray.from_arrays(pa.array(values.codes), pa.array(values.names, pa.string()))
                    if isinstance(values, Coded)
                    else pa.array(values)
                    for column, values in table.items()
                }
                pq.write_table(pa.table(arrays).replace_schema_metadata(metadata), partial / f"{name}.parquet")
            text = json.dumps({"name": self.name, **self.summary}, indent=2) + "\n"
            (partial / "summary.json").write_text(text, encoding="utf-8")


def refuse_foreign_folder(folder: Path, name: dict[str, Any]) -> None:
    """Raise unless the folder is new, empty, or holds an earlier result of the same run."""
    if is_unused(folder):
        return
    try:
        there = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["name"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{folder}: holds other files; choose a new or an empty folder") from None
    if there != json.loads(json.dumps(name)):
        raise OutputError(
            f"{folder}: holds another run ({there.get('protocol')}, seed {there.get('seed')}); "
            "choose another folder or remove that one"
        )
