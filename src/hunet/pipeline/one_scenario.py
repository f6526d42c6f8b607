"""Coming from The ONE: a scenario that is driven by a connectivity trace, or by movement without a map, as a study.

The ONE's messages go from one host to one other, which is publish/subscribe with a topic for each host to which only
that host subscribes. Connections come from ``ExternalEventsQueue`` or from movement (``one_movement``), messages from
``ExternalEventsQueue`` or ``MessageEventGenerator``; each run of the settings becomes a case of the study. What cannot
be taken over is listed, all of it at once.

Where hunet departs from The ONE, and why. Lives end on time, not at the next check, and contacts and transfers begin
and end on time, not at the next update. The ends of a contact know of each other what they have said, those of The ONE
all that there is to know. Without limits (the router ``EpidemicOracleRouter``) none of this matters, and deliveries
agree to the instant.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hunet.model import Contacts
from hunet.model.errors import ConfigurationError, InputError, did_you_mean
from hunet.model.files import file_in_place, folder_in_place, is_unused, write_toml
from hunet.pipeline.one_events import Connection, OneMessage, contacts_of, generate_messages, read_events
from hunet.pipeline.one_movement import EXPORT, MODELS, world_of_movement
from hunet.pipeline.study_values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunet.pipeline.one_settings import OneSetting, OneSettings

__all__ = ["DEFAULT_SETTINGS", "ROUTERS", "Converted", "convert_scenario"]

DEFAULT_SETTINGS = Path("default_settings.txt")
"""What The ONE reads before all other settings, if it is in the working folder."""

ROUTERS = {
    "EpidemicRouter": "push",
    "EpidemicOracleRouter": "push",
    "DirectDeliveryRouter": "pull",
    "SprayAndWaitRouter": "spray-and-wait",
    "ProphetRouter": "prophet",
    "ProphetV2Router": "prophet-v2",
    "MaxPropRouter": "max-prop",
}
"""The ONE's routers and the protocols that do the same."""

_REPORTS = (
    "MessageStatsReport",
    "DeliveredMessagesReport",
    "CreatedMessagesReport",
    "MessageDelayReport",
)
_OF_CONTACTS = {
    "ContactTimesReport": "_ContactTimesReport.txt",
    "InterContactTimesReport": "_InterContactTimesReport.txt",
    "ConnectivityONEReport": ".one",
}
"""Reports that tell of contacts alone, and what ``hunet convert`` knows them by."""
_MOVEMENT = (
    "movementModel|speed|waitTime|okMaps|pois|routeFile|routeType|routeFirstStop|nodeLocation|"
    "clusterCenter|clusterRange|nrofClusters|startLocation|endLocation|offset|busControlSystemNr|\\w*[lL]ocationsFile"
)
_WITHOUT_EFFECT = re.compile(
    r"(GUI|Optimization|MovementModel|Settings|World|SimScenario)\..*"
    r"|\w*(Movement|Waypoint|Walk)\.\w+"
    r"|\w*(Router|Report)\.\w+"  # of routers that are not used; of reports: how they are written
    rf"|Group\d*\.({_MOVEMENT})"
    r"|Scenario\.(updateInterval|endTime|name|simulateConnections|nrofHostGroups|nrofInterfaceTypes)"
    r"|\w+\.(type|transmitRange|transmitSpeed|scanInterval)"
    r"|Events\d+\.nrofPreload"
)
"""Settings that change nothing where connections come from a trace."""
_READ = re.compile(
    r"Events\d*\.(nrof|class|filePath|interval|size|hosts|tohosts|prefix|time)"
    r"|Group\d*\.(groupID|nrofHosts|router|bufferSize|msgTtl|interface1|nrofInterfaces)"
)
"""Settings that may not have been asked for because something before them is wrong."""

_MOST_RUNS = 1000


class Converted(NamedTuple):
    """What became of a scenario."""

    study: Path
    cases: list[str]
    warnings: list[str]
    """What could not be taken over, with file and line."""
    notes: list[str]
    """What is different but changes no result."""


def convert_scenario(
    settings: OneSettings, folder: Path, runs: range | None = None, *, ignore_unknown: bool = False
) -> Converted:
    """Write a scenario as a folder with a study, its contacts and its messages.

    ``runs`` are numbers of runs, from 0; by default all that differ. What is wrong, and what hunet has not, is listed
    with its file and line, all at once; what hunet has not becomes warnings if it should be ignored.
    """
    if not is_unused(folder):
        raise ConfigurationError(f"{folder}: holds other files; choose a new or an empty folder")
    scenario = _Scenario(settings)
    wanted = scenario.all_runs() if runs is None else runs
    with folder_in_place(folder) as partial:
        cases = scenario.write(partial, wanted, ignore_unknown=ignore_unknown)
    return Converted(folder / "study.toml", cases, list(scenario.refused), scenario.notes)


