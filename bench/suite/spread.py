# SPDX-License-Identifier: MIT
"""How sure a figure is: bootstrap, Student's t, and many comparisons at once.

All is drawn from seeds that are made of the caller's text, so that the same files always give the
same answer.

  bootstrap   Efron, "Bootstrap methods: another look at the jackknife", 1979
  Holm        Holm, "A simple sequentially rejective multiple test procedure", 1979
"""

import math
import random
import statistics

RESAMPLES = 2000
CONFIDENCE = 0.95


def quantile(ordered, share):
    """Of values in order, between neighbours by their distance."""
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def paired_ratio(over, under, seed):
    """(ratio, low, high): the median of the quotients of repetitions that ran one after the other,
    and its interval of 95 %, by drawing the pairs anew."""
    quotients = [a / b for a, b in zip(over, under, strict=True)]
    middle = statistics.median(quotients)
    if len(quotients) < 2:
        return middle, middle, middle
    draw = random.Random(f"paired {seed}")
    medians = sorted(statistics.median(draw.choices(quotients, k=len(quotients)))
                     for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    return middle, quantile(medians, tail), quantile(medians, 1 - tail)


def median_error(values, seed):
    """Standard error of a median, by bootstrap; at least what normal noise of as many would have
    divided by two, since few values that happen to be alike say little."""
    if len(values) < 2:
        return 0.0
    draw = random.Random(f"median {seed}")
    medians = [statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES)]
    normal = error_of_median(statistics.stdev(values), len(values))
    return max(statistics.pstdev(medians), normal / 2)


def error_of_median(deviation, count):
    """Of the median of as many normal values: sqrt(pi / 2) times the mean's."""
    return math.sqrt(math.pi / 2) * deviation / math.sqrt(count) if count else 0.0


# ---- Student's t --------------------------------------------------------------------------------


def beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 300):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            result *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return result


def beta_share(a, b, x):
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) +
                     a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


def t_two_sided(t, freedom):
    """The probability of a value as far from 0 on either side."""
    if math.isinf(t):
        return 0.0
    return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_bound(freedom, confidence=CONFIDENCE):
    """What a t keeps within, on both sides, with this confidence."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if t_two_sided(middle, freedom) < 1 - confidence:
            high = middle
        else:
            low = middle
    return high


# ---- many at once -------------------------------------------------------------------------------


def holm(probabilities):
    """The same, adjusted so that the chance of even one false alarm among all is what each says."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    adjusted, most = [0.0] * len(probabilities), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, probabilities[i] * (len(probabilities) - rank)))
        adjusted[i] = most
    return adjusted
