"""The files of studies and runs, and the runs that follow, each named by all that it depends on.

A run is a study of one point. In the file of a study every value may also be several, and then makes a grid::

    contacts = ["infocom05", "trace.csv"]    # imports (also at URIs) or contact tables; and, or instead, worlds:
    protocol = ["push", "spray-and-wait"]
    repetitions = 10                         # or seeds = [1, 2, 3]
    seed = 1                                 # the root, of which all seeds are spawned
    storage = ["500k", "5M"]                 # bytes that a device can hold; without it, any number
    tables = false                           # whether each run's tables are kept, not only its summary
    [parameters]                             # of all protocols
    buffer = [10, 100]
    [parameters.spray-and-wait]              # of one protocol
    copies = {from = 2, to = 16, step = 2}
    [workload]
    ttl = {from = 600, to = 86400, count = 8, scale = "log"}
    [[world]]
    name = "community"
    [[crash]]
    node = "7"
    time = 3600

A list is an axis of the grid; of a parameter that is itself a list, a list of such lists is. The runs of a repetition
share one seed, so that all protocols and parameters of it see the same world, the same workload and the same coins.
The ``seed`` of a run (``hunet run --config``) is used as it is.

In place of ``protocol``, ``analysis = "communities"`` computes figures of the contacts alone: no devices, no messages.

Where what should be run is no grid, each ``[[case]]`` has a name and says what differs from the rest of the file::

    [[case]]
    name = "few copies, small buffers"
    protocol = "spray-and-wait"
    parameters = {copies = 4, buffer = 10}
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.errors import InputError, did_you_mean
from hunet.model.files import content_hash, read_bytes, read_toml
from hunet.model.quantities import parse_size
from hunet.pipeline.storage import is_uri
from hunet.pipeline.study_values import (
    canonical,
    check_keys,
    list_of_tables,
    values_of,
    values_of_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

__all__ = ["ContactSource", "Point", "Run", "StudyPlan", "plan_run", "plan_study", "read_run", "read_study"]

_PLAIN = ("contacts", "protocol", "analysis", "train", "storage", "publications", "subscriptions")
_TABLES = ("parameters", "workload", "links")
_STUDY = ("seed", "seeds", "repetitions", "tables")
_CASE = (*_PLAIN, *_TABLES, "world")
_KNOWN = (*_CASE, *_STUDY, "crash", "case")
_NOT_OF_RUNS = ("analysis", "case", "repetitions", "seeds", "tables")
_ANALYSED = ("contacts", "analysis", "parameters")
"""What an analysis knows, beside worlds."""
_MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class ContactSource:
    """Where contacts come from: a file with its content's hash, or a world with its parameters."""

    label: str
    file: str | None = None
    sha256: str | None = None
    world: dict[str, Any] | None = None

    def named(self, seed: int) -> dict[str, Any]:
        """What a run's name says of it: nothing that depends on the machine."""
        if self.world is None:
            return {"sha256": self.sha256}
        given = dict(self.world)
        return {"world": given.pop("name"), "seed": given.pop("seed", seed), "parameters": given}


@dataclass(frozen=True)
class Point:
    """A point of the grid: everything but the seed."""

    number: int
    source: ContactSource
    protocol: str
    """Its name, or that of an analysis."""
    settings: dict[str, Any]
    """train, storage, parameters, workload, links, publications, subscriptions; of an analysis, parameters alone."""
    axes: dict[str, Any]
    """The values in which points differ, by name."""


@cache
def _version() -> str:
    """Every name of a run has it, and finding it reads a file."""
    return version("hunet")


@dataclass(frozen=True)
class Run:
    """One run of a study."""

    point: Point
    repetition: int
    seed: int
    crash: tuple[dict[str, Any], ...]
    tables: bool

    @property
    def name(self) -> dict[str, Any]:
        """All that the result depends on."""
        settings = _portable(self.point.settings)
        return {
            "contacts": self.point.source.named(self.seed),
            "protocol": self.point.protocol,
            **settings,
            "crash": list(self.crash),
            "seed": self.seed,
            "versions": {"hunet": _version()},
        }

    @property
    def is_analysis(self) -> bool:
        """Whether it computes figures of the contacts, without devices."""
        return "workload" not in self.point.settings

    @property
    def key(self) -> str:
        """A short name that no other run has, on any machine."""
        return hashlib.sha256(canonical(self.name).encode()).hexdigest()[:20]