T = TypeVar("T")
_Said = tuple[OneMessage, float | None]
"""A message and its life in seconds."""


class _Scenario:
    """Settings on their way to a study."""

    def __init__(self, settings: OneSettings) -> None:
        self._settings = settings
        self.refused: dict[str, None] = {}
        """What hunet has not, each once, in the order in which it was found."""
        self.wrong: dict[str, None] = {}
        """What The ONE would not understand either."""
        self.notes: list[str] = []
        self._events: dict[tuple[Path, float, int], list[Connection | OneMessage]] = {}
        self._worlds: dict[str, Contacts] = {}

    def refuse(self, setting: OneSetting, problem: str) -> None:
        """Note what cannot be taken over."""
        self.refused[str(setting.error(problem))] = None

    def _noted(self, read: Callable[[], T], otherwise: T) -> T:
        """What a part of the settings says; if it is wrong, that is noted, and the other parts are read as well."""
        try:
            return read()
        except InputError as problem:
            self.wrong[str(problem)] = None
            return otherwise

    def _complain(self, ignore: bool) -> None:
        """End the conversion if anything stands in its way: with one line, or with a list."""
        found = [*self.wrong, *({} if ignore else self.refused)]
        aside = " (or go on without, with --ignore-unknown)" if not self.wrong else ""
        if len(found) == 1:
            raise ConfigurationError(found[0] + aside)
        if found:
            listed = "".join(f"\n  {each}" for each in found)
            raise ConfigurationError(f"{len(found)} settings cannot be taken over{aside}:{listed}")

    def all_runs(self) -> range:
        """As many runs as differ: what the settings that matter have in brackets, in all combinations of places."""
        many, before = 1, 0
        while many != before:
            for run in range(before, many):  # what matters in one run (a router's settings) may not in another
                self._case(self._settings.at(run))
            if self.wrong:
                break
            before, many = many, math.lcm(*(self._settings.parts(name) for name in self._settings.used))
            if many > _MOST_RUNS:
                raise ConfigurationError(f"the settings make {many} different runs: say how many with --runs")
        return range(many)

    def write(self, folder: Path, runs: range, *, ignore_unknown: bool) -> list[str]:
        """Write the study and the files that it names; returns the names of its cases."""
        cases: list[dict[str, Any]] = []
        same: dict[str, list[int]] = {}
        files: dict[str, str] = {}
        for run in runs:  # everything that is wrong, before anything is written
            self._case(self._settings.at(run))
        self._refuse_unknown()
        self._complain(ignore_unknown)
        for run in runs:
            name, written, contacts, messages = self._case(self._settings.at(run))
            written |= _write_contacts(folder, contacts, files) | _write_messages(folder, contacts, messages, files)
            key = canonical(written)
            same.setdefault(key, []).append(run + 1)
            if len(same[key]) > 1:
                continue
            taken = {case["name"] for case in cases}
            cases.append({"name": name if name not in taken else f"{name}-{run + 1}", **written})
        for first, *others in same.values():
            if others:
                listed = ", ".join(map(str, others[:5])) + (", ..." if len(others) > 5 else "")
                self.notes.append(f"the same for hunet as run {first}, and left out: run {listed}")
        shared = {
            key: cases[0][key] for key in cases[0] if key != "name" and all(c.get(key) == cases[0][key] for c in cases)
        }
        own = [{key: value for key, value in case.items() if key not in shared} for case in cases]
        write_toml(folder / "study.toml", {"tables": True, **shared, "case": own})
        return [case["name"] for case in cases]

    def _case(self, run: OneSettings) -> tuple[str, dict[str, Any], Contacts, list[_Said]]:
        """The name of a run, its settings, its contacts and its messages."""
        end = self._noted(lambda: run.number("Scenario.endTime"), 43_200.0)
        groups: list[str] = self._noted(lambda: self._groups(run), [])
        names: list[str] = self._noted(lambda: self._names(run, groups), [])
        events: list[Connection | OneMessage] = []
        if names:
            events = self._noted(lambda: self._all_events(run, end, len(names)), events)
        messages = sorted((each for each in events if isinstance(each, OneMessage)), key=lambda each: each.time)
        self._noted(lambda: self._refuse_double(run, messages), None)
        links = [each for each in events if isinstance(each, Connection)]
        contacts = Contacts.from_arrays(names, [], [], [], [], span=(0.0, end))
        if names:
            contacts = self._noted(lambda: self._contacts(run, groups, names, links, end), contacts)
        case: dict[str, Any] = {"protocol": "", "parameters": {}, "links": {}}
        self._noted(lambda: self._router(run, groups, case, messages), None)
        lives: list[float | None] = self._noted(lambda: self._lives(run, groups), [])
        name = self._noted(lambda: run.filled("Scenario.name"), "")
        return name, case, contacts, [(message, lives[message.source]) for message in messages if lives]

    def _names(self, run: OneSettings, groups: list[str]) -> list[str]:
        """The names of all hosts: the letters of their group, and their address."""
        letters = [
            run.text(f"{each}.groupID", "Group.groupID") for each in groups for _ in range(self._hosts(run, each))
        ]
        return [f"{group}{address}" for address, group in enumerate(letters)]

    def _contacts(
        self, run: OneSettings, groups: list[str], names: list[str], links: list[Connection], end: float
    ) -> Contacts:
        """Who meets whom: by the events, by movement, or by both."""
        records = contacts_of(links, end)
        moved = self._moved(run, groups, end) if run.truth("Scenario.simulateConnections", default=True) else None
        if moved is not None:
            records += zip(moved.a.tolist(), moved.b.tolist(), moved.start.tolist(), moved.end.tolist(), strict=True)
        if not records and not self.refused and not self.wrong:
            found = run.find("Events.nrof")
            if found is None:
                raise run.missing("Events.nrof")
            raise found[1].error(
                "no events with connections: name a trace with Events1.class = ExternalEventsQueue and Events1.filePath"
            )
        columns = zip(*records, strict=True) if records else ([], [], [], [])
        return Contacts.from_arrays(names, *columns, span=(0.0, end))

    def _moved(self, run: OneSettings, groups: list[str], end: float) -> Contacts | None:
        """The contacts of hosts that move, where hunet has their model of movement."""
        from hunet.worlds import make_world

        for group in groups:
            found = run.find(f"{group}.movementModel", "Group.movementModel")
            if found is None:
                raise run.missing("Group.movementModel")
            if found[1].value not in MODELS:
                self.refuse(found[1], f"'{found[0]}' = {found[1].value}: hunet has {', '.join(MODELS)}; {EXPORT}")
                return None
        ranges = {self._interface(run, group, "transmitRange") for group in groups}
        if len(ranges) > 1 or None in ranges:
            found = run.find("Group.interface1") or run.find("Group1.interface1")
            if found is None:
                raise run.missing("Group.interface1")
            raise found[1].error("movement needs one transmitRange for all interfaces: set the same for all groups")
        [reach] = ranges
        assert reach is not None
        seed, world = world_of_movement(run, groups, end, reach)
        key = canonical([seed, world])
        if key not in self._worlds:
            self._worlds[key] = make_world("clusters", seed, **world)
            self.notes.append(f"hosts move by hunet's world 'clusters', seed {seed}: not along The ONE's paths")
        return self._worlds[key]

    def _refuse_double(self, run: OneSettings, messages: list[OneMessage]) -> None:
        ids = Counter(message.id for message in messages)
        twice = next((each for each, times in ids.items() if times > 1), None)
        found = run.find("Events.nrof")
        if twice is not None and found is not None:
            raise found[1].error(f"two messages are called '{twice}': give each generator a prefix of its own")

    def _groups(self, run: OneSettings) -> list[str]:
        return [f"Group{number}" for number in range(1, run.whole("Scenario.nrofHostGroups") + 1)]

    def _hosts(self, run: OneSettings, group: str) -> int:
        return run.whole(f"{group}.nrofHosts", "Group.nrofHosts")

    def _lives(self, run: OneSettings, groups: list[str]) -> list[float | None]:
        """How long the messages of each host live, in seconds; The ONE counts minutes."""
        lives: list[float | None] = []
        for group in groups:
            names = f"{group}.msgTtl", "Group.msgTtl"
            life = 60.0 * run.whole(*names) if run.find(*names) else None
            lives += [life] * self._hosts(run, group)
        return lives

    def _all_events(self, run: OneSettings, end: float, hosts: int) -> list[Connection | OneMessage]:
        events: list[Connection | OneMessage] = []
        for number in range(1, run.whole("Events.nrof") + 1):
            space = f"Events{number}"
            kind = run.text(f"{space}.class")
            if kind == "MessageEventGenerator":
                events += generate_messages(run, space, end, hosts)
            elif kind == "ExternalEventsQueue":
                found = run.find(f"{space}.filePath")
                if found is None:
                    raise run.missing(f"{space}.filePath")
                key = (_locate(found[1]), end, hosts)
                if key not in self._events:
                    self._events[key] = list(read_events(*key))
                events += self._events[key]
            else:
                where = run.find(f"{space}.class")
                assert where is not None
                known = ["MessageEventGenerator", "ExternalEventsQueue"]
                self.refuse(where[1], f"no events of class '{kind}': {did_you_mean(kind, known)}")
        return events

    def _router(self, run: OneSettings, groups: list[str], case: dict[str, Any], messages: list[OneMessage]) -> None:
        router, where = self._same(run, groups, "router")
        case["parameters"] = dict(self._router_parameters(run, router))
        if where is None:
            raise run.missing("Group.router")
        if router not in ROUTERS:
            self.refuse(where, f"no router '{router}' in hunet: it has {', '.join(ROUTERS)}; push stands in for it")
        case["protocol"] = ROUTERS.get(router, "push")
        for group in groups:
            self._refuse_habits(run, group)
        if router == "EpidemicOracleRouter":  # everything at once, and no limits
            return
        speed = self._speed(run, groups)
        if speed is not None:
            case["links"] = {"rate": 8.0 * speed, "unit": "bits/s", "radio": "one"}
        written, where = self._same(run, groups, "bufferSize")
        if where is not None:
            room = run.whole(f"{groups[0]}.bufferSize", "Group.bufferSize")
            smallest = min([message.size for message in messages], default=0)
            if room < smallest:
                raise where.error(f"bufferSize {written} holds no message, for the smallest has {smallest} bytes")
            case["storage"] = room
            # The ONE drops what it received first, and takes it again from the next host that offers it.
            case["parameters"] |= {"evict": "first-in", "again": "next-contact" if speed is None else "at-once"}

    def _router_parameters(self, run: OneSettings, router: str) -> dict[str, Any]:
        """What the settings of a router say, in hunet's words."""
        if router == "EpidemicOracleRouter":
            return {}
        found: dict[str, Any] = {"subscribers_carry": False}
        if router in ("EpidemicRouter", "SprayAndWaitRouter", "DirectDeliveryRouter"):
            found["order"] = "random"
        if router == "SprayAndWaitRouter":
            found |= {"copies": run.whole("SprayAndWaitRouter.nrofCopies"), "deliveries_cost": True}
            if not run.truth("SprayAndWaitRouter.binaryMode", default=False):
                mode = run.find("SprayAndWaitRouter.binaryMode", "SprayAndWaitRouter.nrofCopies")
                assert mode is not None
                self.refuse(mode[1], "hunet sprays in binary mode only: set SprayAndWaitRouter.binaryMode = true")
        if router in ("ProphetRouter", "ProphetV2Router"):
            found |= {"time_unit": run.number(f"{router}.secondsInTimeUnit"), "renew": True}
            for name in ("beta", "gamma"):
                if run.find(f"{router}.{name}"):
                    found[name] = run.number(f"{router}.{name}")
        if router == "MaxPropRouter":
            found["acknowledged"] = "delete"  # a message has one receiver
        return found

    def _refuse_habits(self, run: OneSettings, group: str) -> None:
        """What hosts of The ONE can do and devices here cannot."""
        for name, harmless, problem in (
            ("deleteDelivered", "false", "devices here do not learn that a message has been delivered elsewhere"),
            ("nrofApplications", "0", "The ONE's applications have no counterpart here"),
            ("activeTimes", "", "devices here are always on: cut the connections out of the trace instead"),
            ("sendQueue", "", "on a slow link the newest message goes first here"),
            ("nrofInterfaces", "1", "a contact here is one link: keep one interface"),
        ):
            found = run.find(f"{group}.{name}", f"Group.{name}")
            if found is not None and found[1].value != harmless:
                self.refuse(found[1], f"'{found[0]}' = {found[1].value}: {problem}; remove it")

    def _same(self, run: OneSettings, groups: list[str], name: str) -> tuple[str, OneSetting | None]:
        """A setting of the groups, which must not differ between them."""
        found = [run.find(f"{group}.{name}", f"Group.{name}") for group in groups]
        first = next((each for each in found if each is not None), None)
        if first is None:
            return "", None
        for each in found:
            if each is None or each[1].value != first[1].value:
                odd = each or first
                self.refuse(odd[1], f"'{odd[0]}' differs between groups, and all devices are alike here: set it once")
        return first[1].value, first[1]

    def _speed(self, run: OneSettings, groups: list[str]) -> float | None:
        """Bytes per second of the slowest interface; None if none says it."""
        speeds: dict[float, OneSetting] = {}
        for group in groups:
            interface = self._interface_name(run, group)
            kind = run.find(f"{interface}.type")
            if kind is not None and kind[1].value != "SimpleBroadcastInterface":
                self.refuse(
                    kind[1], f"interface '{kind[1].value}': links have one speed here; SimpleBroadcastInterface has"
                )
            found = run.find(f"{interface}.transmitSpeed")
            if found is not None:
                speeds[run.number(found[0])] = found[1]
        if len(speeds) > 1:
            self.refuse(
                speeds[max(speeds)], "interfaces differ in transmitSpeed, and all links are alike here: set one"
            )
        return min(speeds, default=None)

    def _interface_name(self, run: OneSettings, group: str) -> str:
        return run.text(f"{group}.interface1", "Group.interface1", default="")

    def _interface(self, run: OneSettings, group: str, name: str) -> float | None:
        """A number of a group's interface, if it is there."""
        full = f"{self._interface_name(run, group)}.{name}"
        return run.number(full) if run.find(full) else None

    def _refuse_unknown(self) -> None:
        settings = self._settings
        for number in range(1, _count(settings, "Report.nrofReports") + 1):
            name = settings.text(f"Report.report{number}", default=_REPORTS[0])
            if name in _OF_CONTACTS:
                self.notes.append(f"{name}: by hunet convert contacts.parquet NAME{_OF_CONTACTS[name]}")
            elif name not in _REPORTS:
                self.notes.append(f"report '{name}' is not written; 'hunet report --one' has {', '.join(_REPORTS)}")
        warmup = settings.find("Report.warmup")
        if warmup is not None and settings.number("Report.warmup"):
            self.refuse(warmup[1], "reports here count from the start: set Report.warmup = 0")
        events = range(1, _count(settings, "Events.nrof") + 1)
        troubled = bool(self.wrong or self.refused)
        for name, setting in settings.entries.items():
            spare = re.match(r"(Group|Events)(\d+)\.", name)
            groups = range(1, _count(settings, "Scenario.nrofHostGroups") + 1)
            if spare and int(spare[2]) not in (events if spare[1] == "Events" else groups):
                continue  # of a group or a generator that is not there
            if troubled and _READ.fullmatch(name):
                continue
            if name not in settings.used and not _WITHOUT_EFFECT.fullmatch(name):
                self.refuse(setting, f"no use for the setting '{name}': {did_you_mean(name, settings.used)[:120]}")


