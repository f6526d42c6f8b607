"""What a node learns about people. Pure data structures and functions: no clock, no I/O, no randomness."""

from hunet.social.closeness import gaussian_closeness
from hunet.social.consensus import consensus
from hunet.social.contact_history import ContactHistory
from hunet.social.temporal_counting_bloom_filter import FilterShape, TemporalCountingBloomFilter

__all__ = ["ContactHistory", "FilterShape", "TemporalCountingBloomFilter", "consensus", "gaussian_closeness"]
