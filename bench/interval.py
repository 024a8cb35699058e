"""95 % intervals for medians over the rounds of a session, which are few and not independent of each other.

Neighbouring rounds resemble each other: another program runs for some seconds, a processor's clock moves. What disturbs a
round disturbs all its mini-batches. So whole blocks of neighbouring rounds are drawn, for all mini-batches at once (a circular
block bootstrap); the stronger the correlation of neighbouring rounds is, the longer are the blocks.

With few rounds the drawn interval is still too narrow, but by a known factor. The bootstrap's variance is a quadratic form of
the rounds. For a series whose neighbours have correlation `rho`, its expectation and its own variance can be computed, and so
can the true variance of the mean. The interval is widened by the root of true over expected variance, and by using Student's t
instead of the normal distribution, with the degrees of freedom that the bootstrap's variance has.

`rho` itself has to be estimated. Few rounds cannot tell a quiet machine from one that happened not to change, so it is taken as
high as the rounds allow: the upper end of its one-sided 95 % interval.
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

FEWEST = 5  # with fewer rounds there is no interval
RESAMPLES = 400
TAIL = 0.025  # on each side
# A higher correlation is a drift over the whole session, which no interval describes; it is flagged (stats.drift).
HIGHEST = 0.9
UPPER = 1.645  # the 95 % quantile of the normal distribution
WINSOR = 2.5  # for estimating the correlation, deviations are clipped at so many standard deviations
# The 97.5 % quantile of Student's t, by degrees of freedom.
FREEDOM = np.array([1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 60, np.inf])
STUDENT = np.array([12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.306, 2.228, 2.131, 2.086, 2.042, 2.000, 1.960])


def interval(values: np.ndarray, rho: float | None = None) -> tuple[float, float]:
    """The ends of the 95 % interval of `typical(values)`; NaN, NaN for fewer than `FEWEST` rounds. `values`: [rounds,
    minibatches], NaN where a round left a mini-batch out. `rho`: the correlation of neighbouring rounds; default: estimated."""
    rounds = len(values)
    if rounds < FEWEST:
        return float("nan"), float("nan")
    rho = correlation(values) if rho is None else rho
    block = block_length(rho, rounds)
    random = np.random.default_rng(0)
    starts = random.integers(rounds, size=(RESAMPLES, -(-rounds // block)))
    drawn = ((starts[:, :, None] + np.arange(block)) % rounds).reshape(RESAMPLES, -1)[:, :rounds]
    estimates = _typical(values[drawn])
    estimate = typical(values)
    low, high = estimate + (np.quantile(estimates, [TAIL, 1 - TAIL]) - estimate) * widening(rho, block, rounds)
    return float(low), float(high)


def typical(values: np.ndarray) -> float:
    """The median over the rounds in which a mini-batch was run, averaged over the mini-batches."""
    return float(_typical(values))


def _typical(values: np.ndarray) -> np.ndarray:
    """`typical` of each draw in `values[..., rounds, minibatches]`. If a draw has no value for a mini-batch, the median over
    all draws is used, because leaving out a small or large mini-batch would look like a spread."""
    if not np.isnan(values).any():
        return np.asarray(np.mean(np.median(values, axis=-2), axis=-1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy warns where all values are NaN
        medians = np.nanmedian(values, axis=-2)
        typical = np.nanmedian(medians.reshape(-1, medians.shape[-1]), axis=0)
        return np.asarray(np.nanmean(np.where(np.isnan(medians), typical, medians), axis=-1))


def correlation(values: np.ndarray) -> float:
    """The upper confidence bound of the correlation of neighbouring rounds in `values`, clipped to 0 .. `HIGHEST`."""
    rounds = len(values)
    deviations = values - np.nanmedian(values, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(deviations), axis=0)  # estimates the standard deviation of normal values
    series = np.nanmean(np.clip(deviations, -WINSOR * spread, WINSOR * spread), axis=1)
    series -= series.mean()
    square = float(series @ series)
    coefficient = float(series[1:] @ series[:-1]) / square if square > 0 else 0.0
    # In short series this estimate is too low by (1 + 3 rho) / rounds (Kendall 1954).
    unbiased = float(np.clip((coefficient + 1 / rounds) / (1 - 3 / rounds), -1.0, 1.0))
    # The variance of `coefficient` is (1 - rho^2) / rounds; the correction multiplies it by 1 / (1 - 3 / rounds)^2. The bound
    # is the rho from which `unbiased` is `UPPER` standard deviations away.
    slack = UPPER**2 / rounds / (1 - 3 / rounds) ** 2
    bound = (unbiased + np.sqrt(slack * (1 + slack - unbiased**2))) / (1 + slack)
    return float(np.clip(bound, 0.0, HIGHEST))


def block_length(rho: float, rounds: int) -> int:
    """The length of blocks that estimates the variance of a mean best (Carlstein 1986), at most a quarter of the rounds."""
    best = (2 * rho / (1 - rho**2)) ** (2 / 3) * rounds ** (1 / 3)
    return int(np.clip(round(best), 1, max(1, rounds // 4)))


def widening(rho: float, block: int, rounds: int) -> float:
    """The factor by which the bootstrap's interval is too narrow where neighbouring rounds have correlation `rho`."""
    return _widening(round(rho, 2), block, rounds)


@lru_cache(maxsize=4096)
def _widening(rho: float, block: int, rounds: int) -> float:
    index = np.arange(rounds)
    covariance = rho ** np.abs(index[:, None] - index)
    means = np.zeros((rounds, rounds))  # row i gives the mean of the circular block that begins at i, less the mean of all
    for offset in range(block):
        means[index, (index + offset) % rounds] += 1 / block
    means -= 1 / rounds
    product = (block / rounds**2) * means.T @ means @ covariance
    expected = float(np.trace(product))  # the expectation of the bootstrap's variance
    freedom = expected**2 / float(np.trace(product @ product))  # its degrees of freedom (Satterthwaite)
    true = float(covariance.sum()) / rounds**2
    student = float(np.interp(-1 / max(freedom, 1.0), -1 / FREEDOM, STUDENT))
    return float(np.sqrt(true / expected)) * student / float(STUDENT[-1])
