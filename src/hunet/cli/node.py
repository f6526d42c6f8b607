"""``hunet node`` runs a device; ``publish``, ``subscribe`` and the others talk to one that runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hunet.cli.operation import HOME, Folder, PassphraseFile, passphrase, read_config
from hunet.cli.terminal import visible

if TYPE_CHECKING:
    from hunet.node.http.client import NodeClient
    from hunet.node.mtcp import MtcpPort
    from hunet.node.node import Node
    from hunet.node.radio import Radio

_PROTOCOL, _NETWORK, _KEEPS, _TALK = "What it runs", "Whom it finds", "What it keeps", "What it does at once"
_PAGE, _LOG = "Its web page", "What it says of itself"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
InGroup = Annotated[
    str | None,
    typer.Option("--group", metavar="NAME", help="Instead of a topic: a group of this device; see hunet group."),
]


def node(
    folder: Folder = HOME,
    protocol: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=_PROTOCOL, help="One of hunet protocols.")
    ] = "push",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", rich_help_panel=_PROTOCOL, help="A parameter of it; repeat as needed."
        ),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", rich_help_panel=_NETWORK, help="Where others connect; port 0 is any port."),
    ] = ":0",
    peer: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", rich_help_panel=_NETWORK, help="A device to look for; repeat as needed."),
    ] = None,
    beacons: Annotated[
        bool,
        typer.Option(
            "--beacons/--no-beacons", rich_help_panel=_NETWORK, help="Find, and be found, on the local network."
        ),
    ] = True,
    interface: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", rich_help_panel=_NETWORK, help="Beacons on these interfaces only."),
    ] = None,
    ip: Annotated[
        bool, typer.Option("--ip/--no-ip", rich_help_panel=_NETWORK, help="Meet over IP at all; Bluetooth needs none.")
    ] = True,
    bluetooth: Annotated[
        bool, typer.Option("--bluetooth", rich_help_panel=_NETWORK, help="Meet over Bluetooth Low Energy as well.")
    ] = False,
    adapter: Annotated[
        str,
        typer.Option(
            metavar="NAME", rich_help_panel=_NETWORK, help="The Bluetooth adapter: hci0, usb:0, serial:/dev/ttyUSB0."
        ),
    ] = "hci0",
    scan: Annotated[
        float,
        typer.Option(
            metavar="PERCENT", rich_help_panel=_NETWORK, help="The share of time in which Bluetooth scans.", max=100.0
        ),
    ] = 10.0,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=_PAGE,
            help="Serve a web page and an HTTP API: PORT for this machine only; HOST:PORT, or :PORT for all "
            "interfaces, for anybody who has the token.",
        ),
    ] = None,
    http_token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="HUNET_HTTP_TOKEN",
            rich_help_panel=_PAGE,
            help="The token; without it one is made, and needed beyond this machine.",
        ),
    ] = None,
    quota: Annotated[
        int,
        typer.Option(
            metavar="MB", rich_help_panel=_KEEPS, help="How much it carries, own publications included.", min=1
        ),
    ] = 512,
    receipts: Annotated[
        bool,
        typer.Option(
            "--receipts", rich_help_panel=_KEEPS, help="Tell authors who ask that it has got something, not who it is."
        ),
    ] = False,
    encounters: Annotated[
        str,
        typer.Option(metavar="HOW", rich_help_panel=_KEEPS, help="How it notes whom it met: pseudonyms, names or off."),
    ] = "pseudonyms",
    trial: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            envvar="HUNET_TRIAL",
            rich_help_panel=_KEEPS,
            help="A secret word by which all devices of a trial agree on pseudonyms.",
        ),
    ] = None,
    mtcp: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", rich_help_panel=_NETWORK, help="Take bundles (RFC 9171) over MTCP here."),
    ] = None,
    accept_unsigned: Annotated[
        bool,
        typer.Option(
            "--accept-unsigned", rich_help_panel=_NETWORK, help="Sign bundles that are not signed in its own name."
        ),
    ] = False,
    subscribe_to: Annotated[
        list[str] | None,
        typer.Option("--subscribe", metavar="TOPIC", rich_help_panel=_TALK, help="Print messages on a topic."),
    ] = None,
    say: Annotated[
        tuple[str, str] | None,
        typer.Option("--publish", metavar="TOPIC TEXT", rich_help_panel=_TALK, help="Publish a text."),
    ] = None,
    as_json: AsJson = False,
    config: Annotated[  # noqa: ARG001 - it is read before the others
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="HUNET_CONFIG",
            is_eager=True,
            callback=read_config,
            help="Options from a TOML file; those given here win.",
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", rich_help_panel=_LOG, help="Say whom it meets, and what goes wrong.")
    ] = False,
    log_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=_LOG, help="Write a log, for its owner only, of 3 MiB at most."),
    ] = None,
    event_log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=_LOG, help="Add each event of its protocol; see hunet replay."),
    ] = None,
) -> None:
    """Run one device: find others, meet them, and carry publications.

    It runs until it is interrupted. Everything it knows is in its folder, so that it goes on where it stopped.

    Example, in two terminals:

    hunet node -d bob --listen 127.0.0.1:4000 --subscribe news

    hunet node -d ann --peer 127.0.0.1:4000 --publish news "hello"
    """
    import asyncio

    from hunet.cli.log_file import set_up_log
    from hunet.cli.settings import split_setting
    from hunet.model import ConfigurationError
    from hunet.node.discovery import Beacons
    from hunet.node.gateway import Gateway
    from hunet.node.holdings import Quotas
    from hunet.node.mtcp import MtcpPort, parse_address
    from hunet.node.node import Node

    if encounters not in ("pseudonyms", "names", "off"):
        raise ConfigurationError(f"--encounters {encounters}: write pseudonyms, names or off")
    if not ip and not bluetooth:
        raise ConfigurationError("--no-ip leaves no way to meet anybody: add --bluetooth")
    device = Node(
        folder.expanduser(),
        protocol,
        dict(split_setting(text) for text in settings or []),
        listen=listen if ip else None,
        beacons=False,
        peers=peer or (),
        discoveries=[Beacons(interface)] if beacons and ip else [],
        radios=[_bluetooth(adapter, scan)] if bluetooth else [],
        quotas=Quotas(quota << 20),
        encounters=encounters,  # type: ignore[arg-type]
        trial=trial,
        passphrase=passphrase(passphrase_file),
        receipts=receipts,
        event_log=event_log,
    )
    set_up_log(verbose, log_file)
    port = None if mtcp is None else MtcpPort(Gateway(device, accept_unsigned), *parse_address(mtcp))
    asyncio.run(_run(device, subscribe_to or [], say, as_json, (http, http_token), port))


def _bluetooth(adapter: str, scan: float) -> Radio:
    from hunet.node.ble.adapter import named_adapter
    from hunet.node.ble.bluetooth import Bluetooth, BluetoothSettings

    return Bluetooth(named_adapter(adapter), BluetoothSettings(scan=scan / 100))


async def _run(
    device: Node,
    topics: list[str],
    say: tuple[str, str] | None,
    as_json: bool,
    page: tuple[str | None, str | None],
    port: MtcpPort | None,
) -> None:
    import asyncio
    import signal
    from contextlib import AsyncExitStack

    from hunet.node.http.server import HttpServer

    async with device, HttpServer(device), AsyncExitStack() as stack:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        places = [device.address, *(f"Bluetooth ({radio})" for radio in device.status()["radios"])]
        typer.echo(f"{device.device} runs {device.protocol} at {' and '.join(filter(None, places))}", err=True)
        if port is not None:
            await stack.enter_async_context(port)
            typer.echo(f"it takes bundles over MTCP at {port.host}:{port.port}", err=True)
        if page[0] is not None:
            server = await stack.enter_async_context(HttpServer(device, page[0], page[1]))
            typer.echo(f"its page is {server.url}", err=True)
        waiting = [asyncio.ensure_future(each) for each in (stop.wait(), device.failure())]
        followed = [asyncio.ensure_future(_print(device, topic, as_json)) for topic in topics]
        try:
            if say:
                await device.publish(*say)
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in [*waiting, *followed]:
                each.cancel()
            await asyncio.gather(*waiting, *followed, return_exceptions=True)


async def _print(device: Node, topic: str, as_json: bool) -> None:
    import msgspec

    from hunet.node.http.records import message_of

    async for delivery in device.subscribe(topic):
        _show(msgspec.to_builtins(message_of(delivery, device.book.call(delivery.author))), as_json)


def publish(
    topic: Annotated[str | None, typer.Argument(help="What it is about.")] = None,
    text: Annotated[str | None, typer.Argument(help="What to say.")] = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="Instead of a text: the content of a file.")] = None,
    ttl: Annotated[str, typer.Option(metavar="TIME", help="For how long it is carried: 90s, 30min, 12h, 7d.")] = "1d",
    receipts: Annotated[
        bool, typer.Option("--receipts", help="Ask subscribers' devices to tell that they have it.")
    ] = False,
    group: InGroup = None,
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Publish a text or a file by the node that is running; prints its id when it is safe on the disk.

    Example: hunet publish news "hello" --ttl 12h
    """
    import mimetypes
    from base64 import b64encode

    from hunet.model import ConfigurationError, InputError
    from hunet.model.quantities import duration

    if group and topic and text is None:
        topic, text = None, topic  # the only word is what to say
    if bool(topic) == bool(group) or (text is None) == (file is None):
        raise ConfigurationError("write TOPIC and TEXT, TOPIC --file FILE, or --group NAME and TEXT")
    _refuse_invitation(group)
    life = duration("--ttl", ttl)
    fields: dict[str, Any] = {"topic": topic, "group": group, "ttl": life, "receipts": receipts, "text": text}
    if file is not None:
        try:
            fields["base64"] = b64encode(file.read_bytes()).decode()
        except OSError as error:
            raise InputError(file, f"cannot be read: {error.strerror}") from None
        fields["content_type"] = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    sent = running(folder).ask("POST", "publications", **fields)
    answer(sent, as_json, sent["id"])