@dataclass(frozen=True, repr=False)
class StudyPlan:
    """A study: its grid, its seeds, and the identity by which a folder of results knows it."""

    points: list[Point]
    seeds: list[int]
    crash: tuple[dict[str, Any], ...]
    tables: bool
    identity: dict[str, Any]
    """Without the number of repetitions: more of them continue the same study."""

    def __repr__(self) -> str:
        return f"StudyPlan({len(self.points)} points, {len(self.seeds)} repetitions: {', '.join(self.protocols)})"

    @property
    def protocols(self) -> list[str]:
        """The protocols, or analyses, in the order of the grid."""
        return list(dict.fromkeys(point.protocol for point in self.points))

    def first(self, repetitions: int) -> StudyPlan:
        """The same study with less repetitions."""
        return replace(self, seeds=self.seeds[:repetitions])

    def runs(self) -> list[Run]:
        """All runs, those on the same contacts next to each other."""
        by_source = itertools.groupby(self.points, key=lambda point: point.source)
        return [
            Run(point, repetition, seed, self.crash, self.tables)
            for _, points in by_source
            for (repetition, seed), point in itertools.product(enumerate(self.seeds), list(points))
        ]


def read_study(path: Path, base: Path | None = None, start: Callable[[], SparkSession] | None = None) -> StudyPlan:
    """Read a study; files that it names are relative to ``base``, by default to the folder of the study.

    ``start`` is called for a session if contacts are at a URI, which only Spark can read.
    """
    return plan_study(read_toml(path), path, base, start)


def plan_study(
    given: dict[str, Any], path: Path, base: Path | None = None, start: Callable[[], SparkSession] | None = None
) -> StudyPlan:
    """The study that such a file tells; ``path`` is where it stands, or would stand."""
    from hunet.pipeline.traces import read_trace

    base = path.parent if base is None else base
    check_keys(path, given, _KNOWN)
    seeds, root = _seeds(path, given)
    points: list[Point] = []
    hash_of = cache(lambda file: read_trace(file, start() if start and is_uri(file) else None).fingerprint)
    for name, case in _cases(path, given).items():
        for source, protocol, settings, axes in _grid(path, base, case, hash_of):
            shown = axes if name is None else {"case": name, **axes}
            points.append(Point(len(points), source, protocol, settings, shown))
            if len(points) * len(seeds) > _MOST_RUNS:
                raise InputError(path, f"makes more than {_MOST_RUNS} runs: use fewer values")
    _refuse_twins(path, points)
    points = _placed(points)
    crash = tuple(list_of_tables(path, given, "crash"))
    identity = {
        "kind": "study",
        "points": [[point.source.named(0), point.protocol, _portable(point.settings)] for point in points],
        "crash": list(crash),
        "seed": root,
        "tables": bool(given.get("tables", False)),
        "versions": {"hunet": _version()},
    }
    return StudyPlan(points, seeds, crash, bool(given.get("tables", False)), identity)


def read_run(path: Path) -> dict[str, Any]:
    """What the file of one run says."""
    given = read_toml(path)
    for key in given:
        if key in _NOT_OF_RUNS:
            raise InputError(path, f"'{key}' is for studies: run 'hunet study FILE'")
    check_keys(path, given, [key for key in _KNOWN if key not in _NOT_OF_RUNS])
    return given


def plan_run(given: dict[str, Any], path: Path) -> Run:
    """The one run that such a file tells; its contacts are not read yet."""
    grid = _grid(path, path.parent, given, lambda _: None)
    point, *others = _placed([Point(0, *each) for each in itertools.islice(grid, 2)])
    for other in others:
        name = next(iter(point.axes), "contacts" if point.protocol == other.protocol else "protocol")
        raise InputError(path, f"'{name}' names several values: that is a study; run 'hunet study FILE'")
    seed = given.get("seed", 1)
    if not _is_seed(seed):
        raise InputError(path, f"a seed is a whole number of at least 0, not {seed!r}")
    return Run(point, 0, seed, tuple(list_of_tables(path, given, "crash")), tables=False)


