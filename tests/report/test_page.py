"""The report of a study: one page, figures as SVG, their data as CSV."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hunet.model import InputError
from hunet.report.page import METRICS, write_report

RATIOS = {"push": [0.9, 0.8, 0.95, 0.85], "pull": [0.4, 0.31, 0.44, 0.36], "like-push": [0.88, 0.81, 0.96, 0.84]}


def study(folder: Path, lives: tuple[float, ...] = (60.0,)) -> Path:
    """As ``hunet study`` leaves it: every ratio in four repetitions, a little lower for each shorter life."""
    for protocol, ratios in RATIOS.items():
        for life in lives:
            for repetition, ratio in enumerate(ratios):
                row: dict[str, Any] = {metric.name: 10.0 for metric in METRICS if metric.name != "brokers"}
                row |= {
                    "key": f"{protocol}-{life}-{repetition}",
                    "point": 0,
                    "repetition": repetition,
                    "contacts": "a <crowd>",
                    "axes": json.dumps({"workload.ttl": life} if len(lives) > 1 else {}),
                    "role_time": json.dumps({"broker": 3.0} if protocol == "pull" else {}),
                    "observed": "{}",
                    "name": json.dumps(
                        {"contacts": {"sha256": "0" * 64}, "workload": {}, "result": {"versions": {"hunet": "0.1.0"}}}
                    ),
                    "delivery_ratio": ratio * life / lives[-1],
                }
                place = folder / "runs" / f"protocol={protocol}"
                place.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist([row]), place / f"{row['key']}.parquet")
    (folder / "study.json").write_text('{"kind": "study"}')
    return folder


class Tags(HTMLParser):
    """Opens and closes every tag but those that have no end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        self.seen.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        del attrs
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_says_what_is_real(tmp_path: Path) -> None:
    page = write_report(study(tmp_path / "crowd"), latex=tmp_path / "table.tex")
    text = page.read_text()
    tags = Tags(text)
    assert not tags.open
    assert tags.seen.count("svg") == 1
    assert "src=" not in text
    assert "a &lt;crowd&gt;: sha256 0000000000000000" in text
    assert "<tr><td>pull</td><td>0.497 ± 0.015</td><td>real</td></tr>" in text
    assert "<tr><td>like-push</td><td>0.003 ± 0.024</td><td>may be chance</td></tr>" in text
    assert "brokers" in text
    assert r"push & 0.875 $\pm$ 0.103 &" in (tmp_path / "table.tex").read_text()
    first = text
    write_report(tmp_path / "crowd")
    assert page.read_text() == first


def test_a_swept_parameter_is_an_axis(tmp_path: Path) -> None:
    folder = study(tmp_path / "crowd", (60.0, 600.0, 6000.0))
    page = write_report(folder, tmp_path / "elsewhere.html")
    assert page == tmp_path / "elsewhere.html"
    assert (folder / "report" / "against-ttl.svg").read_text().count("delivery ratio") == 1
    rows = (folder / "report" / "against-ttl.csv").read_text().splitlines()
    assert rows[0] == "workload.ttl,series,metric,mean,ci95"
    assert rows[1].startswith("60.0,like-push,delivery_ratio,0.0087")
    assert len(rows) == 1 + 3 * 3 * 3


def test_delays_and_hops_are_drawn_where_tables_were_kept(tmp_path: Path) -> None:
    folder = study(tmp_path / "crowd")
    for path in folder.glob("runs/*/*.parquet"):
        tables = folder / "tables" / path.stem
        tables.mkdir(parents=True)
        pq.write_table(pa.table({"delay": [60.0, 120.0, 600.0], "hops": [1, 1, 2]}), tables / "deliveries.parquet")
        pq.write_table(pa.table({"time": [0.0, 3600.0], "buffered": [1, 2]}), tables / "series.parquet")
    assert Tags(write_report(folder).read_text()).seen.count("figure") == 2
    assert "push,hops,1,0.6666666666666666" in (folder / "report" / "distributions.csv").read_text()


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no runs of a study"):
        write_report(tmp_path)
    (study(tmp_path / "crowd") / "study.json").unlink()
    with pytest.raises(InputError, match="it has no study"):
        write_report(tmp_path / "crowd")
