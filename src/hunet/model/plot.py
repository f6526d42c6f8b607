"""Figures that show themselves in a notebook, whatever its settings."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Plot:
    """A figure that a notebook shows; ``figure`` is matplotlib's, to be changed at will."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    @classmethod
    def empty(cls, wide: float = 5.5, high: float = 3.6) -> tuple[Plot, Axes]:
        """A figure of one panel, in inches, and the panel."""
        from matplotlib.figure import Figure

        figure = Figure((wide, high), layout="constrained")
        return cls(figure), figure.subplots()

    def __repr__(self) -> str:
        wide, high = self.figure.get_size_inches()
        return f"Plot({wide:g} x {high:g} inch)"

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.figure.savefig(content, format="png", dpi=110)
        return content.getvalue()

    def save(self, path: Path | str) -> None:
        """Write it to a file: .svg, .pdf or .png."""
        self.figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