def _cases(path: Path, given: dict[str, Any]) -> dict[str | None, dict[str, Any]]:
    """What each case says together with what the file says for all; without cases, the file as it is."""
    found: dict[str | None, dict[str, Any]] = {}
    for case in list_of_tables(path, given, "case"):
        name = case.get("name")
        if not isinstance(name, str) or not name or name in found:
            raise InputError(path, f"every [[case]] needs a name of its own, not {name!r}")
        whole = dict(given)
        for key, value in case.items():
            if key not in (*_CASE, "name"):
                raise InputError(path, f"case '{name}': no key '{key}': {did_you_mean(key, _CASE)}")
            both = key in _TABLES and isinstance(value, dict) and isinstance(given.get(key, {}), dict)
            whole[key] = {**given.get(key, {}), **value} if both else value
        if "contacts" in case and "world" not in case:
            whole.pop("world", None)
        if "world" in case and "contacts" not in case:
            whole.pop("contacts", None)
        found[name] = whole
    return found or {None: given}


def _grid(
    path: Path, base: Path, given: dict[str, Any], hash_of: Callable[[str], str | None]
) -> Iterator[tuple[ContactSource, str, dict[str, Any], dict[str, Any]]]:
    """All points of one grid: source, protocol, settings, and the values in which points differ.

    ``hash_of`` gives the hash of a contact table.
    """
    analysed = "analysis" in given
    common: dict[str, list[Any]] = {}
    if not analysed:
        common = {"train": values_of(path, "train", given.get("train", 0.0))} | _workload_files(path, base, given)
        if not all(isinstance(share, (int, float)) for share in common["train"]):
            raise InputError(path, "'train' is a share of the trace: a number from 0 to 1")
        if "storage" in given:
            common["storage"] = [parse_size("storage", each) for each in values_of(path, "storage", given["storage"])]
        for table in ("workload", "links"):
            found = values_of_table(path, table, given.get(table, {}))
            common |= {f"{table}.{name}": values for name, values in found.items()}
    elif unused := [key for key in (*_PLAIN, *_TABLES, "crash") if key in given and key not in _ANALYSED]:
        raise InputError(path, f"an analysis has no use for '{unused[0]}': drop it, or name a protocol")
    kind = "analysis" if analysed else "protocol"
    names = values_of(path, kind, given.get(kind, "push"))
    parameters = {name: _parameters(path, name, given.get("parameters", {}), analysed=analysed) for name in names}
    for source in _sources(path, base, given, hash_of):
        for name in names:
            axes = {**common, **{f"parameters.{key}": values for key, values in parameters[name].items()}}
            for values in itertools.product(*axes.values()):
                chosen = dict(zip(axes, values, strict=True))
                settings = (
                    {"parameters": _under("parameters", chosen)} if analysed else _settings(base, chosen, str(name))
                )
                yield source, str(name), settings, _shown(chosen, axes)


def _refuse_twins(path: Path, points: list[Point]) -> None:
    """Runs are known by what they depend on, so that two cases cannot be the same."""
    seen: dict[str, Any] = {}
    for point in points:
        name = canonical([point.source.named(0), point.protocol, _portable(point.settings)])
        if name in seen and "case" in point.axes:
            raise InputError(path, f"cases '{seen[name]}' and '{point.axes['case']}' are the same: drop one")
        seen[name] = point.axes.get("case")


def _placed(points: list[Point]) -> list[Point]:
    """The points with the axes of their contacts, which depend on all contacts of the study."""
    distinct = {id(point.source): point.source for point in points}
    keys = {number: canonical([source.label, source.named(0)]) for number, source in distinct.items()}
    sources = {keys[number]: source for number, source in distinct.items()}
    if len({source.label for source in sources.values()}) < len(sources):  # the same file name in two folders
        sources = {key: replace(each, label=f"{each.label} ({n})") for n, (key, each) in enumerate(sources.items())}
    axes = dict(zip(sources, _axes_of_contacts(list(sources.values())), strict=True))
    placed = ((point, keys[id(point.source)]) for point in points)
    return [replace(point, source=sources[key], axes=axes[key] | point.axes) for point, key in placed]


