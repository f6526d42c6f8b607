"""``hunet send``, ``messages``, ``verify``, ``key`` and ``hunet group``: people and groups, by the node that runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hunet.cli.node import AsJson, answer, running
from hunet.cli.operation import HOME, Folder
from hunet.cli.terminal import visible

AsQr = Annotated[bool, typer.Option("--qr", help="Show it as a QR code as well.")]
GroupName = Annotated[str, typer.Argument(help="The group, by its name on this device.")]

group_app = typer.Typer(
    no_args_is_help=True, help="Private topics: only members read them, and nobody else knows them."
)


def send(
    device: Annotated[str, typer.Argument(help="To whom: a name that you gave, or a key.")],
    text: Annotated[str | None, typer.Argument(help="What to write; standard input if it is left out.")] = None,
    ttl: Annotated[str, typer.Option(metavar="TIME", help="For how long it is carried: 90s, 30min, 12h, 7d.")] = "7d",
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Write to one person: only their device can read it, and carriers cannot tell who wrote it.

    It says "waiting" at first. hunet messages DEVICE shows by how many neighbours it is carried, and when it has
    arrived.

    Example: hunet send Ann "dinner at eight?"
    """
    from hunet.model.quantities import duration

    content = sys.stdin.read() if text is None else text
    sent = running(folder).ask("POST", "conversations", device, text=content, ttl=duration("--ttl", ttl))
    answer(sent, as_json, sent["state"])


def messages(
    device: Annotated[str | None, typer.Argument(help="With whom: a name that you gave, or a key.")] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Delete this conversation here.")] = False,
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Show with whom you write, or the messages with one person, in order, and what became of your own."""
    from hunet.model import ConfigurationError

    node = running(folder)
    if device is None:
        if forget:
            raise ConfigurationError("--forget: say whose conversation is to be deleted")
        found = node.ask("GET", "conversations")["conversations"]
        lines = [
            f"{visible(each['with']['name'])}  {each['unread']} new  {_when(each['last']['at'])}  {_text(each['last'])}"
            for each in found
        ]
        answer(found, as_json, "\n".join(lines) or "no messages")
        return
    if forget:
        node.ask("DELETE", "conversations", device)
        return
    found = node.ask("GET", "conversations", device)["messages"]
    node.ask("POST", "conversations", device, "read")
    answer(found, as_json, "\n".join(map(_line, found)) or "no messages")


def verify(
    device: Annotated[str, typer.Argument(help="Whose key: a name that you gave, or the key.")],
    same: Annotated[
        bool | None, typer.Option("--same/--different", help="Note that the numbers are the same, or are not.")
    ] = None,
    qr: AsQr = False,
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Show the safety number of yourself and somebody: if their device shows the same, nobody is in between.

    Compare all sixty digits, in person or by telephone, then run it again with --same.
    """
    from hunet.node.qr import qr_for_terminal

    method = "GET" if same is None else "PUT" if same else "DELETE"
    found = running(folder).ask(method, "safety" if same is None else "verified", device)
    digits = found["number"].split()
    lines = [" ".join(digits[start : start + 4]) for start in range(0, 12, 4)]
    lines.append("compared, and the same" if found["verified"] else "not compared yet")
    answer(found, as_json, "\n".join(([qr_for_terminal(found["qr"])] if qr else []) + lines))


def key(qr: AsQr = False, folder: Folder = HOME, as_json: AsJson = False) -> None:
    """Show the key of this device, by which others name it and write to it."""
    from hunet.node.qr import qr_for_terminal

    found = running(folder).ask("GET", "contact")
    answer(found, as_json, (qr_for_terminal(found["qr"]) + "\n" if qr else "") + found["uri"])


@group_app.command("make")
def make(
    name: Annotated[str, typer.Argument(help="What it is called.")], folder: Folder = HOME, as_json: AsJson = False
) -> None:
    """Make a group; hunet group invite NAME gives the invitation for its members."""
    _show_groups(running(folder).ask("POST", "groups", name=name), as_json)


@group_app.command("join")
def join(
    invitation: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A file with the invitation; standard input if left out.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Call it so here.")] = None,
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Join a group by an invitation, which is never written on the command line: others could see it there.

    Example: hunet group join choir.txt
    """
    from hunet.model import InputError

    try:
        line = sys.stdin.read() if invitation is None else invitation.read_text("utf-8")
    except OSError as error:
        raise InputError(str(invitation), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(str(invitation), "is no invitation to a group; take the file that was given to you") from None
    _show_groups(running(folder).ask("POST", "groups", invitation=line.strip(), name=name), as_json)


@group_app.command("list")
def list_(folder: Folder = HOME, as_json: AsJson = False) -> None:
    """Show the groups of this device, and who is known to belong to them."""
    _show_groups(running(folder).ask("GET", "groups"), as_json)


@group_app.command("invite")
def invite(
    name: GroupName,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it to a file.")] = None,
    qr: AsQr = False,
    folder: Folder = HOME,
) -> None:
    """Print the invitation to a group: anybody who has it can read and write, so hand it over where nobody listens."""
    from hunet.model.files import file_in_place
    from hunet.node.qr import qr_for_terminal

    found = running(folder).ask("GET", "groups", name, "invitation")
    if out is not None:
        with file_in_place(out, mode=0o600) as partial:
            partial.write_text(found["invitation"] + "\n", "utf-8")
    else:
        typer.echo((qr_for_terminal(found["qr"]) + "\n" if qr else "") + found["invitation"])


@group_app.command("remove")
def remove(
    name: GroupName,
    device: Annotated[str, typer.Argument(help="Whom: a name that you gave, or a key.")],
    folder: Folder = HOME,
) -> None:
    """Remove a member: the group gets a new key, which is sent to all others that are known."""
    members = running(folder).ask("DELETE", "groups", name, "members", device)["members"]
    typer.echo(f"the new key goes to {members} other members, as soon as they can be reached")


@group_app.command("leave")
def leave(name: GroupName, folder: Folder = HOME, as_json: AsJson = False) -> None:
    """Leave a group, and delete its keys."""
    _show_groups(running(folder).ask("DELETE", "groups", name), as_json)


def _show_groups(found: Any, as_json: bool) -> None:
    groups = found["groups"]
    lines = [
        f"{visible(each['name'])}  {', '.join(visible(one['name']) for one in each['members']) or 'nobody else yet'}"
        for each in groups
    ]
    answer(groups, as_json, "\n".join(lines) or "no groups")


def _line(message: dict[str, Any]) -> str:
    state = f"carried by {message['carriers']}" if message["state"] == "carried" else message["state"]
    who, also = ("me", f"  ({state})") if message["own"] else (visible(message["name"]), "")
    return f"{_when(message['at'])}  {who}: {_text(message)}{also}"


def _text(message: dict[str, Any]) -> str:
    return f"({visible(message['content_type'])})" if message["text"] is None else visible(message["text"])


def _when(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
