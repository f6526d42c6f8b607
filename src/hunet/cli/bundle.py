"""``hunet bundle``: publications as bundles of the Bundle Protocol, out of a node and into it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hunet.cli.operation import HOME, Folder, passphrase
from hunet.cli.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunet.node.bundles import Bundle
    from hunet.node.publication import Publication

app = typer.Typer(
    no_args_is_help=True,
    help="Bundles of the Bundle Protocol (RFC 9171): publications for other delay-tolerant networks, and from them.",
)
_Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Bundles, or folders of .bundle files.")]
_Json = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]


@app.command("export")
def export(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these; the beginning of an id is enough.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Only what is published on this topic.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write a file for each.")] = None,
    mtcp: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Send them to a node that speaks MTCP.")] = None,
    group: Annotated[str, typer.Option(metavar="NAME", help="The group in dtn://NAME/~TOPIC.")] = "hunet",
    folder: Folder = HOME,
) -> None:
    """Export the publications that a node holds as bundles, each with its author's signature. The node may be running.

    Example: hunet bundle export -d ann --topic news -o stick
    """
    import asyncio

    from hunet.model.errors import ConfigurationError
    from hunet.node.gateway import bundle_of, save_bundles
    from hunet.node.mtcp import parse_address, send_bundles

    if (out is None) == (mtcp is None):
        raise ConfigurationError("say where the bundles go: -o DIR, or --mtcp HOST:PORT")
    chosen = list(_held(folder.expanduser(), tuple(ids or ()), topic))
    if out is not None:
        save_bundles(chosen, out, group)
    elif mtcp is not None:
        asyncio.run(send_bundles(*parse_address(mtcp), [bundle_of(each, group) for each in chosen]))
    typer.echo(f"{out or mtcp}: {len(chosen)} publications as bundles")


@app.command("import")
def import_(
    files: _Files,
    accept_unsigned: Annotated[
        bool, typer.Option("--accept-unsigned", help="Sign bundles that are not signed in the node's own name.")
    ] = False,
    folder: Folder = HOME,
) -> None:
    """Bring bundles to the node that is running; it carries the publications in them as if they were its own.

    Example: hunet bundle import -d bob stick
    """
    from base64 import b64encode

    from hunet.model.errors import ConfigurationError, InputError
    from hunet.node.gateway import bundle_files, load_bundle
    from hunet.node.http.client import NodeClient

    running = NodeClient(folder.expanduser())
    running.ask("GET", "status")  # whether it runs at all
    new = known = refused = 0
    for path in bundle_files(files):
        try:
            encoded = b64encode(load_bundle(path).to_bytes()).decode()
            answer = running.ask("POST", "bundles", base64=encoded, accept_unsigned=accept_unsigned)
        except (ConfigurationError, InputError) as problem:
            where = "" if isinstance(problem, InputError) else f"{path}: "
            typer.echo(visible(f"hunet: {where}{problem}"), err=True)
            refused += 1
        else:
            new, known = new + answer["new"], known + (not answer["new"])
    typer.echo(f"{new} new publications, {known} known already, {refused} bundles refused")
    if refused:
        raise typer.Exit(1)


@app.command("show")
def show(files: _Files, as_json: _Json = False) -> None:
    """Show what bundles say."""
    import json

    from hunet.node.gateway import bundle_files, load_bundle

    descriptions = [{"file": str(path), **_described(load_bundle(path))} for path in bundle_files(files)]
    if as_json:
        typer.echo(json.dumps(descriptions, indent=2))
        return
    for row in descriptions:
        typer.echo(
            "\n".join(f"{name.replace('_', ' '):<14} {visible(str(value))}" for name, value in row.items()) + "\n"
        )


def _described(bundle: Bundle) -> dict[str, str | int]:
    import time

    from hunet.model.errors import PeerError
    from hunet.node.gateway import publication_in

    try:
        found = publication_in(bundle, time.time())
        carries = f"publication {found.id} of {len(found.content)} bytes ({found.content_type}), well signed"
    except PeerError as problem:
        carries = f"{len(bundle.payload)} bytes; {problem}"
    return {
        "destination": bundle.destination,
        "source": bundle.source,
        "created": _date(bundle.created),
        "sequence": bundle.sequence,
        "lifetime": f"{bundle.lifetime / 1000:g} s",
        "blocks": ", ".join(block.name for block in bundle.blocks),
        "carries": carries,
    }


def _date(created: int) -> str:
    from datetime import UTC, datetime

    from hunet.node.bundles import unix_time

    if not created:
        return "unknown"
    try:
        return datetime.fromtimestamp(unix_time(created), UTC).isoformat(" ", "milliseconds")
    except (OverflowError, ValueError):
        return f"{created} ms after 2000"


def _held(folder: Path, ids: tuple[str, ...], topic: str | None) -> Iterator[Publication]:
    """The publications in date that a node holds; an id that is not among them is an error."""
    import time

    from hunet.model.errors import ConfigurationError, InputError
    from hunet.node.publication import Refused, read_publication
    from hunet.node.store import Store
    from hunet.node.vault import Vault

    path = folder / "hunet.db"
    if not path.exists():
        raise InputError(folder, "is not the folder of a node")
    vault = Vault.open(folder, passphrase(None))
    store = Store(path, vault.key if vault else None)
    try:
        missing = set(ids)
        for header in store.headers():
            named = [each for each in ids if header.id.startswith(each)]
            if (ids and not named) or topic not in (None, header.topic):
                continue
            content = store.content(header.number)
            if content is not None:
                try:
                    yield read_publication(content, time.time())
                    missing.difference_update(named)
                except Refused:  # out of date, or the disk has changed it
                    continue
        if missing:
            raise ConfigurationError(
                f"no publication {', '.join(sorted(missing))} is held by {folder}, or it is out of date"
            )
    finally:
        store.close()
