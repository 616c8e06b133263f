# SPDX-License-Identifier: Apache-2.0
"""Statistics of paired, interleaved runs: the centre of log ratios, with its interval."""
import itertools
import math
import statistics


def shift(values):
    """Hodges-Lehmann estimate and 95 % interval of the centre of paired differences."""
    walsh = sorted((a + b) / 2 for a, b in
                   itertools.combinations_with_replacement(values, 2))
    n = len(values)
    rank = n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    low = walsh[max(0, math.floor(rank))]
    high = walsh[min(len(walsh) - 1, len(walsh) - 1 - math.floor(rank))]
    return statistics.median(walsh), low, high


def percent(log_ratio):
    return f"{(math.exp(log_ratio) - 1) * 100:+.2f} %"
