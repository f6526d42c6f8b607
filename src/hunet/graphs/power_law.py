"""A power law for inter-contact times, and the range in which it holds.

Theory of operation. Within a range [L, H] the density is taken as proportional to x^-α. With u = ln(x / L) that is
an exponential law of rate s = α - 1 cut at U = ln(H / L), whose mean is 1/s - U / (e^(sU) - 1): a falling function
of s, so that the maximum-likelihood s is found by halving. How well it fits is the largest distance between the two
distribution functions (Kolmogorov-Smirnov). Inter-contact times follow a power law from minutes to about a day and
fall off faster beyond (Chaintreau et al., IEEE TMC 6(6), 2007), so the range is part of the answer. Without one
given, of the ranges of at least a factor of ten in which α > 1 and the distance is small, it is the one that holds
the most times; if there is none, the one with the smallest distance.

Times are counted in bins of the same width on a logarithmic scale, each with the exact sum of its logarithms: a few
thousand rows for any number of contacts. L and H are edges of bins, so α is exact; the distance is taken at the
edges.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BINS_PER_DECADE = 96
_EDGES_PER_DECADE = 8
"""Where a range may begin and end."""
_GOOD = 0.05
_LEAST_RATIO, _LEAST_TIMES = 10.0, 50
_STEEPEST = 50.0


class PowerLaw(NamedTuple):
    """A fit: density proportional to x^-alpha for x from low to high."""

    alpha: float
    low: float
    high: float
    times: int
    """How many times are in the range."""
    share: float
    """Which share of all times that is."""
    distance: float
    """Kolmogorov-Smirnov distance."""


def fit_times(times: Floats, given: tuple[float, float] | None = None) -> PowerLaw | None:
    """Fit plain numbers: what the table does, without Spark.

    >>> import numpy as np
    >>> sample = 60.0 * np.random.default_rng(1).random(20000) ** -2.0
    >>> round(fit_times(sample, (60.0, 600000.0)).alpha, 2)
    1.5
    """
    import numpy as np

    times = times[times > 0]
    number = np.floor(np.log10(times) * BINS_PER_DECADE).astype(np.int64)
    bins, back = np.unique(number, return_inverse=True)
    return fit_power_law(bins, np.bincount(back), np.bincount(back, weights=np.log(times)), given)


def fit_power_law(
    bins: NDArray[Any], times: NDArray[Any], logs: NDArray[Any], given: tuple[float, float] | None = None
) -> PowerLaw | None:
    """The law and its range; None where there are too few times for any."""
    import numpy as np

    if not len(bins):
        return None
    first, last = int(bins.min()), int(bins.max()) + 1
    step = BINS_PER_DECADE // _EDGES_PER_DECADE
    if given is not None:
        edges = [round(math.log10(edge) * BINS_PER_DECADE) for edge in given]
        ranges = [(max(edges[0], first), min(edges[1], last))]
    else:
        marks = range(math.floor(first / step) * step, last + step, step)
        ranges = [
            (low, high) for low in marks for high in marks if high - low >= BINS_PER_DECADE * math.log10(_LEAST_RATIO)
        ]
    counts, sums = np.zeros(last - first), np.zeros(last - first)
    counts[bins - first], sums[bins - first] = times, logs
    fits = [_fit(counts, sums, first, low, high) for low, high in ranges]
    good = [fit for fit in fits if fit is not None]
    if given is None:
        good = [fit for fit in good if fit.alpha > 1]
    close = [fit for fit in good if fit.distance <= _GOOD]
    if close:
        return max(close, key=lambda fit: (fit.times, fit.low, -fit.high))
    return min(good, key=lambda fit: fit.distance) if good else None


def _fit(counts: Floats, sums: Floats, first: int, low: int, high: int) -> PowerLaw | None:
    import numpy as np

    here = slice(max(low - first, 0), max(high - first, 0))
    many = counts[here].sum()
    if many < _LEAST_TIMES:
        return None
    begin, finish = math.log(10) * low / BINS_PER_DECADE, math.log(10) * high / BINS_PER_DECADE
    width = finish - begin
    rate = _rate(float(sums[here].sum() / many - begin), width)
    u = np.arange(1, high - low + 1) * width / (high - low)
    held = np.zeros(high - low)
    offset = max(first - low, 0)
    held[offset : offset + len(counts[here])] = counts[here]
    expected = u / width if abs(rate) < 1e-9 else np.expm1(-rate * u) / np.expm1(-rate * width)
    distance = float(np.abs(np.cumsum(held) / many - expected).max())
    return PowerLaw(1 + rate, math.exp(begin), math.exp(finish), int(many), float(many / counts.sum()), distance)


def _rate(mean: float, width: float) -> float:
    """The rate of an exponential law on [0, width] with this mean."""

    def mean_of(rate: float) -> float:
        x = rate * width
        if abs(x) < 1e-6:
            return width / 2 - rate * width * width / 12
        return 1 / rate - (width / math.expm1(x) if x < 700 else 0.0)

    low, high = -_STEEPEST, _STEEPEST
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_of(middle) > mean else (low, middle)
    return (low + high) / 2
