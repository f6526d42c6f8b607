"""The systems: one folder for each paper, and the registry that every command asks.

A system is declared once, as ``SYSTEM`` in the ``__init__`` of its folder. A package of somebody else joins by an entry
point of the group ``hunet.systems`` that names such a declaration. Declarations hold texts (``"module:name"``) and
import nothing, so that a list of names costs nothing.

>>> sorted(PROTOCOLS)[:3]
['b-sub', 'b-sub-p', 'b-sub-pull']
>>> protocol_class("push").__name__
'Push'
>>> protocol_class("pusch")
Traceback (most recent call last):
    ...
hunet.model.errors.ConfigurationError: no protocol 'pusch': did you mean 'push'?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from hunet.model.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from hunet.model.community_files import Findings
    from hunet.model.contacts import Contacts
    from hunet.model.parameters import Parameters
    from hunet.model.workload import WorkloadKind
    from hunet.protocols.contract import Protocol

__all__ = [
    "ANALYSES",
    "FINDERS",
    "PROTOCOLS",
    "WORKLOADS",
    "Analysis",
    "Finder",
    "Purpose",
    "Scales",
    "Setting",
    "System",
    "demo_parameters",
    "figures_of",
    "protocol_class",
    "rounded",
    "settings",
    "studies_of",
    "system",
    "systems",
]


class System(NamedTuple):
    """The declaration of a system. Values of the form ``"module:name"`` are imported when they are asked for."""

    name: str
    """As in ``hunet reproduce NAME``; also the name of its page and of its folder of results."""
    title: str
    """As the paper calls it."""
    paper: str = ""
    """The citation, in one line."""
    protocols: Mapping[str, str] = {}
    """Protocol classes by name: the system's own, its variants, and the baselines of its paper."""
    workloads: Mapping[str, str] = {}
    """Kinds of workload (``hunet.model.WorkloadKind``) by name."""
    analyses: Mapping[str, str] = {}
    """What a study can compute from contacts without any device (:class:`Analysis`), by name."""
    finders: Mapping[str, str] = {}
    """How the system finds communities on a trace (:class:`Finder`), by name of the method."""
    settings: str = ""
    """A function from :class:`Scales` to a list of :class:`Setting`: what to try on an unknown crowd."""
    claims: str = ""
    """A function from a folder of results to the sections of the system's page, by name; ``claims`` is one of them."""
    figures: str = ""
    """What its paper reports and a run's summary has not by itself: functions of a run's row, by name."""
    evaluation: str = ""
    """The rules, figures and kept runs that judge its claims (``hunet.report.evidence.Evaluation``)."""
    pictures: str = ""
    """A function of a folder of results and a folder for pictures, which draws the figures of the page."""
    package: str = ""
    """The package that declares it, whose folder ``studies`` has its study files; the registry fills it in."""


class Scales(NamedTuple):
    """Time scales of a crowd, from which settings follow."""

    within: float
    """How long messages live: the delay that somebody asks for (s)."""
    span: float
    """Length of the contact table (s)."""
    pace: float = 60.0
    """Mean time between the beginnings of two contacts of a device (s); a minute where that is not known."""

    @classmethod
    def of(cls, contacts: Contacts, within: float) -> Scales:
        """Those of a contact table.

        >>> from hunet.model import Contacts
        >>> Scales.of(Contacts.from_records([("a", "b", 0, 10), ("a", "b", 50, 60), ("b", "c", 70, 90)]), within=30)
        Scales(within=30, span=90.0, pace=45.0)
        """
        first, last = contacts.span
        span = last - first
        return cls(within, span, span * len(contacts.names) / max(2 * len(contacts), 1))


Purpose = Literal["advise", "quick", "demo", "beside"]


class Setting(NamedTuple):
    """A protocol with parameters that suit a crowd."""

    name: str
    """What people read."""
    protocol: str
    parameters: dict[str, Any]
    purpose: Purpose = "advise"
    """Who tries it: ``hunet advise``; also its ``--quick``, and ``hunet demo``; or ``hunet demo`` alone, instead;
    or the demo in one row more."""


class Analysis(NamedTuple):
    """What a study computes from contacts alone: figures, without devices and messages."""

    parameters: type[Parameters]
    compute: Callable[[Any, Any], dict[str, Any]]
    """A function of (contacts, parameters)."""


class Finder(NamedTuple):
    """A way to find communities on a trace, with what belongs to them."""

    parameters: type[Parameters]
    """Those of the protocol."""
    fields: tuple[str, ...]
    """The parameters on which communities depend."""
    find: Callable[[Any, Any], Findings]
    """A function of (contacts, parameters)."""


_OURS = ("baselines", "socialcast", "socio_aware_overlay", "b_sub", "social_election", "mops", "foresight")
_GROUP = "hunet.systems"


