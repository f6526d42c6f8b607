"""Pages that need nothing else: one file, with its style and its pictures inside."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from hunet.model.files import file_in_place

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from pathlib import Path


def write_page(out: Path, title: str, parts: Iterable[str]) -> None:
    """Write a page of these parts, which are HTML: what heads it, if anything does, is a :func:`head`."""
    text = (files("hunet.report") / "pages" / "report.html").read_text("utf-8")
    with file_in_place(out) as partial:
        partial.write_text(Template(text).substitute(title=escape(title), body="\n".join(parts)), encoding="utf-8")


def head(parts: Iterable[str], stamp: str = "") -> str:
    """A part of a page: what heads it; ``stamp`` tells what the rest of the page is about."""
    body = "\n".join(parts)
    return f'<section data-stamp="{escape(stamp)}">{body}</section>'


def replace_head(page: Path, parts: Iterable[str], stamp: str) -> bool:
    """Give a page another head; false if there is no page whose rest is about the same."""
    text = page.read_text("utf-8") if page.exists() else ""
    begin = text.find(f'<section data-stamp="{escape(stamp)}">')
    if begin < 0:
        return False
    end = text.index("</section>", begin) + len("</section>")
    with file_in_place(page) as partial:
        partial.write_text(text[:begin] + head(parts, stamp) + text[end:], encoding="utf-8")
    return True


def picture(svg: Path, caption: str, note: str = "", *, narrow: bool = False) -> str:
    """A part of a page: a picture that was drawn to a file, and below it what it shows.

    A narrow one shrinks with the screen; others keep a width at which they can be read, and scroll.
    """
    text = svg.read_text("utf-8")
    text = text[text.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    kind = "narrow" if narrow else "wide"
    return f"<figure><div class={kind}>{text}</div><figcaption>{escape(caption)}{escape(note)}</figcaption></figure>"


def table(head: Sequence[str], lines: Sequence[Sequence[str]], strong: Container[tuple[int, int]] = ()) -> str:
    """A part of a page: a table that scrolls if it is wide; cells (row, column) of ``strong`` are in bold."""
    top = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td><b>{escape(cell)}</b></td>" if (number, column) in strong else f"<td>{escape(cell)}</td>"
            for column, cell in enumerate(line)
        )
        + "</tr>"
        for number, line in enumerate(lines)
    )
    return f"<div class=wide><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A part of a page: names and what there is to say of each."""
    lines = [f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows]
    return f"<table class=facts>{''.join(lines)}</table>"
