"""The parameters of a protocol on a live node, where nobody has the whole trace and storage is counted in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hunet.model import ConfigurationError, Parameters, from_mapping
from hunet.protocols.capabilities import PreparesLive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunet.protocols import Protocol

_MESSAGES = "buffer"
"""What protocols call their limit of messages: it is for simulations."""


def live_parameters(kind: type[Protocol], given: Mapping[str, Any], quota: int) -> Parameters:
    """What a user has set, completed for a live node; ConfigurationError if the protocol cannot run on one.

    >>> from hunet.systems import protocol_class
    >>> live_parameters(protocol_class("b-sub"), {}, quota=1 << 20).buffer is None
    True
    """
    if _MESSAGES in given:
        raise ConfigurationError(f"{_MESSAGES}: a node counts bytes, not messages: leave it out, and set its quota")
    parameters = from_mapping(kind.Parameters, given)
    if hasattr(parameters, _MESSAGES):
        parameters = msgspec.structs.replace(parameters, **{_MESSAGES: None})
    if issubclass(kind, PreparesLive):
        parameters = kind.prepare_live(parameters, quota)
    return parameters