def _count(settings: OneSettings, name: str) -> int:
    return settings.whole(name) if settings.find(name) else 0


def _locate(setting: OneSetting) -> Path:
    """A file that a setting names: seen from the working folder, as The ONE does, or from the settings."""
    paths = [Path(setting.value), setting.path.parent / setting.value]
    for path in paths:
        if path.exists():
            return path
    raise setting.error(f"no file '{setting.value}', seen from the working folder or from here")


def _write_contacts(folder: Path, contacts: Contacts, files: dict[str, str]) -> dict[str, str]:
    from hunet.model.contact_files import write_contacts

    name = _name_for(contacts.fingerprint, "contacts", ".parquet", files)
    if not (folder / name).exists():
        write_contacts(contacts, folder / name)
    return {"contacts": name}


def _write_messages(folder: Path, contacts: Contacts, messages: list[_Said], files: dict[str, str]) -> dict[str, str]:
    """Publications, each on the topic of its receiver, and who wants what."""
    lines = [["id", "time", "node", "topic", "size", "ttl"]]
    for message, life in messages:
        names = contacts.names[message.source], contacts.names[message.target]
        lines.append(
            [message.id, f"{message.time:.12g}", *names, str(message.size), "" if life is None else f"{life:g}"]
        )
    wanted = [["node", "topic"], *([name, name] for name in contacts.names)]
    found = {}
    for kind, rows in (("publications", lines), ("subscriptions", wanted)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        found[kind] = _name_for(text.getvalue(), kind, ".csv", files)
        with file_in_place(folder / found[kind]) as partial:
            partial.write_text(text.getvalue(), encoding="utf-8")
    return found


def _name_for(content: str, kind: str, suffix: str, files: dict[str, str]) -> str:
    """A file's name by its content: the first of a kind has no number."""
    if content not in files:
        many = sum(name.startswith(kind) for name in files.values())
        files[content] = f"{kind}-{many + 1}{suffix}" if many else f"{kind}{suffix}"
    return files[content]