def subscribe(
    topic: Annotated[str | None, typer.Argument(help="What to follow.")] = None,
    group: InGroup = None,
    count: Annotated[int | None, typer.Option(metavar="N", help="End after so many messages.", min=1)] = None,
    lasting: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Follow it for so long: 90s, 30min, 12h, 7d.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Follow it until then, such as 2026-11-21T18:00.")
    ] = None,
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Follow a topic: one line for each message, as they come, until it is interrupted.

    The subscription holds when this ends: what comes meanwhile is printed next time. See hunet unsubscribe. With --for
    or --until it ends by itself, and so does this; the last word on a topic counts.

    Example: hunet subscribe 'kind = "alert" and price < 5' --for 2d
    """
    import time

    from hunet.model import ConfigurationError
    from hunet.model.quantities import duration, moment

    if bool(topic) == bool(group):
        raise ConfigurationError("write TOPIC, or --group NAME")
    if (lasting and until) or (group and (lasting or until)):
        raise ConfigurationError("write --for, or --until, and neither for a group: leave it when it is over")
    _refuse_invitation(group)
    end = moment("--until", until) if until else None
    end = time.time() + duration("--for", lasting) if lasting else end
    for delivery in running(folder).follow(topic or "", group=group or "", most=count, until=end):
        _show(delivery, as_json)


def unsubscribe(topic: Annotated[str, typer.Argument(help="What to follow no longer.")], folder: Folder = HOME) -> None:
    """Follow a topic no longer; see hunet group leave for groups."""
    running(folder).unsubscribe(topic)


def peers(
    name: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="DEVICE NAME", help="Call a device by a name from now on."),
    ] = None,
    block: Annotated[str | None, typer.Option(metavar="DEVICE", help="Have nothing more to do with a device.")] = None,
    unblock: Annotated[str | None, typer.Option(metavar="DEVICE", help="Take that back.")] = None,
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Show who is in reach now; or give devices names of your own, and block them.

    A DEVICE is a key, the first six letters of one or more, or the name that you gave it.

    Example: hunet peers --name 2mwduae3 Ann
    """
    node_here = running(folder)
    if name:
        node_here.ask("PUT", "names", name[0], name=name[1])
    if block:
        node_here.ask("PUT", "blocked", block)
    if unblock:
        node_here.ask("DELETE", "blocked", unblock)
    found = node_here.ask("GET", "peers")["peers"]
    lines = [
        f"{visible(each['name'])}  {each['device']}"
        + ("" if each["radio"] == "ip" else f"  over {each['radio']}")
        + ("" if each["same_protocol"] else "  (other protocol)")
        for each in found
    ]
    answer(found, as_json, "\n".join(lines) or "nobody is in reach")


