"""``hunet emulate``: a contact trace over real nodes, delivery by delivery beside the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hunet.cli.options import (
    OUT,
    SAID,
    WHAT,
    ContactsFile,
    MessageCount,
    ProtocolName,
    PublicationsFile,
    SubscriptionsFile,
    WorldName,
)

if TYPE_CHECKING:
    from hunet.model import Contacts
    from hunet.node.emulated_device import Network
    from hunet.node.emulation import Emulation
    from hunet.simulation.agreement import Agreement

_HOW = "How"


def emulate(
    contacts: ContactsFile = None,
    world: WorldName = None,
    begin: Annotated[
        float | None, typer.Option("--from", metavar="SECONDS", rich_help_panel=WHAT, help="Only from then on.")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--until", metavar="SECONDS", rich_help_panel=WHAT, help="Only until then.")
    ] = None,
    busiest: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=WHAT, help="Only the N nodes with most contacts.", min=2)
    ] = None,
    protocol: ProtocolName = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            rich_help_panel=WHAT,
            help="A parameter of the protocol, or workload.NAME, world.NAME; repeat as needed.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(rich_help_panel=SAID, help="Seed of a generated workload.")] = 1,
    publications: PublicationsFile = None,
    subscriptions: SubscriptionsFile = None,
    messages: MessageCount = None,
    pace: Annotated[
        float, typer.Option(rich_help_panel=_HOW, help="Seconds of the trace in a real one.", min=0.001)
    ] = 60.0,
    namespaces: Annotated[
        bool | None,
        typer.Option(
            "--namespaces/--loopback",
            rich_help_panel=_HOW,
            show_default="namespaces where the user may",
            help="Devices in network namespaces with cables between them, or all on loopback.",
        ),
    ] = None,
    radio: Annotated[
        Literal["ip", "ble"],
        typer.Option(rich_help_panel=_HOW, help="Devices meet over IP, or over virtual Bluetooth adapters (ble)."),
    ] = "ip",
    meeting: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            rich_help_panel=_HOW,
            show_default="5 in namespaces, 2 elsewhere",
            help="Real seconds that two devices may take to meet or to notice that they parted.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", rich_help_panel=OUT, help="Write all of it as JSON."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUT, help="Print the comparison as JSON, for programs.")
    ] = False,
) -> None:
    """Replay contacts over real nodes, one process each, faster than they were, and compare with the simulator.

    Every delivery that is not the simulator's is listed. The command fails if a simulated delivery is missing and the
    log of the devices does not show that a contact was too short for it, or if a device did not do what its protocol
    does when it is shown the same events.

    Example: hunet emulate --contacts trace.csv --busiest 20 --until 7200 --protocol b-sub --pace 60
    """
    import asyncio

    from hunet.cli.progress import progress_bar
    from hunet.cli.settings import RunSettings
    from hunet.model import ConfigurationError
    from hunet.node.emulation import emulate as play
    from hunet.node.networks import may_make_namespaces
    from hunet.pipeline.study_run import contacts_of, workload_of
    from hunet.simulation.agreement import compare

    given = RunSettings()
    given.override(
        contacts=contacts,
        world=world,
        protocol=protocol,
        seed=seed,
        publications=publications,
        subscriptions=subscriptions,
    )
    given.override_table("workload", {"messages": messages})
    for text in settings or []:
        given.set(text)
    if given.given.get("links"):
        raise ConfigurationError("links of real nodes cannot be set: drop --set links")
    run = given.plan()
    table, name, parameters = contacts_of(run), run.point.protocol, run.point.settings["parameters"]
    parameters = _live(name, parameters)
    if begin is not None or end is not None:
        table = table.within(table.span[0] if begin is None else begin, table.span[1] if end is None else end)
    if busiest:
        table = table.busiest(busiest)
    if not len(table):
        raise ConfigurationError("no contacts are left: choose another part of the trace")
    workload = workload_of(run, table)
    if radio == "ble" and namespaces is not None:
        raise ConfigurationError("--radio ble knows no IP: leave out --namespaces and --loopback")
    cables = may_make_namespaces() if namespaces is None else namespaces
    network: Network = "ble" if radio == "ble" else "namespaces" if cables else "loopback"
    patience = meeting if meeting is not None else 5.0 if network == "namespaces" else 2.0
    with progress_bar("emulation") as progress:
        real = asyncio.run(play(table, workload, name, parameters, pace=pace, network=network, progress=progress))
    agreement = compare(
        table,
        workload,
        real.events,
        {(each.publication, each.node): each.time for each in real.deliveries},
        name,
        slowest=patience * pace,
        seed=seed,
        stalls=real.stalls,
        **parameters,
    )
    report = _report(table, real, agreement)
    if out:
        _write(out, report | {"deliveries": real.deliveries, "events": real.events})
    if as_json:
        import json

        typer.echo(json.dumps(report, indent=2))
    else:
        _print(report, len(table.names), len(table), real)
    if agreement.broken or agreement.lost or real.repeated:
        raise typer.Exit(1)


def _live(protocol: str, given: dict[str, Any]) -> dict[str, Any]:
    """What is set, with what the protocol sets on live nodes: the simulator is compared with the same parameters.

    Limits of messages stay, since the simulator keeps them too.
    """
    from msgspec.structs import asdict

    from hunet.model import from_mapping
    from hunet.node.holdings import Quotas
    from hunet.protocols.capabilities import PreparesLive
    from hunet.systems import protocol_class

    kind = protocol_class(protocol)
    if not issubclass(kind, PreparesLive):
        return given
    chosen = from_mapping(kind.Parameters, given)
    before, after = asdict(chosen), asdict(kind.prepare_live(chosen, Quotas().total))
    return given | {name: value for name, value in after.items() if value != before[name]}


def _report(contacts: Contacts, real: Emulation, agreement: Agreement) -> dict[str, Any]:
    seconds = sorted(time / real.pace for time in agreement.meeting_times)
    differences = [each._asdict() | {"node": contacts.names[each.node]} for each in agreement.differences]
    return {
        "same": agreement.same,
        "different": len(differences),
        "missing_without_reason": len(agreement.lost),
        "differences": differences,
        "broken": agreement.broken,
        "delivered_twice": [each._asdict() for each in real.repeated],
        "contacts_missed": agreement.missed,
        "meeting_seconds": {
            name: round(seconds[int(share * (len(seconds) - 1))], 4) if seconds else None
            for name, share in (("median", 0.5), ("95 %", 0.95), ("longest", 1.0))
        },
        "stood_still_seconds": {
            "conductor": _longest(real, conductor=True),
            "devices": _longest(real, conductor=False),
        },
        "network": real.network,
        "pace": real.pace,
        "counters": real.counters,
    }


def _print(report: dict[str, Any], nodes: int, contacts: int, real: Emulation) -> None:
    where = {"namespaces": "in network namespaces", "loopback": "on loopback", "ble": "with virtual Bluetooth adapters"}
    times = ", ".join(f"{name} {1000 * (each or 0):.0f} ms" for name, each in report["meeting_seconds"].items())
    times_as_fast = f"{contacts} contacts at {real.pace:g} seconds of the trace in a real one"
    typer.echo(f"{nodes} devices {where[real.network]}, {times_as_fast}")
    typer.echo(f"devices met in {contacts - report['contacts_missed']} contacts, after {times}")
    still = ", ".join(f"{who} {1000 * longest:.0f} ms" for who, longest in report["stood_still_seconds"].items())
    typer.echo(f"longest time in which the machine had none for them: {still}")
    typer.echo(f"{len(real.deliveries)} deliveries; {report['same']} as simulated, {report['different']} not")
    for each in report["differences"]:
        simulated, happened = (_moment(each[name]) for name in ("simulated", "happened"))
        reason = f": {each['reason'] or 'NO REASON WAS MEASURED'}" if each["happened"] is None else ""
        typer.echo(f"  {each['publication']} at {each['node']}: simulated {simulated}, really {happened}{reason}")
    for each in report["broken"]:
        typer.echo(f"  NOT AS ITS PROTOCOL SAYS: {each}")
    for each in report["delivered_twice"]:
        typer.echo(f"  DELIVERED TWICE: {each['publication']} at node {each['node']}")
    if not report["broken"]:
        typer.echo("Shown the same events again, protocols deliver exactly what was delivered.")


def _longest(real: Emulation, *, conductor: bool) -> float:
    """The longest real time in which the machine had none for the conductor, or for a device."""
    from hunet.protocols.watcher import CONDUCTOR

    times = [each.end - each.begin for each in real.stalls if (each.node == CONDUCTOR) is conductor]
    return round(max(times, default=0.0) / real.pace, 3)


def _moment(time: float | None) -> str:
    return "never" if time is None else f"at {time:.1f} s"


def _write(path: Path, report: dict[str, Any]) -> None:
    import msgspec

    from hunet.model.files import file_in_place

    with file_in_place(path) as partial:
        partial.write_bytes(msgspec.json.encode(report))
