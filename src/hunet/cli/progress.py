"""Progress bars with the time left, on standard error, where a person can see it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EVERY = 30.0
"""Seconds between two lines of a log."""


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None] | None]:
    """A function to call with the share that is done; None where standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda share: progress.update(task, completed=share)


def _lines(label: str) -> Callable[[int, int], None]:
    """Lines for a log: how many runs are done, and about how long the others take, at most every half minute."""
    import typer

    from hunet.report.metrics import duration

    begun = printed = monotonic()
    first: int | None = None

    def tell(done: int, total: int) -> None:
        nonlocal printed, first
        now = monotonic()
        first = done - 1 if first is None else first  # what was there before
        if now - printed >= _EVERY:
            printed = now
            left = (now - begun) / (done - first) * (total - done)
            typer.echo(f"{label}: {done} of {total} runs, about {duration(left)} left", err=True)

    return tell


@contextmanager
def progress_of_runs(label: str = "runs", *, lines: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A bar that counts runs, with the time left, for a person; elsewhere a line now and then, if wanted."""
    if not sys.stderr.isatty():
        yield _lines(label) if lines else None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def progress_of_stages() -> Iterator[None]:
    """Show what Spark does meanwhile: the stage's name, its tasks and the time left, where a person can see it."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from hunet.pipeline.session import stages_told

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting Spark", total=None)

        def tell(name: str, done: int, known: int) -> None:
            if name != bar.tasks[0].description:
                bar.reset(task, description=name, total=None)
            bar.update(task, completed=done, total=known or None)

        with stages_told(tell):
            yield
