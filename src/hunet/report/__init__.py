"""Results as people read them: tables, figures, pages."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """The package as a function: ``hunet.report(folder)`` is ``hunet.notebook.report(folder)``.

    A package is an attribute of its parent once it is imported, so that a function cannot have the same name beside it.
    """

    def __call__(self, *given: Any, **named: Any) -> Any:
        return import_module("hunet.notebook").report(*given, **named)


sys.modules[__name__].__class__ = _Room