def status(
    receipts: Annotated[
        str | None, typer.Option(metavar="ID", help="Only how many subscribers are known to have a publication.")
    ] = None,
    folder: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Show how the node fares: what it holds, and what it has counted."""
    import time

    node_here = running(folder)
    if receipts:
        many = node_here.ask("GET", "receipts", receipts)["subscribers"]
        answer(many, as_json, f"at least {many} subscribers have it")
        return
    found = node_here.ask("GET", "status")
    rows = {key: value for key, value in found.items() if key not in ("radios", "counters")}
    rows |= {f"{radio} {key}": value for radio, figures in found["radios"].items() for key, value in figures.items()}
    rows |= found["counters"]
    endings = {
        topic: time.strftime("%Y-%m-%d %H:%M", time.localtime(end)) for topic, end in rows.pop("endings").items()
    }
    followed = [f"{topic} (until {endings[topic]})" if topic in endings else topic for topic in found["subscriptions"]]
    rows["subscriptions"] = visible(", ".join(followed)) or "none"
    rows["role"] = found["role"] or "none"
    answer(found, as_json, "\n".join(f"{key.replace('_', ' '):24} {value}" for key, value in rows.items()))


def log(folder: Folder = HOME, as_json: AsJson = False) -> None:
    """Show whom the device has met, from when to when.

    With --json it prints an object on a line for each encounter that has ended, which is what hunet trace import reads.
    Devices that share the word of a trial (hunet node --trial), or note names, make one trace of their logs.
    """
    import json
    from datetime import UTC, datetime

    for each in running(folder).ask("GET", "log")["log"]:
        if as_json:
            if each["end"] is not None:
                typer.echo(json.dumps(each))
        else:
            began = datetime.fromtimestamp(each["start"], UTC).strftime("%Y-%m-%d %H:%M:%S")
            lasted = "still there" if each["end"] is None else f"{each['end'] - each['start']:.0f} s"
            heard = "" if each["weakest"] is None else f", {each['weakest']} to {each['strongest']} dBm"
            over = "" if each["radio"] == "ip" else f"  over {each['radio']}{heard}"
            typer.echo(f"{began}  {each['met']}  {lasted}{over}")


def _refuse_invitation(group: str | None) -> None:
    from hunet.model import ConfigurationError

    if group and group.startswith("hunet-group:"):
        raise ConfigurationError(
            "--group: an invitation is a secret that others can see here; join with 'hunet group join FILE', "
            "and give the name of the group"
        )


def running(folder: Path) -> NodeClient:
    """The node that runs in a folder."""
    from hunet.node.http.client import NodeClient

    return NodeClient(folder.expanduser())


def answer(found: Any, as_json: bool, text: str) -> None:
    """Print an answer for people, or for programs."""
    import json

    typer.echo(json.dumps(found) if as_json else text)


def _show(delivery: dict[str, Any], as_json: bool) -> None:
    import json
    import sys

    if as_json:
        typer.echo(json.dumps({name: value for name, value in delivery.items() if value is not None}))
    else:
        text = delivery.get("text")
        if text is None:
            text = f"({delivery['content_type']}, {len(delivery['base64']) * 3 // 4} bytes; see --json)"
        typer.echo(visible(f"{delivery['topic']}  {delivery['name']}: {text}"))
    sys.stdout.flush()
