"""The state of a protocol as bytes: the object itself, without its driver, pickled; read back with care.

Protocols are plain objects of plain data, so nothing needs to be written for each. Reading admits classes of hunet and
of the protocol's own package, and plain containers, and nothing else: a file that somebody put there cannot run
programs.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunet.protocols.contract import Protocol

_CONTAINERS = {
    "builtins": {"set", "frozenset", "bytearray", "complex", "range", "slice"},
    "collections": {"deque", "Counter", "OrderedDict", "defaultdict"},
    "array": {"array", "_array_reconstructor"},
    "random": {"Random"},
    "copyreg": {"_reconstructor", "__newobj__"},
    "msgspec._core": {"rebuild"},
}


def write_state(state: Any, outside: Mapping[str, Any]) -> bytes:
    """The bytes of a state; objects ``outside`` of it are written as their names."""
    file = io.BytesIO()
    _Writer(file, outside).dump(state)
    return file.getvalue()


def read_state(data: bytes, outside: Mapping[str, Any], kind: type[Protocol]) -> Any:
    """The state that :func:`write_state` wrote, for a protocol; a pickle can fail in any way, so any error may come."""
    return _Reader(io.BytesIO(data), outside, kind).load()


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, outside: Mapping[str, Any]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = {id(thing): name for name, thing in outside.items()}

    def persistent_id(self, obj: Any) -> str | None:
        return self._names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        # A class in Python that derives from a compiled one has fields of its own, which the other does not write.
        if hasattr(type(obj), "__mypyc_attrs__") and getattr(obj, "__dict__", None):
            return copyreg.__newobj__, (type(obj),), {**obj.__getstate__(), **vars(obj)}  # type: ignore[attr-defined]
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, outside: Mapping[str, Any], kind: type[Protocol]) -> None:
        super().__init__(file)
        self._outside = outside
        self._homes = {"hunet", kind.__module__.partition(".")[0]}

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] not in self._homes and name not in _CONTAINERS.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a protocol")
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        return self._outside[pid]
