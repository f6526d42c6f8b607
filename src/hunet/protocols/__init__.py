"""The systems and their baselines, by name: one module each, and the contract that they share.

>>> protocol_class("push").__name__
'Push'
>>> protocol_class("pusch")
Traceback (most recent call last):
    ...
hunet.model.errors.ConfigurationError: no protocol 'pusch': did you mean 'push'?
"""

from __future__ import annotations

from importlib import import_module

from hunet.model import ConfigurationError, did_you_mean
from hunet.protocols.b_sub import BSub, BSubP
from hunet.protocols.b_sub_baselines import BSubPull, BSubPush
from hunet.protocols.contract import Control, Data, Driver, Packet, Protocol
from hunet.protocols.k_nearest import KNearest
from hunet.protocols.mops import Mops
from hunet.protocols.pull import Pull
from hunet.protocols.push import Push
from hunet.protocols.random_broker import RandomBroker
from hunet.protocols.social_election import SocialElection
from hunet.protocols.socialcast import SocialCast, SocialCastRandom
from hunet.protocols.socio_aware_overlay import SocioAwareOverlay
from hunet.protocols.spray_and_wait import SprayAndWait

__all__ = ["PROTOCOLS", "Control", "Data", "Driver", "Packet", "Protocol", "protocol_class"]

PROTOCOLS: dict[str, type[Protocol]] = {
    "push": Push,
    "pull": Pull,
    "spray-and-wait": SprayAndWait,
    "socialcast": SocialCast,
    "socialcast-random": SocialCastRandom,
    "socio-aware-overlay": SocioAwareOverlay,
    "b-sub": BSub,
    "b-sub-p": BSubP,
    "b-sub-push": BSubPush,
    "b-sub-pull": BSubPull,
    "social-election": SocialElection,
    "random-broker": RandomBroker,
    "mops": Mops,
    "k-nearest": KNearest,
}


def protocol_class(name: str) -> type[Protocol]:
    """The class of a protocol by its name, or as ``module:Class`` for one that is not part of hunet."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    module, colon, kind = name.partition(":")
    if not colon:
        raise ConfigurationError(f"no protocol '{name}': {did_you_mean(name, PROTOCOLS)}")
    try:
        found = getattr(import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"no protocol '{name}': {error}") from None
    if not (isinstance(found, type) and issubclass(found, Protocol)):
        raise ConfigurationError(f"'{name}' is not a protocol: it must derive from hunet.Protocol")
    return found
