"""hunet: socially-aware publish/subscribe for human networks.

Load contacts, make a workload, run a protocol, look at the result:

>>> import hunet
>>> contacts = hunet.Contacts.from_records([("ann", "bob", 0, 10), ("bob", "eve", 20, 30)])
>>> workload = hunet.make_workload(contacts, seed=1, messages=5, topics=1)
>>> result = hunet.run(contacts, workload, "push", seed=1)
>>> result
Result(push, seed 1: delivery ratio 0.5000 of 0.5000 reachable)

What is here is the public API; ``hunet.testing`` has devices on a table for trying out protocols.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hunet.model import Contacts, HunetError, Publication, Subscription, Workload
    from hunet.model.contact_files import read_contacts, write_contacts
    from hunet.node.node import Node
    from hunet.notebook import advise, report, study
    from hunet.pipeline.traces import read_trace
    from hunet.protocols import Protocol
    from hunet.simulation import Crash, Links, Result, make_workload, read_workload, run
    from hunet.systems import PROTOCOLS
    from hunet.worlds import make_world

__all__ = [
    "PROTOCOLS",
    "Contacts",
    "Crash",
    "HunetError",
    "Links",
    "Node",
    "Protocol",
    "Publication",
    "Result",
    "Subscription",
    "Workload",
    "advise",
    "make_workload",
    "make_world",
    "read_contacts",
    "read_trace",
    "read_workload",
    "report",
    "run",
    "study",
    "write_contacts",
]

# Names are imported when they are first used: `hunet --help` needs none of them.
_HOMES = {
    "hunet.model": ("Contacts", "HunetError", "Publication", "Subscription", "Workload"),
    "hunet.node.node": ("Node",),
    "hunet.notebook": ("advise", "study"),
    "hunet.pipeline.traces": ("read_trace",),
    "hunet.protocols": ("Protocol",),
    "hunet.systems": ("PROTOCOLS",),
    "hunet.simulation": ("Crash", "Links", "Result", "make_workload", "read_workload", "run"),
    "hunet.worlds": ("make_world",),
    "hunet.model.contact_files": ("read_contacts", "write_contacts"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("hunet")
    if name == "report":  # the room of that name, which can be called
        return import_module("hunet.report")
    for home, names in _HOMES.items():
        if name in names:
            try:
                return getattr(import_module(home), name)
            except ModuleNotFoundError as error:
                from hunet.model.parts import missing_part

                if advice := missing_part(f"hunet.{name}", error):
                    raise ImportError(advice) from error
                raise
    raise AttributeError(f"module 'hunet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
