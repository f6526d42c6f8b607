"""Movement for other programs: ns-2 movement, The ONE's external movement, and plain CSV.

``ns2``: Tcl commands for ns-2 and all that reads its scenes (ns-3's Ns2MobilityHelper, INET): the first
place of each node, then one ``setdest`` per walked leg. Exact up to the nine decimals that are written.

``one``: The ONE's ``ExternalMovement``, a header with the bounds of time and place, then everybody's place at
every step. The format wants one constant step, so corners between two steps are cut.

``csv``: the breakpoints themselves, as node, time, x, y, with all digits.

Files are written beside their final name and moved there when complete, so a reader never sees half a file; a
name that ends in ``.gz`` is compressed.
"""

from __future__ import annotations

import gzip
import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TextIO, get_args

import numpy as np

from hunet.model.errors import ConfigurationError, OutputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hunet.worlds.movement import Movement
    from hunet.worlds.tracks import Tracks

MovementFormat = Literal["ns2", "one", "csv"]
_SUFFIXES: dict[str, MovementFormat] = {
    ".ns2": "ns2",
    ".tcl": "ns2",
    ".ns_movements": "ns2",
    ".one": "one",
    ".csv": "csv",
}
_STEPS_AT_ONCE = 1000


def format_of(path: Path, wanted: str | None = None) -> MovementFormat:
    """Tell the format: the wanted one, or what the name's ending says.

    >>> from pathlib import Path
    >>> format_of(Path("walk.tcl.gz"))
    'ns2'
    """
    if wanted is not None:
        for known in get_args(MovementFormat):
            if wanted == known:
                return known  # type: ignore[no-any-return]
        raise ConfigurationError(f"no movement format '{wanted}': {did_you_mean(wanted, get_args(MovementFormat))}")
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
    if suffix not in _SUFFIXES:
        raise ConfigurationError(
            f"{path}: the name does not tell the movement format; end it in .ns2, .one or .csv, or name one"
        )
    return _SUFFIXES[suffix]


def write_movement(movement: Movement, path: Path, wanted: str | None = None, *, step: float = 1.0) -> None:
    """Write everybody's movement; ``step`` (s) is the distance of samples in The ONE's format."""
    chosen = format_of(path, wanted)
    if step <= 0:
        raise ConfigurationError(f"a step of {step:g} s never gets anywhere: choose one above 0, such as 1")
    tracks, duration = movement.tracks, movement.duration
    with _replacing(path) as out:
        if chosen == "ns2":
            _write_ns2(tracks, duration, out)
        elif chosen == "one":
            _write_one(tracks, duration, step, out)
        else:
            _write_csv(tracks, out)


def _write_ns2(tracks: Tracks, duration: float, out: TextIO) -> None:
    for node in range(len(tracks)):
        _, x, y = tracks.breakpoints(node)
        out.write(f"$node_({node}) set X_ {x[0]:.9f}\n$node_({node}) set Y_ {y[0]:.9f}\n$node_({node}) set Z_ 0.0\n")
    legs = tracks.legs()
    walked = np.nonzero((legs.speed > 0) & (legs.begin < duration))[0]
    walked = walked[np.argsort(legs.begin[walked], kind="stable")]
    goal_x = legs.x + legs.vx * (legs.end - legs.begin)
    goal_y = legs.y + legs.vy * (legs.end - legs.begin)
    columns = (legs.begin, legs.node, goal_x, goal_y, legs.speed)
    for at, node, x, y, speed in zip(*(column[walked].tolist() for column in columns), strict=True):
        out.write(f'$ns_ at {at:.9f} "$node_({node}) setdest {x:.9f} {y:.9f} {speed:.9f}"\n')


def _write_one(tracks: Tracks, duration: float, step: float, out: TextIO) -> None:
    times = np.arange(int(duration / step + 1e-9) + 1) * step
    bounds = (0.0, times[-1], tracks.x.min(), tracks.x.max(), tracks.y.min(), tracks.y.max(), 0.0, 0.0)
    out.write(" ".join(f"{bound:.3f}" for bound in bounds) + "\n")
    for first in range(0, len(times), _STEPS_AT_ONCE):
        portion = times[first : first + _STEPS_AT_ONCE]
        for at, places in zip(portion.tolist(), tracks.positions(portion).tolist(), strict=True):
            out.writelines(f"{at:.3f} {node} {x:.3f} {y:.3f}\n" for node, (x, y) in enumerate(places))


def _write_csv(tracks: Tracks, out: TextIO) -> None:
    out.write("node,time,x,y\n")
    for node in range(len(tracks)):
        columns = (column.tolist() for column in tracks.breakpoints(node))
        out.writelines(f"{node},{t!r},{x!r},{y!r}\n" for t, x, y in zip(*columns, strict=True))


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """Open a temporary sibling and move it to ``path`` at the end; on any failure remove it."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with part.open("wb") as raw:
                if path.suffix == ".gz":
                    # No name and no time in the header: the same movement gives the same bytes.
                    with (
                        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
                        io.TextIOWrapper(packed, "ascii") as out,
                    ):
                        yield out
                else:
                    with io.TextIOWrapper(raw, "ascii") as out:
                        yield out
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error
