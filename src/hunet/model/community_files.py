"""Communities that were found on a trace: what a finder says of them, and the folders that keep it for runs.

A folder is written by ``hunet trace communities``: the tables ``communities.parquet``, ``closeness.parquet`` and
``gateways.parquet`` (``hunet trace tables`` has their columns), and ``communities.json``, which says by which settings.
The folder of ``hunet trace pairs`` has a closeness too. Tables name nodes as the trace does; runs number them as their
contacts do.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hunet.model.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Member(NamedTuple):
    """One node in one community."""

    community: int
    """Its number, from 0."""
    node: Any
    """Number of the node; in tables its name."""
    broker: bool
    handle: bool
    """Whether the community goes by this node: its initiator, or its first broker."""
    depth: int
    """The most hops from a broker of the community to a member, where a system counts them; else 0."""


class CommunityGateway(NamedTuple):
    """A member of a community with a link to another."""

    community: int
    other: int
    node: Any
    betweenness: float
    """Its share of what flows from its community to the other."""
    broker: bool
    """Whether it is needed, beside those with a larger share."""


class Findings(NamedTuple):
    """What one method finds on a trace."""

    members: Sequence[Member]
    closeness: Sequence[tuple[Any, Any, float]] = ()
    """Pairs and how close they are, where the method has such a thing."""
    gateways: Sequence[CommunityGateway] = ()


@dataclass(frozen=True)
class CommunityTables:
    """A folder of communities: what each method found, nodes by name."""

    path: Path
    settings: dict[str, dict[str, Any]]
    """The settings of each method."""
    members: dict[str, list[Member]]
    closeness: list[tuple[str, str, float]]
    gateways: dict[str, list[CommunityGateway]] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content, however it was cut into files: what a run's name says of it."""
        content = [self.settings, self.members, self.closeness, self.gateways]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def of(self, method: str, names: Sequence[str]) -> Findings:
        """What a method found, nodes by their numbers in these names."""
        if method not in self.members:
            known = ", ".join(self.members) or "none"
            raise ConfigurationError(f"{self.path}: has no communities by '{method}' (it has: {known})")
        number = self._numbers(names, [member.node for member in self.members[method]])
        return Findings(
            [member._replace(node=number[member.node]) for member in self.members[method]],
            self.closeness_among(names),
            [each._replace(node=number[each.node]) for each in self.gateways.get(method, [])],
        )

    def closeness_among(self, names: Sequence[str]) -> list[tuple[int, int, float]]:
        """The closeness of pairs, nodes by their numbers in these names, the smaller first, in rising order."""
        number = self._numbers(names, [name for one, two, _ in self.closeness for name in (one, two)])
        rows = [(number[one], number[two], closeness) for one, two, closeness in self.closeness]
        return sorted((min(one, two), max(one, two), closeness) for one, two, closeness in rows)

    def settings_of(self, method: str, given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
        """The settings of a method; raise if a run was given others, that is neither these nor the defaults."""
        for name, value in self.settings[method].items():
            if given[name] not in (value, defaults[name]):
                raise ConfigurationError(
                    f"{self.path}: its communities have {name} {value}, the run {given[name]}: leave it out of the "
                    "run, or find communities with it"
                )
        return self.settings[method]

    def _numbers(self, names: Sequence[str], wanted: list[str]) -> dict[str, int]:
        number = {name: node for node, name in enumerate(names)}
        for name in wanted:
            if name not in number:
                raise ConfigurationError(f"{self.path}: node '{name}' is not in the contacts of the run")
        return number


def read_communities(path: str | Path) -> CommunityTables:
    """Read the folder of ``hunet trace communities``, or of ``hunet trace pairs`` for its closeness."""
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(folder, "no such folder: make it with 'hunet trace communities'")
    if (folder / "pairs.json").exists():
        return CommunityTables(folder, {}, {}, _closeness(folder / "pairs.parquet"))
    try:
        description = json.loads((folder / "communities.json").read_text("utf-8"))
    except (OSError, ValueError):
        raise InputError(folder, "has no communities.json: make it with 'hunet trace communities'") from None
    members: dict[str, list[Member]] = {method: [] for method in sorted(description["settings"])}
    for method, *row in _rows(folder / "communities.parquet", ("method", *Member._fields)):
        members[method].append(Member(*row))
    gateways: dict[str, list[CommunityGateway]] = {}
    for method, *row in _rows(folder / "gateways.parquet", ("method", *CommunityGateway._fields)):
        gateways.setdefault(method, []).append(CommunityGateway(*row))
    return CommunityTables(folder, description["settings"], members, _closeness(folder / "closeness.parquet"), gateways)


def _closeness(path: Path) -> list[tuple[str, str, float]]:
    # What is too far for a number above 0 is no link.
    return [(one, two, closeness) for one, two, closeness in _rows(path, ("a", "b", "closeness")) if closeness > 0]


def _rows(path: Path, columns: tuple[str, ...]) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise InputError(path, f"cannot be read: {str(error).splitlines()[0]}") from None
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise InputError(path, f"has no column '{missing[0]}'")
    return sorted(zip(*(table.column(name).to_pylist() for name in columns), strict=True))
