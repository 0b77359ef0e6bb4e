"""Means with 95 % intervals, as the other benchmarks print them."""
import math
import statistics

# Student's t, two-sided 95 %, by degrees of freedom; beyond the table the normal value.
T95 = [math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
       2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def mean_and_half_width(values):
    """The mean and half the width of its 95 % interval; infinite for fewer than two values."""
    n = len(values)
    if n < 2:
        return (values[0] if values else math.nan), math.inf
    t = T95[n - 1] if n - 1 < len(T95) else 1.96 + 2.4 / (n - 1)
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(n)
