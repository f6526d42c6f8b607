"""What a node learns about people. Pure data structures and functions: no clock, no I/O, no randomness."""

from hunet.social.closeness import gaussian_closeness
from hunet.social.contact_history import ContactHistory

__all__ = ["ContactHistory", "gaussian_closeness"]
