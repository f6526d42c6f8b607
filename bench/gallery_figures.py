"""Draw the figures of docs/gallery.md, all of them from synthetic worlds.

python bench/gallery_figures.py [FOLDER]      (docs/pictures unless told otherwise)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import hunet
from hunet.graphs.pairs import inter_contact_times
from hunet.model.plot import Plot
from hunet.report.figures import COLOURS
from hunet.systems import Scales, settings
from hunet.worlds import make_movement

WITHIN = 1800.0
PROTOCOLS = ("push", "pull", "spray-and-wait", "prophet", "b-sub", "socialcast", "social-election", "mops")


def draw(folder: Path) -> None:
    """Write all figures."""
    folder.mkdir(parents=True, exist_ok=True)
    crowd = hunet.make_world("community", seed=1, hosts=40, caves=4, duration=2 * 3600)
    figures = {
        "field": field(crowd),
        "storage": storage(crowd),
        "clusters": clusters(),
        "gaps": gaps(),
        "deliveries": hunet.run(crowd, {"messages": 100, "ttl": WITHIN}, "spray-and-wait", copies=8).plot(),
    }
    with mpl.rc_context({"svg.hashsalt": "hunet", "svg.fonttype": "none"}):
        for name, plot in figures.items():
            plot.save(folder / f"gallery-{name}.svg")


def field(crowd: hunet.Contacts) -> Plot:
    """Delivery against cost of many protocols, with settings for this crowd."""
    span = crowd.span[1] - crowd.span[0]
    suggested = {each.protocol: each for each in reversed(settings(Scales(WITHIN, span)))}
    cases = [
        {"name": name, "protocol": name, "parameters": suggested[name].parameters}
        for name in PROTOCOLS
        if name in suggested
    ]
    work: dict[str, Any] = {"messages": 80, "topics": 10, "ttl": WITHIN, "first": 0.25, "last": 0.7}
    return hunet.study(crowd, case=cases, repetitions=5, train=0.25, workload=work).plot()


def storage(crowd: hunet.Contacts) -> Plot:
    """Delivery along the storage of devices, on links of 250 kB/s."""
    study = hunet.study(
        crowd,
        ["push", "spray-and-wait", "prophet", "max-prop"],
        repetitions=3,
        storage=["500k", "1M", "2M", "5M"],
        links={"rate": 2e6, "unit": "bits/s"},
        workload={"messages": 100, "topics": 20, "ttl": WITHIN, "size": "100k-500k"},
    )
    plot = study.plot("storage")
    plot.figure.axes[0].set(xlabel="storage of a device (bytes)", xscale="log")
    return plot


def clusters() -> Plot:
    """Where walkers of three clusters and their ferries are, in half an hour."""
    walk = make_movement("clusters", seed=1, duration=1800)
    places, group = walk.positions(np.arange(0, 1800, 30)), walk.metadata["communities"]
    plot, panel = Plot.empty(4.5, 4.2)
    for node, label in enumerate(group):
        panel.plot(*places[:, node].T, color=COLOURS[label], linewidth=0.5, alpha=0.8)
    panel.set(xlabel="m", ylabel="m", aspect="equal")
    return plot


def gaps() -> Plot:
    """How long pairs are apart, in three worlds."""
    plot, panel = Plot.empty()
    for colour, (name, given) in zip(
        COLOURS, {"waypoint": {}, "slaw": {}, "clusters": {"duration": 14_400}}.items(), strict=False
    ):
        apart = np.sort(inter_contact_times(hunet.make_world(name, seed=1, **given)))
        panel.loglog(apart, 1 - np.arange(len(apart)) / len(apart), color=colour, label=name)
    panel.set(xlabel="time between contacts of a pair (s)", ylabel="share that is longer", xlim=(1, None))
    panel.legend(frameon=False)
    return plot


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "docs" / "pictures")
