"""The contract of a protocol, what protocols share, and the baselines that belong to no paper of ours."""

from hunet.protocols.contract import Control, Data, Driver, Packet, Protocol

__all__ = ["Control", "Data", "Driver", "Packet", "Protocol"]