def _axes_of_contacts(sources: list[ContactSource]) -> list[dict[str, Any]]:
    """For each source which trace or kind of world it is, and the parameters in which worlds differ."""
    worlds = [source.named(0)["parameters"] if source.world else {} for source in sources]
    made = [world for world, source in zip(worlds, sources, strict=True) if source.world]
    given = sorted({name for world in made for name in world})
    names = [name for name in given if len({canonical(world.get(name)) for world in made}) > 1]
    axes = [
        {"contacts": source.world["name"] if source.world else source.label}
        | {f"world.{name}": world[name] for name in names if name in world}
        for source, world in zip(sources, worlds, strict=True)
    ]
    if len(set(map(canonical, axes))) < len(axes):
        # Something else tells them apart, such as their seeds: then only their labels do.
        axes = [{"contacts": source.label} for source in sources]
    several = len({each["contacts"] for each in axes}) > 1
    return [{name: value for name, value in each.items() if several or name != "contacts"} for each in axes]


def _sources(
    path: Path, base: Path, given: dict[str, Any], hash_of: Callable[[str], str | None]
) -> list[ContactSource]:
    sources = []
    for name in values_of(path, "contacts", given.get("contacts", [])):
        file = str(name) if is_uri(str(name)) else str(base / str(name))
        label = Path(file).name.split(".")[0] or str(name)
        sources.append(ContactSource(label, file if is_uri(file) else str(Path(file).absolute()), hash_of(file)))
    worlds = given.get("world", [])
    for world in worlds if isinstance(worlds, list) else [worlds]:
        if not isinstance(world, dict) or "name" not in world:
            raise InputError(path, "a world is a table [world] with a name ('hunet world' lists them)")
        axes = values_of_table(path, "world", world)
        for values in itertools.product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            varied = [f"{key}={chosen[key]}" for key in axes if len(axes[key]) > 1 and key != "name"]
            _check_world(path, chosen)
            sources.append(ContactSource(" ".join([str(chosen["name"]), *varied]), world=chosen))
    if not sources:
        raise InputError(path, "names no contacts: give contacts = ... or a [[world]]")
    return sources


def _check_world(path: Path, chosen: dict[str, Any]) -> None:
    import msgspec

    from hunet.worlds import WORLDS

    name = str(chosen["name"])
    if name not in WORLDS:
        raise InputError(path, f"no world '{name}': {did_you_mean(name, WORLDS)}")
    known = [field.name for field in msgspec.structs.fields(WORLDS[name].parameters)]
    for parameter in chosen:
        if parameter not in (*known, "name", "seed"):
            raise InputError(path, f"world '{name}' has no parameter '{parameter}': {did_you_mean(parameter, known)}")
    if "seed" in chosen and not _is_seed(chosen["seed"]):
        raise InputError(path, f"the seed of a world is a whole number of at least 0, not {chosen['seed']!r}")


def _seeds(path: Path, given: dict[str, Any]) -> tuple[list[int], Any]:
    """The seeds of the repetitions, each by its position, and what they come from."""
    import numpy as np

    if "seeds" in given:
        if "repetitions" in given or "seed" in given:
            raise InputError(path, "give either seeds, or a seed and repetitions")
        seeds = values_of(path, "seeds", given["seeds"])
        if not all(map(_is_seed, seeds)):
            raise InputError(path, "seeds are different whole numbers of at least 0")
        return seeds, seeds
    root, repetitions = given.get("seed", 1), given.get("repetitions", 1)
    if not _is_seed(root) or not isinstance(repetitions, int) or repetitions < 1:
        raise InputError(path, "seed is a whole number of at least 0, and repetitions one of at least 1")
    spawned = np.random.SeedSequence(root).spawn(repetitions)
    return [int(each.generate_state(1, np.uint32)[0]) for each in spawned], root


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _workload_files(path: Path, base: Path, given: dict[str, Any]) -> dict[str, list[Any]]:
    named = {key: base / str(given[key]) for key in ("publications", "subscriptions") if key in given}
    if named and (len(named) != 2 or given.get("workload")):
        raise InputError(path, "a workload from files needs both publications and subscriptions, and no [workload]")
    files: dict[str, list[Any]] = {}
    for key, file in named.items():
        files[key] = [hashlib.sha256(read_bytes(file)).hexdigest()]
        files[f"{key}_file"] = [str(file.absolute())]
    return files


