"""Draw the pictures of docs/worlds.md.

    python bench/worlds_figures.py [FOLDER]      (docs/pictures unless told otherwise)

Needs matplotlib. The same program draws the same bytes.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from hunet.graphs.contact_statistics import contact_statistics
from hunet.graphs.pairs import inter_contact_times
from hunet.worlds import make_movement, make_world
from hunet.worlds.slaw import Slaw, clusters, waypoint_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"community": "#0072b2", "waypoint": "#d55e00", "slaw": "#009e73", "campus": "#cc79a7"}
GREY = "#777777"
RELATIVE_SPEED = {5: 3.447, 10: 5.689, 20: 9.64, 30: 13.26, 40: 16.68, 50: 19.98}
"""Mean relative speed (m/s) of stationary walkers with speeds in (1, v], by v."""
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "hunet",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "legend.frameon": False,
}


def survival(axes: Axes, values: np.ndarray, colour: str, label: str) -> None:
    """Plot the share of values above each; three hundred points, dense in the tail."""
    ordered = np.sort(values)
    index = np.unique(np.append(len(ordered) - np.geomspace(1, len(ordered), 300).astype(int), 0))
    axes.plot(ordered[index], 1 - index / len(ordered), color=colour, label=label)


def inter_contact() -> Figure:
    figure = Figure((8, 3.2), layout="constrained")
    seconds, relative = figure.subplots(1, 2)
    for name, colour in COLOURS.items():
        gaps = np.concatenate([inter_contact_times(make_world(name, seed)) for seed in (1, 2, 3)])
        survival(seconds, gaps, colour, name)
        survival(relative, gaps / gaps.mean(), colour, f"{name}, CV {gaps.std() / gaps.mean():.2f}")
    grid = np.geomspace(0.01, 12, 200)
    relative.plot(grid, np.exp(-grid), color=GREY, linestyle="--", label="exponential, CV 1")
    seconds.set(
        xscale="log",
        yscale="log",
        xlabel="inter-contact time t, s",
        ylabel="share above t",
        ylim=(1e-4, 1.1),
        xlim=(1, 1e6),
    )
    relative.set(xscale="log", yscale="log", xlabel="t / mean", ylim=(1e-4, 1.1), xlim=(0.01, 20))
    seconds.legend()
    relative.legend()
    return figure


def waypoint() -> Figure:
    figure = Figure((8, 3.0), layout="constrained")
    rate, duration, speed = figure.subplots(1, 3)
    fastest = list(RELATIVE_SPEED)
    for start, marker in (("stationary", "o"), ("uniform", "x")):
        runs = [
            [contact_statistics(make_world("waypoint", seed, speed_max=v, start=start)) for seed in (1, 2, 3)]
            for v in fastest
        ]
        rates = [1e4 * np.mean([run.pair_rate for run in each]) for each in runs]
        rate.plot(fastest, rates, marker, color=COLOURS["waypoint"], label=start)
        lengths = [np.mean([run.mean_duration for run in each]) for each in runs]
        duration.plot(fastest, lengths, marker, color=COLOURS["waypoint"], label=start)
    rate.plot(fastest, [1e4 * 100 * 1.368 * w / 1e6 for w in RELATIVE_SPEED.values()], color=GREY, label="theory")
    duration.plot(fastest, [math.pi * 50 / 2 / w for w in RELATIVE_SPEED.values()], color=GREY, label="theory")
    rate.set(xlabel="maximum speed, m/s", title="contacts per pair and 10,000 s")
    duration.set(xlabel="maximum speed, m/s", title="mean contact, s", yscale="log")
    times = np.arange(0, 3000, 25.0)
    for slowest, start, colour in (
        (1, "uniform", "#d55e00"),
        (1, "stationary", "#56b4e9"),
        (0, "uniform", "#000000"),
    ):
        legs = make_movement("waypoint", 1, nodes=3000, speed_min=slowest, start=start).tracks.legs()
        means = [legs.speed[(legs.begin <= t) & (t < legs.end)].mean() for t in times]
        speed.plot(times, means, color=colour, label=f"from {slowest} m/s, {start}")
    speed.set(xlabel="time, s", title="mean speed, m/s", ylim=(0, 6))
    for axes in (rate, duration, speed):
        axes.legend(fontsize=8)
    return figure


def slaw() -> Figure:
    figure = Figure((8, 3.4), layout="constrained")
    place, law, pause = figure.subplots(1, 3, width_ratios=(1.2, 1, 1))
    x, y = waypoint_map(Slaw(), 1)
    for each in sorted(clusters(x, y, 50.0), key=len):
        place.plot(x[each], y[each], ".", markersize=1.5)
    _, walk_x, walk_y = make_movement("slaw", 1).tracks.breakpoints(0)
    place.plot(walk_x, walk_y, color="black", linewidth=0.5)
    place.set(aspect="equal", title="waypoints by cluster, one walk", xlabel="m")
    levels = np.arange(1, 5)
    for hurst, colour in ((0.6, "#56b4e9"), (0.75, COLOURS["slaw"]), (0.9, "#e69f00")):
        x, y = waypoint_map(Slaw(hurst=hurst), 1)
        held = [np.histogram2d(x, y, bins=2**level, range=((0, 1000), (0, 1000)))[0] for level in levels]
        law.plot(
            4.0**levels,
            [box.var() / box.mean() ** 2 for box in held],
            "o",
            color=colour,
            label=f"H = {hurst}",
        )
        law.plot(4.0**levels, 0.8 * 4.0 ** ((levels - 1) * (2 - 2 * hurst)), color=colour)
    law.set(xscale="log", yscale="log", xlabel="boxes", title="normalised variance per box")
    law.legend()
    legs = make_movement("slaw", 1).tracks.legs()
    stops = (legs.speed == 0) & (legs.begin > 0)
    survival(pause, (legs.end - legs.begin)[stops], COLOURS["slaw"], "pauses")
    grid = np.linspace(10, 50, 100)
    pause.plot(grid, (1 / grid - 1 / 50) / (1 / 10 - 1 / 50), color=GREY, linestyle="--", label="truncated Pareto")
    pause.set(xlabel="pause t, s", title="share above t")
    pause.legend()
    return figure


def community() -> Figure:
    figure = Figure((8, 3.6), layout="constrained")
    place, met = figure.subplots(1, 2)
    movement = make_movement("community", 1, min_separation=3)
    contacts = movement.contacts()
    palette = mpl.colormaps["tab10"]
    for number, (column, row) in enumerate(movement.metadata["home_squares"]):
        place.fill_between([200 * column, 200 * column + 200], 200 * row, 200 * row + 200, color=palette(number))
    # The three hosts that go to most places.
    places = [len(np.unique(movement.tracks.breakpoints(host)[1] // 200)) for host in range(100)]
    for host in np.argsort(places)[-3:].tolist():
        t, x, y = movement.tracks.breakpoints(host)
        early = t < 7200
        colour = palette(movement.metadata["communities"][host])
        place.plot(x[early], y[early], color=colour, linewidth=0.6)
    place.set(
        aspect="equal",
        xlim=(0, 4000),
        ylim=(0, 4000),
        title="home squares, three hosts' first two hours",
        xlabel="m",
    )
    place.set_xticks(range(0, 4001, 1000))
    place.set_yticks(range(0, 4001, 1000))
    order = np.argsort(movement.metadata["communities"], kind="stable")
    rank = np.argsort(order)
    together = np.zeros((100, 100))
    np.add.at(together, (rank[contacts.a], rank[contacts.b]), contacts.end - contacts.start)
    share = (together + together.T) / 28800
    image = met.imshow(np.sqrt(share), cmap="Blues", interpolation="nearest")
    met.grid(visible=False)
    met.set(title="root of the share of time in contact")
    figure.colorbar(image, ax=met)
    return figure


def campus() -> Figure:
    figure = Figure((8, 2.8), layout="constrained")
    week, day = figure.subplots(1, 2, width_ratios=(2, 1))
    start = make_world("campus", 1).start
    counts = np.bincount((start // 3600).astype(int), minlength=240)
    week.step(np.arange(240) / 24, counts, color=COLOURS["campus"], linewidth=0.8)
    week.set(xlabel="day (0 is a Monday)", ylabel="contacts that begin, per hour", xticks=range(11))
    weekdays = [number for number in range(10) if number not in (5, 6)]
    by_hour = counts.reshape(10, 24)
    day.plot(by_hour[weekdays].mean(axis=0), color=COLOURS["campus"], label="weekday")
    day.plot(by_hour[[5, 6]].mean(axis=0), color=GREY, label="weekend")
    day.set(xlabel="hour of the day", xticks=range(0, 25, 4))
    day.legend()
    return figure


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for draw in (inter_contact, waypoint, slaw, community, campus):
            path = folder / f"worlds-{draw.__name__.replace('_', '-')}.svg"
            draw().savefig(path, metadata={"Date": None, "Creator": None})
            print(path)


if __name__ == "__main__":
    main()
