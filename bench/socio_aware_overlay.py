"""How long community detection takes on a trace, and the pictures of the Socio-Aware Overlay's page.

    python bench/socio_aware_overlay.py [--trace FILE | --small]
    python bench/socio_aware_overlay.py --leaving [--trace FILE]                 brokers that leave for good
    python bench/socio_aware_overlay.py --pictures RESULTS [--folder FOLDER]     (docs/pictures unless told otherwise)

FILE is a contact table, best Reality as imported; without one, a made-up crowd, or a small one. RESULTS is the folder
of the results of the studies of the system, each under the stem of its file. Pictures need
matplotlib.
"""

from __future__ import annotations

import argparse
from math import cos, pi, sin
from pathlib import Path
from time import process_time
from typing import Any

from hunet import Contacts, Crash, Workload, make_workload, make_world, read_contacts, run
from hunet.report.runs import Runs, Studies, tables_of
from hunet.systems.socio_aware_overlay.claims import EVALUATION
from hunet.systems.socio_aware_overlay.detection import agreed, detect
from hunet.systems.socio_aware_overlay.local_community import DetectionParameters
from hunet.systems.socio_aware_overlay.measures import OVERLAY, stages

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#b0b0b0"
STYLE: dict[Any, Any] = {"svg.hashsalt": "hunet", "svg.fonttype": "none", "font.size": 8, "legend.frameon": False}


def _frozen(runs: Runs, **coordinates: Any) -> list[dict[str, Any]]:
    """The communities that a frozen study took for granted."""
    found: list[dict[str, Any]] = runs.first(OVERLAY, **coordinates)["name"]["result"]["parameters"]["communities"]
    return found


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--trace", type=Path)
    ask.add_argument("--small", action="store_true")
    ask.add_argument("--pictures", type=Path, metavar="RESULTS")
    ask.add_argument("--folder", type=Path, default=Path("docs/pictures"))
    ask.add_argument("--leaving", action="store_true")
    chosen = ask.parse_args()
    if chosen.pictures:
        draw(chosen.pictures, chosen.folder)
    elif chosen.leaving:
        leaving(read_contacts(chosen.trace) if chosen.trace else make_world("community", seed=1))
    else:
        speed(chosen.trace, 600.0 if chosen.small else 7200.0)


