"""What theory says of Temporal Counting Bloom Filters: their errors, their size, and how long an interest lives.

Y. Zhao, J. Wu, "The Design and Evaluation of An Information Sharing System for Human Networks", IEEE TPDS 2013,
sections 3.1, 5 and 6.3. The supplement that holds the paper's own analysis is not to be had; what is here follows from
the definitions. Symbols: m counters, k hashes, n keys, Π initial value, C_max ceiling, λ renewals per second.
"""

from __future__ import annotations

from math import exp, inf, log, log1p


def expected_set_counters(keys: float, counters: int = 256, hashes: int = 3) -> float:
    """Counters above zero after n insertions: m(1 - (1 - 1/m)^kn).

    >>> round(expected_set_counters(38), 1)
    92.1
    """
    return counters * (1 - exp(hashes * keys * log1p(-1 / counters)))


def false_positive_rate(keys: float, counters: int = 256, hashes: int = 3, filters: int = 1) -> float:
    """Probability that a key that was not inserted is found.

    With several filters the keys are spread evenly over them, and a key is found if one of them holds it.

    >>> [round(false_positive_rate(n), 5) for n in (38, 30, 10)]
    [0.04663, 0.02617, 0.00136]
    >>> round(false_positive_rate(38, filters=2), 5)
    0.01593
    """
    one = (expected_set_counters(keys / filters, counters, hashes) / counters) ** hashes
    return 1 - (1 - one) ** filters


def best_hashes(keys: float, counters: int = 256) -> float:
    """The number of hashes with the fewest false positives: (m/n) ln 2; take a whole number near it.

    >>> round(best_hashes(38), 2)
    4.67
    """
    return counters / keys * log(2)


def expected_bytes(keys: float, counters: int = 256, hashes: int = 3, filters: int = 1, values: int = 1) -> float:
    """The wire size of filters in which each counter has one of so many values: a byte per position, two per value.

    >>> round(expected_bytes(38), 1), round(expected_bytes(38, filters=2), 1)
    (94.1, 106.4)
    """
    return filters * (expected_set_counters(keys / filters, counters, hashes) + 2 * values)


def best_filter_count(keys: int, budget: float, counters: int = 256, hashes: int = 3, values: int = 1) -> int:
    """Over how many filters to spread the keys so that their bytes fit a budget and false positives are fewest.

    Two filters with half the keys each are both larger together and wrong less often than one with all of them, so the
    best number is the largest that fits; 1 if none does. More filters than keys are of no use.

    >>> [best_filter_count(38, budget) for budget in (90, 100, 110, 200)]
    [1, 1, 2, 38]
    """
    fitting = [h for h in range(1, keys + 1) if expected_bytes(keys, counters, hashes, h, values) <= budget]
    return max(fitting, default=1)


def sustaining_cycle(rate: float, initial: int = 5) -> float:
    """The decay cycle at which renewal and decay balance: 1/(λΠ). Above it an interest grows to the ceiling.

    >>> round(sustaining_cycle(6.6 / 5 / 3600))  # a tag gains 6.6 an hour on Infocom 2006
    545
    """
    return 1 / (rate * initial) if rate else inf


def expected_life(cycle: float, rate: float = 0.0, initial: int = 5) -> float:
    """Mean time from an interest's first arrival in a filter until it fades, in seconds.

    Renewals that come at random with rate λ add Π each and time takes 1 per cycle: the counter is the work that waits
    at a server with Poisson arrivals and constant service Π times the cycle, and its life is that queue's busy period.
    Filters fade at the ticks of a clock, and an arrival falls at any phase of a cycle: the first one lasts for Π - ½
    cycles on average, and all later ones, which add to what is there, for Π. So it is (Π - ½)·cycle / (1 - λΠ·cycle).

    >>> expected_life(256), expected_life(256, rate=1 / 2560), expected_life(256, rate=1 / 1280)
    (1152.0, 2304.0, inf)
    """
    load = rate * initial * cycle
    return (initial - 0.5) * cycle / (1 - load) if load < 1 else inf


def share_of_time_present(cycle: float, rate: float, initial: int = 5) -> float:
    """The share of time for which a renewed interest is in the filter: of its life and the wait for the next renewal.

    >>> round(share_of_time_present(256, rate=1 / 2560), 3)
    0.474
    """
    life = expected_life(cycle, rate, initial)
    return life / (life + 1 / rate) if life < inf and rate else float(rate > 0)


def saturation_time(cycle: float, rate: float, initial: int = 5, ceiling: int = 255, sources: int = 1) -> float:
    """Time until a counter reaches C_max at its mean growth; infinite if it does not grow.

    Without hearsay it grows by λΠ - 1/cycle. M-merge gives a device the largest counter of all whom it meets, and these
    meet the interested too: with n ``sources`` whose evidence reaches it at once, it grows by nλΠ - 1/cycle. A crowd in
    which hearsay takes time is in between: on Infocom 2006 (78 devices) more than half of the counters are at the
    ceiling in hour 8.

    >>> hours = [saturation_time(2**10, rate=6.6 / 5 / 3600, sources=n) / 3600 for n in (1, 78)]
    >>> [round(each, 1) for each in hours]
    [82.7, 0.5]
    """
    growth = sources * rate * initial - 1 / cycle
    return ceiling / growth if growth > 0 else inf
