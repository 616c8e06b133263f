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


def shift_between(first, second):
    """By how much `first` lies above `second`: the middle of all differences, with Mann and Whitney's 95 % interval."""
    all_of_them = sorted(a - b for a in first for b in second)
    n, m = len(first), len(second)
    rank = max(0, math.floor(n * m / 2 - 1.96 * math.sqrt(n * m * (n + m + 1) / 12)))
    return statistics.median(all_of_them), all_of_them[rank], all_of_them[-1 - rank]


def percent(log_ratio):
    return f"{(math.exp(log_ratio) - 1) * 100:+.2f} %"