def _parameters(path: Path, name: Any, table: Any, *, analysed: bool) -> dict[str, list[Any]]:
    """The parameters of one protocol, or analysis: those of all, and its own table's."""
    import msgspec

    from hunet.systems import ANALYSES, PROTOCOLS, protocol_class

    if not isinstance(table, dict):
        raise InputError(path, "'parameters' must be a table")
    if analysed and name not in ANALYSES:
        raise InputError(path, f"no analysis '{name}': {did_you_mean(str(name), ANALYSES)}")
    record = ANALYSES[name].parameters if analysed else protocol_class(str(name)).Parameters
    known = [field.name for field in msgspec.structs.fields(record)]
    own = {
        key: value
        for key, value in table.items()
        if isinstance(value, dict) and "from" not in value and key not in known
    }
    for key in own:
        if key not in PROTOCOLS:
            raise InputError(path, f"[parameters.{key}]: no such protocol: {did_you_mean(key, PROTOCOLS)}")
    mine = {key: value for key, value in table.items() if key not in own} | own.get(str(name), {})
    for key in mine:
        if key not in known:
            hint = did_you_mean(key, known)
            raise InputError(path, f"{name} has no parameter '{key}': {hint} (or use [parameters.PROTOCOL])")
    return values_of_table(path, "parameters", mine, record)


def _settings(base: Path, chosen: dict[str, Any], protocol: str) -> dict[str, Any]:
    settings = {key: value for key, value in chosen.items() if "." not in key}
    settings |= {table: _under(table, chosen) for table in _TABLES}
    paths = _communities(base, settings["parameters"], protocol)
    settings["parameters"] |= paths
    return settings | {
        "base_file": str(base.absolute()),
        "paths_file": _digests(base, settings["workload"]),
        "communities_file": {field: _fingerprint(path) for field, path in paths.items()},
    }


def _communities(base: Path, parameters: dict[str, Any], protocol: str) -> dict[str, str]:
    """The folders of communities that parameters name, wherever the study is read from."""
    from hunet.model.parameters import path_fields
    from hunet.systems import protocol_class

    fields = path_fields(protocol_class(protocol).Parameters)
    given = {field: parameters.get(field) for field in fields}
    return {field: str((base / path).absolute()) for field, path in given.items() if path and isinstance(path, str)}


@cache
def _fingerprint(path: str) -> str:
    from hunet.model.community_files import read_communities

    return read_communities(path).fingerprint


def _under(table: str, chosen: dict[str, Any]) -> dict[str, Any]:
    return {key.removeprefix(f"{table}."): value for key, value in chosen.items() if key.startswith(f"{table}.")}


def _digests(base: Path, workload: dict[str, Any]) -> dict[str, str]:
    """Of the files and folders that a workload names, what stands for them in names of runs: a hash of the content."""
    from hunet.model.parameters import path_fields
    from hunet.systems import WORKLOADS

    kind = workload.get("kind", "uniform")
    fields = path_fields(WORKLOADS[kind].parameters) if kind in WORKLOADS else []
    return {field: content_hash(base / str(workload[field])) for field in fields if workload.get(field)}


def _portable(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they stand in names of runs: without anything that depends on where files lie."""
    named = {key: value for key, value in settings.items() if not key.endswith("_file")}
    if settings.get("paths_file"):
        named["workload"] = {**named["workload"], **settings["paths_file"]}
    if settings.get("communities_file"):
        named["parameters"] = {**named["parameters"], **settings["communities_file"]}
    return named


def _shown(chosen: dict[str, Any], axes: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: value for name, value in chosen.items() if len(axes[name]) > 1}
