"""What a run is told: from a TOML file, from options, from ``--set``; the command line wins over the file.

A TOML file may hold everything that options can say::

    contacts = "trace.csv"           # or a [world] with a name and parameters
    protocol = "spray-and-wait"
    seed = 1
    [parameters]                     # the protocol's
    copies = 4
    [workload]                       # a generated one; or publications = "P.csv", subscriptions = "S.csv" above
    messages = 1000
    [links]
    rate = 50
    [[crash]]
    node = "7"
    time = 3600
    down = 60
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.errors import ConfigurationError, InputError, did_you_mean
from hunet.model.files import read_toml

if TYPE_CHECKING:
    from hunet.model import Contacts, Workload
    from hunet.simulation import Crash

_TABLES = ("parameters", "workload", "links", "world")
_PLAIN = ("contacts", "protocol", "seed", "train", "publications", "subscriptions")


_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def duration(option: str, text: str) -> float:
    """Seconds, of a time as people write it.

    >>> duration("--ttl", "90s"), duration("--ttl", "1.5h"), duration("--within", "30min"), duration("--ttl", "30m")
    (90.0, 5400.0, 1800.0, 1800.0)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", text.strip())
    if not found or found[2] not in _SECONDS:
        raise ConfigurationError(f"{option} {text}: write a number and one of s, min, h, d, such as 6h")
    return float(found[1]) * _SECONDS[found[2]]


@dataclass
class Settings:
    """Everything that names a run, as it was given."""

    contacts: str | None = None
    protocol: str = "push"
    seed: int = 1
    train: float = 0.0
    publications: str | None = None
    subscriptions: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    workload: dict[str, Any] = field(default_factory=dict)
    links: dict[str, Any] = field(default_factory=dict)
    world: dict[str, Any] = field(default_factory=dict)
    crash: list[dict[str, Any]] = field(default_factory=list)
    base: Path = field(default_factory=Path)
    """What folders that a workload names are relative to: where the file is that names them."""

    @classmethod
    def from_toml(cls, path: Path) -> Settings:
        """Read a file; paths in it are relative to the file."""
        given = read_toml(path)
        known = (*_PLAIN, *_TABLES, "crash")
        for key, value in given.items():
            if key not in known:
                raise InputError(path, f"no key '{key}': {did_you_mean(key, known)}")
            if (key in _TABLES) != isinstance(value, dict):
                raise InputError(path, f"'{key}' must {'be a table' if key in _TABLES else 'not be a table'}")
        for key in ("contacts", "publications", "subscriptions"):
            if key in given:
                given[key] = str(path.parent / str(given[key]))
        return cls(**given, base=path.parent)

    def override(self, *, contacts: str | None, world: str | None, **plain: Any) -> None:
        """Take over what was given (is not None); contacts replace a world and the other way round."""
        for name, value in plain.items():
            if value is not None:
                setattr(self, name, value)
        if contacts:
            self.contacts, self.world = contacts, {}
        if world:
            self.contacts, self.world["name"] = None, world

    def override_table(self, table: str, values: dict[str, Any]) -> None:
        """The same for the values of a table."""
        getattr(self, table).update({name: value for name, value in values.items() if value is not None})

    def set(self, text: str) -> None:
        """``name=value`` for the protocol; ``workload.name=value``, ``links.``, ``world.`` for the rest."""
        name, value = split_setting(text)
        table, dot, rest = name.partition(".")
        if dot and table not in _TABLES:
            raise ConfigurationError(f"--set {text}: no group '{table}': {did_you_mean(table, _TABLES)}")
        (getattr(self, table) if dot else self.parameters)[rest if dot else name] = value

    def load_contacts(self) -> Contacts:
        """From the file or the world that was named."""
        if self.contacts and self.world:
            raise ConfigurationError("name either contacts or a world, not both")
        if self.world:
            from hunet.worlds import make_world

            given = dict(self.world)
            if "name" not in given:
                raise ConfigurationError("which world? Give --world NAME, or a name in the table [world]")
            return make_world(given.pop("name"), int(given.pop("seed", self.seed)), **given)
        if not self.contacts:
            raise ConfigurationError("whose contacts? Give --contacts FILE or --world NAME")
        from hunet.model.contact_files import read_contacts

        return read_contacts(self.contacts)

    def load_workload(self, contacts: Contacts) -> Workload:
        """From the files that were named, or generated."""
        from hunet.simulation import make_workload, read_workload

        if not self.publications and not self.subscriptions:
            return make_workload(contacts, self.seed, base=self.base, **self.workload)
        if not (self.publications and self.subscriptions):
            raise ConfigurationError("a workload from files needs both --publications and --subscriptions")
        if self.workload:
            raise ConfigurationError("a workload from files takes no parameters of a generated one")
        return read_workload(contacts, Path(self.publications), Path(self.subscriptions))

    def load_crashes(self, contacts: Contacts) -> list[Crash]:
        """Crashes with their nodes' numbers."""
        from hunet.simulation.schedule import crashes_from

        return crashes_from(self.crash, contacts)


def split_setting(text: str) -> tuple[str, Any]:
    """Take NAME=VALUE apart; lists and tables are written as in TOML."""
    import tomllib

    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise ConfigurationError(f"--set {text}: write NAME=VALUE")
    if not value.startswith(("[", "{")):
        return name, value
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"--set {text}: {error}") from None


def parse_crash(text: str) -> dict[str, Any]:
    """NODE@TIME or NODE@TIME+DOWN, in seconds."""
    node, _, when = text.rpartition("@")
    time, _, down = when.partition("+")
    try:
        return {"node": node, "time": float(time), "down": float(down or 0)}
    except ValueError:
        raise ConfigurationError(f"--crash {text}: write NODE@TIME or NODE@TIME+DOWN, in seconds") from None
