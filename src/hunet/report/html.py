"""Pages that need nothing else: one file, with its style and its pictures inside."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from hunet.model.files import file_in_place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_page(out: Path, title: str, parts: Iterable[str]) -> None:
    """Write a page of these parts, which are HTML."""
    text = (files("hunet.report") / "pages" / "report.html").read_text("utf-8")
    with file_in_place(out) as place:
        place.write_text(Template(text).substitute(title=escape(title), body="\n".join(parts)), encoding="utf-8")


def picture(svg: Path, caption: str, note: str = "", *, narrow: bool = False) -> str:
    """A part of a page: a picture that was drawn to a file, and below it what it shows.

    A narrow one shrinks with the screen; others keep a width at which they can be read, and scroll.
    """
    text = svg.read_text("utf-8")
    text = text[text.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    kind = "narrow" if narrow else "wide"
    return f"<figure><div class={kind}>{text}</div><figcaption>{escape(caption)}{escape(note)}</figcaption></figure>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A part of a page: names and what there is to say of each."""
    lines = [f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows]
    return f"<table class=facts>{''.join(lines)}</table>"
