"""Draw the picture of docs/systems/mops.md: the paper's example as our own code finds it.

    python bench/mops_figure.py [FOLDER]      (docs/pictures unless told otherwise)

Needs matplotlib. The same program draws the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from hunet.systems.mops.interests import InterestBook, InterestList, Internal
from hunet.systems.mops.structure import Structure, structure_of

TABLE = (
    *((1, 3, 0.9), (1, 4, 0.8), (1, 5, 0.8), (1, 8, 0.8), (2, 5, 0.5), (2, 7, 0.8), (2, 8, 0.4)),
    *((5, 8, 0.7), (7, 8, 0.3), (7, 9, 0.3)),
)
"""The closenesses that the paper's text gives."""
PLACES = {
    **{1: (1.2, 2.6), 3: (0.0, 3.4), 4: (0.0, 1.6), 5: (2.6, 3.4), 8: (2.4, 1.4)},
    **{2: (4.4, 3.0), 7: (4.6, 1.2), 9: (6.4, 1.2)},
}
COLOURS = {1: "#0072b2", 2: "#d55e00", 9: "#009e73"}


def weights(structure: Structure) -> dict[int, str]:
    """What the brokers make of topic C, which 1 and 8 want; 9 says 1.7 (sections IV.A, Fig. 5 and 6)."""
    books = {node: InterestBook(node, 0.99, 0.0) for node in (2, 5, 7, 8)}
    for node, book in books.items():
        book.use_structure(structure)
        book.own = {"C"} if node == 8 else set()
        book.lists[node] = InterestList(node, 0.0, tuple(book.own))
        book.hear([InterestList(1, 0.0, ("C",)), InterestList(8, 0.0, ("C",))])
    for broker in (5, 8):
        books[2].hear_internal(broker, books[broker].told_outside())
    books[7].hear_internal(8, books[8].told_outside())
    books[7].hear_internal(9, Internal(9, (("C", 1.7),)))
    books[7].hear_relay(2, books[2].told_inside())
    return {
        5: f"I = {books[5].internal()['C']:g}",
        8: f"I = {books[8].internal()['C']:g}",
        2: f"E = {books[2].external_sum()['C']:g}",
        7: f"ER = {books[7].external_or_relayed()['C']:g}",
        9: "I = 1.7",
    }


def draw(folder: Path) -> None:
    """Nodes in the colour of their community, brokers with a ring, links with their closeness."""
    structure = structure_of(TABLE)
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "hunet", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(6.4, 3.2))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(-0.6, 7.2)
        axes.set_ylim(0.6, 4.0)
        for one, two, closeness in TABLE:
            (x1, y1), (x2, y2) = PLACES[one], PLACES[two]
            inside = structure.label(one) == structure.label(two)
            axes.plot([x1, x2], [y1, y2], color="#777777", lw=3 * closeness, ls="-" if inside else ":", zorder=1)
            paper = {"fc": "white", "ec": "none", "pad": 1}
            middle = ((x1 + x2) / 2, (y1 + y2) / 2)
            axes.text(*middle, f"{closeness:g}", ha="center", va="center", zorder=2, bbox=paper)
        notes = weights(structure)
        for node, (x, y) in PLACES.items():
            ring = "black" if structure.bridges(node) else "white"
            axes.scatter([x], [y], s=330, color=COLOURS[structure.label(node)], edgecolors=ring, linewidths=2, zorder=3)
            axes.text(x, y, str(node), color="white", ha="center", va="center", weight="bold", zorder=4)
            axes.text(x + 0.3, y + 0.22, notes.get(node, ""), zorder=4)
        figure.savefig(folder / "mops-example.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
