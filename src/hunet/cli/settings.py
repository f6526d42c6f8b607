"""What a run is told: from a TOML file, from options, from ``--set``; the command line wins over the file.

The file is read as that of a study: ``hunet.pipeline.study_plan`` describes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunet.model.errors import ConfigurationError, InputError, did_you_mean

if TYPE_CHECKING:
    from hunet.pipeline.study_plan import Run

_TABLES = ("parameters", "workload", "links", "world")


class RunSettings:
    """Everything that names a run: the keys of its file, and what options say in their place."""

    def __init__(self, config: Path | None = None) -> None:
        from hunet.pipeline.study_plan import read_run

        self.config = config
        self.given = read_run(config) if config else {}

    def override(self, *, contacts: str | None = None, world: str | None = None, **plain: Any) -> None:
        """Take over what was given (is not None); contacts replace a world and the other way round."""
        if contacts and world:
            raise ConfigurationError("name either --contacts or --world, not both")
        for name, value in {"contacts": contacts, **plain}.items():
            if value is not None:
                # Paths in the file are relative to it, those of options are not.
                is_path = self.config and name in ("contacts", "publications", "subscriptions")
                self.given[name] = str(Path.cwd() / value) if is_path else value
        if contacts:
            self.given.pop("world", None)
        if world:
            self.given.pop("contacts", None)
            self.table("world")["name"] = world

    def table(self, name: str) -> dict[str, Any]:
        """The values of a table, to be changed."""
        table = self.given.setdefault(name, {})
        if isinstance(table, list) and len(table) == 1:
            table = table[0]
        if not isinstance(table, dict):
            raise InputError(self.config or name, f"'{name}' must be a table [{name}]")
        return table

    def override_table(self, table: str, values: dict[str, Any]) -> None:
        """Take over what was given for the values of a table."""
        given = {name: value for name, value in values.items() if value is not None}
        if given:
            self.table(table).update(given)

    def set(self, text: str) -> None:
        """``name=value`` for the protocol; ``workload.name=value``, ``links.``, ``world.`` for the rest."""
        name, value = split_setting(text)
        table, dot, rest = name.partition(".")
        if dot and table not in _TABLES:
            raise ConfigurationError(f"--set {text}: no group '{table}': {did_you_mean(table, _TABLES)}")
        if name == "world.seed" and value.isdigit():
            value = int(value)
        target = self.table(table if dot else "parameters")
        own = target.get(str(self.given.get("protocol", "push")))
        if isinstance(own, dict):  # the protocol's own table wins over that of all protocols
            target = own
        target[rest if dot else name] = value

    def plan(self) -> Run:
        """The run that follows; what is wrong in the file is told with its name."""
        from hunet.pipeline.study_plan import plan_run

        if not self.given.get("contacts") and not self.given.get("world"):
            raise ConfigurationError("no contacts: give --contacts FILE or --world NAME")
        if self.given.get("contacts") and self.given.get("world"):
            raise ConfigurationError("name either contacts or a world, not both")
        path = self.config or Path("command line")
        try:
            return plan_run(self.given, path)
        except InputError as problem:
            if self.config or problem.path != path:
                raise
            raise ConfigurationError(problem.problem) from None


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
