"""Simulated tensor-dependent decisions that every system and every schedule takes alike (architecture: 4.3).

A real model's decision depends on trained weights; with random weights it would be degenerate. So a model waits on the real
tensor value, as it must, and then takes a choice hashed from `key`, an explicit host integer that it splits along its own
calls as JAX's keys are. Nothing is drawn in schedule order. `real=True` takes the value's own choice instead.

All of it is plain integer arithmetic that stays inside 63 bits, so a compiler with 64-bit integers gives the same numbers.
"""

from __future__ import annotations

from torch import Tensor


def mix(x: int) -> int:
    """A 32-bit hash of the low 32 bits of `x`. Two multiply-xorshift rounds; a 31-bit multiplier keeps products in 63 bits."""
    x = x & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    return x ^ (x >> 16)


def split(key: int, branch: int) -> int:
    """The key of child `branch` of `key`: distinct calls get distinct keys whatever order they run in."""
    return mix(key ^ mix(branch + 0x51ED27))


def choose(key: int, low: int, high: int) -> int:
    """An integer in [low, high], both included, hashed from `key`; `low` where the range is empty."""
    return low + mix(key) % (high - low + 1) if high > low else low


def decide(score: Tensor, low: int, high: int, key: int, real: bool) -> int:
    """Wait for `score`, a probability in a tensor of one element, then choose an integer in [low, high] (both included)."""
    value = score.item()
    if real:
        return low + min(int(value * (high - low + 1)), high - low) if high > low else low
    return choose(key, low, high)