@cache
def systems() -> dict[str, System]:
    """All systems by name: ours, then those of other installed packages, in the order of their names."""
    found: dict[str, System] = {}
    homes: dict[str, str] = {}
    declared = [
        (import_module(package).SYSTEM._replace(package=package), "hunet")
        for package in (f"hunet.systems.{folder}" for folder in _OURS)
    ]
    for point in sorted(entry_points(group=_GROUP), key=lambda point: point.name):
        package = point.dist.name if point.dist else point.module
        try:
            one = point.load()
        except Exception as error:
            raise ConfigurationError(
                f"package '{package}' declares a system ({point.value}) that cannot be imported: {error}; "
                "mend or uninstall it"
            ) from error
        if not isinstance(one, System):
            raise ConfigurationError(f"package '{package}': {point.value} is not a hunet.systems.System")
        declared.append((one._replace(package=point.module), package))
    for one, package in declared:
        if one.name in found:
            raise ConfigurationError(
                f"packages '{homes[one.name]}' and '{package}' both declare a system '{one.name}': uninstall one"
            )
        found[one.name], homes[one.name] = one, package
    return found


def system(name: str) -> System:
    """A system by its name."""
    if name not in systems():
        raise ConfigurationError(f"no system '{name}': {did_you_mean(name, systems())}")
    return systems()[name]


def studies_of(one: System) -> list[Path]:
    """The study files of a system, in order of their names."""
    home = import_module(one.package).__file__ if one.package else None
    return sorted((Path(home).parent / "studies").glob("*.toml")) if home else []


def settings(scales: Scales) -> list[Setting]:
    """What all systems suggest for a crowd of these time scales."""
    return [each for one in systems().values() if one.settings for each in load(one.settings)(scales)]


def figures_of(names: Iterable[str]) -> dict[str, Callable[[dict[str, Any]], float | None]]:
    """The papers' own figures of the systems that some protocols or analyses belong to.

    >>> list(figures_of(["mops"]))[:2]
    ['communities', 'largest_community']
    """
    chosen = set(names)
    of = [one for one in systems().values() if one.figures and chosen & {*one.protocols, *one.analyses}]
    return {name: figure for one in of for name, figure in load(one.figures).items()}


def demo_parameters(scales: Scales) -> dict[str, dict[str, Any]]:
    """For each protocol that needs any, the parameters with which it is shown on a crowd of these time scales."""
    suggested = settings(scales)
    chosen: dict[str, dict[str, Any]] = {}
    for purpose in ("demo", "quick", "advise"):
        for each in suggested:
            if each.purpose == purpose:
                chosen.setdefault(each.protocol, each.parameters)
    return {protocol: parameters for protocol, parameters in chosen.items() if parameters}


def demo_variants(scales: Scales) -> dict[str, dict[str, Any]]:
    """The same, with a list of values where the demo shows a protocol in several rows."""
    chosen = {protocol: dict(parameters) for protocol, parameters in demo_parameters(scales).items()}
    for each in settings(scales):
        if each.purpose == "beside":
            for name, value in each.parameters.items():
                chosen[each.protocol][name] = [chosen[each.protocol][name], value]
    return chosen


def rounded(seconds: float) -> float:
    """A time to two digits: a setting that people can read.

    >>> rounded(7213.4)
    7200.0
    """
    return float(f"{seconds:.2g}")


def load(home: str) -> Any:
    """The thing that ``module:name`` names."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


T = TypeVar("T")


class _Registry(Mapping[str, T]):
    """Things of one kind of all systems by name; they are imported when they are asked for."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @property
    def _homes(self) -> dict[str, str]:
        return _homes(self._kind)

    def __getitem__(self, name: str) -> T:
        thing: T = load(self._homes[name])
        return thing

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __repr__(self) -> str:
        return f"<{self._kind}: {', '.join(self)}>"


@cache
def _homes(kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    whose: dict[str, str] = {}
    for one in systems().values():
        for name, home in getattr(one, kind).items():
            if name in found:
                raise ConfigurationError(
                    f"systems '{whose[name]}' and '{one.name}' both have '{name}' among their {kind}: uninstall one"
                )
            found[name], whose[name] = home, one.name
    return found


PROTOCOLS: Mapping[str, type[Protocol]] = _Registry("protocols")
"""Protocols by name."""
WORKLOADS: Mapping[str, WorkloadKind] = _Registry("workloads")
"""Kinds of workload by name."""
ANALYSES: Mapping[str, Analysis] = _Registry("analyses")
"""Analyses by name."""
FINDERS: Mapping[str, Finder] = _Registry("finders")
"""Ways to find communities by name."""


def protocol_class(name: str) -> type[Protocol]:
    """The class of a protocol by its name, or as ``module:Class`` for one that no package declares."""
    from hunet.protocols.contract import Protocol

    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if ":" not in name:
        raise ConfigurationError(f"no protocol '{name}': {did_you_mean(name, PROTOCOLS)}")
    try:
        found = load(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"no protocol '{name}': {error}") from None
    if not (isinstance(found, type) and issubclass(found, Protocol)):
        raise ConfigurationError(f"'{name}' is not a protocol: it must derive from hunet.Protocol")
    return found
