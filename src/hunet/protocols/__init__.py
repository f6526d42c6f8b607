"""The systems and their baselines, by name: one module each, and the contract that they share.

>>> protocol_class("push").__name__
'Push'
>>> protocol_class("pusch")
Traceback (most recent call last):
    ...
hunet.model.errors.ConfigurationError: no protocol 'pusch': did you mean 'push'?
"""

from __future__ import annotations

from hunet.model import ConfigurationError, did_you_mean
from hunet.protocols.contract import Control, Data, Driver, Packet, Protocol
from hunet.protocols.pull import Pull
from hunet.protocols.push import Push
from hunet.protocols.spray_and_wait import SprayAndWait

__all__ = ["PROTOCOLS", "Control", "Data", "Driver", "Packet", "Protocol", "protocol_class"]

PROTOCOLS: dict[str, type[Protocol]] = {
    "push": Push,
    "pull": Pull,
    "spray-and-wait": SprayAndWait,
}


def protocol_class(name: str) -> type[Protocol]:
    """The class of a protocol by its name."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise ConfigurationError(f"no protocol '{name}': {did_you_mean(name, PROTOCOLS)}") from None
