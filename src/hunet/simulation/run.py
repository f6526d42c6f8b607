"""One run: contacts and a workload in, a result out.

A run is named by its contacts, workload, protocol, parameters and seed; the same name gives the same bytes. It is
single-threaded; ``hunet.simulation.schedule`` tells the order of events.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from hunet.model import Catalogue, ConfigurationError, Contacts, Workload, from_mapping
from hunet.model.community_files import read_communities
from hunet.model.contact_files import read_contacts
from hunet.model.parameters import named_paths
from hunet.model.quantities import parse_size
from hunet.model.randomness import Stream, node_rng
from hunet.protocols import Protocol
from hunet.protocols.capabilities import Experiment, Prepares, Surrenders, check_workload
from hunet.simulation.engine import Engine, Links
from hunet.simulation.schedule import Crash, Schedule, play
from hunet.simulation.summary import Outcome
from hunet.simulation.workloads import make_workload
from hunet.systems import protocol_class

if TYPE_CHECKING:
    from hunet.protocols import Driver
    from hunet.simulation.event_log import EventLog
    from hunet.simulation.result import Result

SERIES_STEPS = 100
_LONGEST = 10_000
"""Characters that a prepared parameter may take in the name of a run."""


def run(
    contacts: Contacts | Path | str,
    workload: Workload | Mapping[str, Any] | None = None,
    protocol: str | type[Protocol] = "push",
    *,
    seed: int = 1,
    links: Links | None = None,
    crashes: Sequence[Crash] = (),
    train: float = 0.0,
    storage: int | str | None = None,
    devices: Mapping[str, Mapping[str, Any]] | None = None,
    log: EventLog | None = None,
    progress: Callable[[float], None] | None = None,
    **parameters: Any,
) -> Result:
    """Run one protocol on these contacts and this workload.

    Contacts may be a file of them. Without a workload, or with the parameters of one, it is generated from the seed.

    ``parameters`` are the protocol's own (``hunet protocols`` lists them). ``train`` is the share of the trace during
    which protocols only watch. ``storage`` is what a device can hold, in bytes (``5_000_000`` or ``"5M"``); what does
    not fit goes by the protocol's own ranking. ``devices`` has parameters of single devices, by name, in which they
    differ from the others. ``progress`` is called now and then with the share of the events that
    are done.

    >>> from hunet.model import Contacts, Publication, Subscription, Workload
    >>> line = Contacts.from_records([("0", "1", 0, 10), ("1", "2", 20, 30), ("2", "3", 40, 50)])
    >>> news = Workload.of([Publication("m", 0.0, 0, "news")], [Subscription(3, "news")])
    >>> result = run(line, news, "push")
    >>> result.deliveries[["publication", "node", "time", "hops"]].values.tolist()
    [['m', '3', 40.0, 3]]
    >>> result.summary["delivery_ratio"], run(line, news, "pull").summary["delivery_ratio"]
    (1.0, 0.0)
    """
    if not isinstance(contacts, Contacts):
        contacts = read_contacts(contacts)
    if not len(contacts):
        raise ConfigurationError("the contact table is empty: there is nothing to simulate")
    if not 0 <= train <= 1:
        raise ConfigurationError(f"train is a share of the trace, from 0 to 1, not {train:g}")
    if not isinstance(workload, Workload):
        workload = make_workload(contacts, seed, **(workload or {}))
    _refuse_strangers(contacts, workload, crashes)
    kind = protocol_class(protocol) if isinstance(protocol, str) else protocol
    check_workload(kind, workload)
    links = links or Links()
    room = None if storage is None else parse_size("storage", storage)
    if room is not None and not issubclass(kind, Surrenders):
        raise ConfigurationError(f"{kind.__name__} cannot keep to a storage: it has no surrender()")

    def trial(name: str, given: dict[str, Any]) -> dict[str, float]:
        silent = Workload.of([], [])
        shown = run(contacts, silent, name, seed=seed, links=links, crashes=crashes, train=train, **given)
        return dict(shown.summary["observed"])

    chosen = from_mapping(kind.Parameters, parameters)
    messages = Catalogue()
    for publication in workload.publications:
        messages.add(
            publication.id, publication.topic, publication.node, publication.time, publication.size, publication.ttl
        )

    def make(node: int, driver: Driver, starts: int) -> Protocol:
        def create(driver: Driver) -> Protocol:
            return kind(node, own.get(node, given), driver, node_rng(seed, Stream.PROTOCOL, node, starts))

        return log.recording(node, driver, create, starts) if log else create(driver)

    times = [publication.time for publication in workload.publications] + [crash.time for crash in crashes]
    begin, end = min([contacts.span[0], *times]), max([contacts.span[1], *times])
    training = (begin, begin + train * (end - begin))
    topics = tuple(sorted({publication.topic for publication in workload.publications}))
    experiment = Experiment(contacts, training, trial, read_communities, room, links.rate is not None, topics, seed)
    found = kind.prepare(chosen, experiment) if issubclass(kind, Prepares) else {}
    given = msgspec.structs.replace(chosen, **found)
    own = _own_parameters(kind, given, devices or {}, contacts)
    asked = msgspec.to_builtins(chosen)
    folders = {field: read_communities(path).fingerprint for field, path in named_paths(chosen).items()}
    plain = msgspec.to_builtins(dict(found))
    prepared = {field: _short(value) for field, value in plain.items() if value != asked[field]}
    name = {
        "contacts": {"sha256": contacts.fingerprint, "nodes": len(contacts.names), "about": contacts.metadata},
        "workload": {"sha256": workload.fingerprint, "about": workload.metadata},
        "protocol": protocol if isinstance(protocol, str) else f"{kind.__module__}:{kind.__qualname__}",
        "parameters": asked | folders,
        **({"prepared": prepared} if prepared else {}),
        **({"devices": {name: dict(given) for name, given in devices.items()}} if devices else {}),
        "links": msgspec.to_builtins(links),
        "crashes": [list(crash) for crash in crashes],
        "train": train,
        **({} if room is None else {"storage": room}),
        "seed": seed,
        "versions": {
            "hunet": version("hunet"),
            "numpy": np.__version__,
            "python": ".".join(platform.python_version_tuple()[:2]),
        },
    }
    if log:
        # A replay has no contacts from which to prepare devices, so the log has what they were given.
        log.begin({**name, "parameters": msgspec.to_builtins(given)}, contacts.names, messages)
    loss_rng = node_rng(seed, Stream.LINKS)
    engine = Engine(len(contacts.names), messages, make, links, loss_rng, crashes=bool(crashes), storage=room)
    engine.now = begin
    engine.repeats = log is None and not links.loss and links.control == "free"
    engine.start()
    schedule = Schedule(contacts, workload, crashes, (begin, end), train)
    for subscription in workload.subscriptions:
        if subscription.start < begin <= subscription.end:
            engine.subscribe(subscription.node, subscription.topic)
    steps = np.linspace(begin, end, SERIES_STEPS + 1)
    control = play(engine, schedule, steps[1:].tolist(), progress)
    engine.observe(end)
    return Outcome(name, contacts, workload, engine.record, (begin, end), steps).result(control)


def _own_parameters(
    kind: type[Protocol], common: Any, devices: Mapping[str, Mapping[str, Any]], contacts: Contacts
) -> dict[int, Any]:
    """The parameters of devices that have some of their own."""
    numbers = {name: node for node, name in enumerate(contacts.names)}
    for name in devices:
        if name not in numbers:
            raise ConfigurationError(f"'devices' names '{name}', which is not in the contacts: take one of their names")
    shared = msgspec.to_builtins(common)
    return {numbers[name]: from_mapping(kind.Parameters, shared | dict(own)) for name, own in devices.items()}


def _short(value: Any) -> Any:
    """What ``prepare`` made, as it stands in the name of a run: by its hash if it is long."""
    text = json.dumps(value, sort_keys=True)
    return value if len(text) <= _LONGEST else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _refuse_strangers(contacts: Contacts, workload: Workload, crashes: Sequence[Crash]) -> None:
    nodes = range(len(contacts.names))
    strangers = [
        (publication.node, f"publication '{publication.id}'")
        for publication in workload.publications
        if publication.node not in nodes
    ]
    strangers += [(w.node, f"a subscription to '{w.topic}'") for w in workload.subscriptions if w.node not in nodes]
    strangers += [(crash.node, "a crash") for crash in crashes if crash.node not in nodes]
    if strangers:
        node, who = strangers[0]
        raise ConfigurationError(f"{who} names node {node}, but the contacts have nodes 0 to {len(nodes) - 1}")
