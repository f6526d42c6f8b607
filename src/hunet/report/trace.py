"""``hunet trace report``: one's own trace in the pictures of the Socio-Aware Overlay's paper (section 3).

Inter-contact times (section 3.1), the four categories of pairs (Fig. 2) and of the pairs of two devices (Fig. 3),
degrees and hops (Fig. 4). The figures come from the pipeline, which may have sampled pairs and paths; the page says so.
"""

from __future__ import annotations

import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.report.figures import STYLES, line, panels
from hunet.report.html import facts, picture, write_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAMES = {
    "community": "I community: many contacts, long",
    "familiar stranger": "II familiar stranger: many, short",
    "stranger": "III stranger: few, short",
    "friend": "IV friend: few, long",
}


def write_trace_report(figures: Mapping[str, Any], out: Path, title: str) -> None:
    """Draw the figures that ``hunet.pipeline.trace_figures`` has collected, and write the page."""
    with tempfile.TemporaryDirectory() as scratch:
        parts = [f"<h1>{escape(title)}</h1>", _facts(figures), *_pictures(figures, Path(scratch))]
    write_page(out, title, parts)


def _facts(figures: Mapping[str, Any]) -> str:
    pairs, graph = figures["pairs"], figures["graph"]
    law = pairs["power_law"]
    rows = [
        ("people", f"{graph['nodes']:,} who met somebody, {graph['edges']:,} pairs that met"),
        ("contacts", f"{figures['contacts']:,} from second {figures['span'][0]:,.0f} to {figures['span'][1]:,.0f}"),
        ("pairs", ", ".join(f"{many:,} {name}" for name, many in pairs["categories"].items())),
        (
            "inter-contact times",
            f"power law with α {law['alpha']:.2f} from {law['low']:,.0f} to {law['high']:,.0f} s "
            f"({law['share']:.0%} of {pairs['inter_contact_times']:,} times, distance {law['distance']:.3f})"
            if law
            else f"{pairs['inter_contact_times']:,}: too few for a law",
        ),
        ("mean hops", _mean_hops(graph)),
        ("mean clustering", f"{graph['clustering_mean']:.2f}" if graph["clustering_mean"] is not None else "none"),
        ("content", f"SHA-256 {figures['trace']}"),
    ]
    for by, laws in pairs["power_law_by"].items():
        exponents = ", ".join(f"{group} {each['alpha']:.2f}" for group, each in laws.items() if each)
        rows.insert(4, (f"α by {by}", exponents or "too few times"))
    return facts(rows)


def _mean_hops(graph: Mapping[str, Any]) -> str:
    if graph["hops_mean"] is None:
        return "none"
    error = f" ± {graph['hops_error']:.2g} (standard error: paths from sampled people)"
    return f"{graph['hops_mean']:.2f}{error if graph['paths'] == 'sampled' else ''}"


def _pictures(figures: Mapping[str, Any], folder: Path) -> Iterator[str]:
    yield "<h2>Inter-contact times</h2>"
    yield _inter_contacts(figures["gaps"], folder / "gaps.svg")
    yield "<h2>Four kinds of pairs</h2>"
    yield _categories({"all pairs": figures["scatter"]}, figures, folder / "pairs.svg", _sampled(figures))
    if figures["devices"]:
        shown = {f"{device['node']}: {device['why']}": device["pairs"] for device in figures["devices"]}
        yield _categories(shown, figures, folder / "devices.svg", "The pairs of two devices (the paper's Fig. 3).")
    yield "<h2>Degrees and hops</h2>"
    yield _degrees_and_hops(figures["degrees"], figures["hops"], folder / "graph.svg")


def _sampled(figures: Mapping[str, Any]) -> str:
    drawn, all_ = len(figures["scatter"]), figures["pairs"]["pairs"]
    some = f" {drawn:,} of {all_:,} are drawn." if drawn < all_ else ""
    return f"Pairs by contacts and contact time; lines are the means (the paper's Fig. 2).{some}"


def _inter_contacts(gaps: Mapping[str, Sequence[tuple[float, float]]], path: Path) -> str:
    if not any(gaps.values()):
        return "<p>Hardly anybody met twice.</p>"
    with panels(path, 1, 1) as (panel,):
        for style, (name, points) in zip(STYLES, gaps.items(), strict=False):
            line(panel, [time / 60 for time, _ in points], [share for _, share in points], style, name)
        panel.set(xlabel="time between contacts (min)", ylabel="share of longer ones", xscale="log", yscale="log")
        panel.legend(fontsize=7)
    return picture(path, "Times between contacts of a pair, of all pairs and by category.")


def _categories(
    shown: Mapping[str, Sequence[tuple[int, float, str]]], figures: Mapping[str, Any], path: Path, caption: str
) -> str:
    many, long = figures["means"]
    with panels(path, 1, len(shown), height=3.6) as places:
        for panel, (title, pairs) in zip(places, shown.items(), strict=True):
            for style, (kind, label) in zip(STYLES, _NAMES.items(), strict=False):
                points = [(contacts, max(length, 1.0) / 60) for contacts, length, each in pairs if each == kind]
                x, y = zip(*points, strict=True) if points else ((), ())
                panel.scatter(x, y, s=9, label=label, color=style["color"], marker=style["marker"], alpha=0.6)
            panel.axvline(many, color="#555555", linewidth=0.8)
            panel.axhline(long / 60, color="#555555", linewidth=0.8)
            panel.set(xlabel="number of contacts", ylabel="contact time (min)", xscale="log", yscale="log")
            panel.xaxis.set_minor_formatter("")  # they would stand on each other
            panel.set_title(title, fontsize=9)
        handles, labels = places[0].get_legend_handles_labels()
        places[0].figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7)
    return picture(path, caption)


def _degrees_and_hops(degrees: Sequence[tuple[int, int]], hops: Sequence[tuple[int, int]], path: Path) -> str:
    with panels(path, 1, 2) as (left, right):
        left.bar([degree for degree, _ in degrees], [many for _, many in degrees], color=STYLES[0]["color"], width=0.9)
        for panel in (left, right):
            panel.set_axisbelow(True)
            panel.locator_params(integer=True)
        left.set(xlabel="people met (degree)", ylabel="people")
        right.bar([hop for hop, _ in hops], [many for _, many in hops], color=STYLES[1]["color"], width=0.8)
        right.set(xlabel="hops", ylabel="pairs", xticks=[hop for hop, _ in hops])
    return picture(path, "How many people each has met, and how far pairs are apart (the paper's Fig. 4a and 4b).")