def leaving(contacts: Contacts, seed: int = 1) -> None:
    """What is delivered of the later publications if all brokers, or half of many, leave after a third of the time."""
    begin, end = contacts.span
    when, work = begin + (end - begin) / 3, make_workload(contacts, seed, messages=200)
    print("| brokers | patience | leave | delivered of later publications | if nobody leaves |\n|---|---|---|---|---|")
    for group in (True, False):
        for patience in (None, 0.5):
            given: dict[str, Any] = {"broker_group": group, "patience": patience}
            stays = run(contacts, work, "socio-aware-overlay", **given)
            roles = {row.node: row.role for row in stays.roles.itertuples() if row.time <= when}
            brokers = sorted(contacts.names.index(node) for node, role in roles.items() if role == "broker")
            gone = brokers[: max(1, len(brokers) // 2)] if group else brokers
            left = run(contacts, work, "socio-aware-overlay", crashes=[Crash(n, when, 1e12) for n in gone], **given)
            shares = [f"{share(result, work, contacts, when, gone):.1%}" for result in (left, stays)]
            print(
                f"| {'all central' if group else 'one'} | {patience} | {len(gone)} | {' | '.join(shares)} |", flush=True
            )


def share(result: Any, work: Workload, contacts: Contacts, when: float, gone: list[int]) -> float:
    """Of the pairs of a later publication and a subscriber, both by devices that stay, those that were served."""
    later = [each for each in work.publications if each.time > when and each.node not in gone]
    staying = [each for each in work.subscriptions if each.node not in gone]
    pairs = {
        (p.id, contacts.names[s.node]) for p in later for s in staying if (p.topic, True) == (s.topic, p.node != s.node)
    }
    return len(pairs & set(result.deliveries[["publication", "node"]].itertuples(index=False, name=None))) / len(pairs)


def speed(trace: Path | None, duration: float) -> None:
    """Seconds of processor time for detection by every device over a whole trace, or a world of this duration."""
    contacts = read_contacts(trace) if trace else make_world("community", seed=1, duration=duration)
    longest = float((contacts.end - contacts.start).sum()) / len(contacts.names)
    print(f"{contacts}\n\n| algorithm | threshold (s) | CPU s | communities |\n|---|---|---|---|")
    for algorithm in ("simple", "k-clique"):
        for threshold in (50_000.0, 150_000.0, 250_000.0) if trace else (longest / 100, longest / 10):
            began = process_time()
            devices = detect(contacts, DetectionParameters(algorithm=algorithm, threshold=threshold))
            spent = process_time() - began
            print(f"| {algorithm} | {threshold:,.0f} | {spent:.2f} | {len(agreed([d.nodes for d in devices]))} |")


def draw(results: Path, folder: Path) -> None:
    """Communities and brokers as in Fig. 11, latencies as in Fig. 12 to 14; the same results draw the same bytes."""
    import matplotlib as mpl

    studies = EVALUATION.read(results)
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        known = {name: _frozen(studies[stem]) for name, stem in (("cambridge", "table-3"), ("reality", "table-4"))}
        known["reality-familiar"] = _frozen(studies["what-matters"], hop="familiar", broker_group=True)
        for name, communities in known.items():
            figure = _communities(communities)
            figure.savefig(folder / f"socio-aware-overlay-{name}.svg", metadata={"Date": None})
        figure = _latencies(studies)
        figure.savefig(folder / "socio-aware-overlay-latencies.svg", metadata={"Date": None})


def _communities(known: list[dict[str, Any]]) -> Any:
    from matplotlib.figure import Figure

    radii = [max(1.0, len(each["members"]) / 9) for each in known]
    loners = known[0]["guests"] if known else []
    columns = -(-len(loners) // 5)
    figure = Figure((9, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.axis("off")
    left = 0.0
    for number, (community, radius) in enumerate(zip(known, radii, strict=True), 1):
        middle = left + radius + 0.6
        left = middle + radius + 0.6
        axes.text(middle, -radius - 1.3, f"{number}", ha="center")
        axes.add_patch(_circle(middle, radius + 0.45))
        single = community["brokers"][0]
        _dot(axes, middle, 0.0, single, ORANGE)
        others = [node for node in community["brokers"] if node != single]
        plain = [node for node in community["members"] if node not in community["brokers"]]
        for ring, nodes, colour in ((0.55 if plain else 1.0, others, ORANGE), (1.0, plain, BLUE)):
            for coordinates, node in enumerate(nodes):
                angle = 2 * pi * coordinates / len(nodes)
                _dot(axes, middle + ring * radius * cos(angle), ring * radius * sin(angle), node, colour)
    for coordinates, node in enumerate(loners):
        _dot(axes, left + 1 + 0.8 * (coordinates % columns), 1.6 - 0.8 * (coordinates // columns), node, GREY)
    axes.text(left + 1, -3.2, "loners")
    axes.set_xlim(-0.5, left + 1.5 + 0.8 * columns)
    axes.set_ylim(-max(radii, default=1) - 1.6, max(radii, default=1) + 0.8)
    return figure


def _circle(middle: float, radius: float) -> Any:
    from matplotlib.patches import Circle

    return Circle((middle, 0), radius, fill=False, edgecolor=GREY, linewidth=0.8)


def _dot(axes: Any, x: float, y: float, node: int, colour: str) -> None:
    axes.plot([x], [y], "o", color=colour, markersize=9)
    axes.text(x, y, str(node), color="white", ha="center", va="center", fontsize=5)


def _latencies(studies: Studies) -> Any:
    """How many deliveries took longer: Fig. 12 by load, Fig. 13 after the first contact, Fig. 14b within and mixed."""
    from matplotlib.figure import Figure

    figure = Figure((9, 3), layout="constrained")
    by_load, after, mixed = figure.subplots(1, 3)
    for load, colour in ((100, BLUE), (50, ORANGE), (20, "#009e73")):
        waits = _waits(studies, "table-4", "A", subscriptions=load, default_community=False)
        _longer(by_load, waits, colour, f"{10 * load}/{load}")
    for loners, colour in ((True, BLUE), (False, ORANGE)):
        waits = _waits(studies, "table-4", "B", subscriptions=100, default_community=loners)
        _longer(after, waits, colour, "default community" if loners else "none for loners")
    for within, colour in ((0.0, BLUE), (0.9, ORANGE)):
        waits = _waits(studies, "figure-14", "A", within=within, default_community=False)
        _longer(mixed, waits, colour, "within" if within else "mix")
    for axes, label in ((by_load, "C−A"), (after, "C−B"), (mixed, "C−A")):
        axes.set(xlabel=f"{label} (units of 390 s)", ylabel="share that took longer", xscale="log", yscale="log")
        axes.legend()
    return figure


def _longer(axes: Any, waits: list[float], colour: str, label: str) -> None:
    """The share of deliveries that took longer, at 60 places."""
    waits = sorted(waits)
    places = [10 ** (5 * step / 59 - 0.5) for step in range(60)]
    share = [sum(wait > coordinates for wait in waits) / len(waits) for coordinates in places]
    axes.plot(places, [each or float("nan") for each in share], color=colour, label=label)


def _waits(studies: Studies, stem: str, since: str, **coordinates: Any) -> list[float]:
    """How long deliveries took since they were created (A) or handed over (B), at a point of a study."""
    served = [each for row in studies[stem].only(OVERLAY, **coordinates).rows for each in stages(tables_of(row))]
    return [each.since_created if since == "A" else each.since_handed for each in served]


if __name__ == "__main__":
    main()
