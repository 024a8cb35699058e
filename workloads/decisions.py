"""Simulated tensor-dependent decisions, the same in every system and in every order of execution.

Real decisions need trained weights; with random weights nearly all would be alike. So a model waits for the tensor's value, as
it must, but then takes a choice hashed from `key`, an integer of the instance. It splits the key along its calls, as JAX
programs do, so that no choice depends on the order of the calls. With `real=True` the value itself decides.

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
    """The key of child `branch` of `key`. Different calls get different keys (but for hash collisions), in whatever order."""
    return mix(key ^ mix(branch + 0x51ED27))


def choose(key: int, low: int, high: int) -> int:
    """An integer in [low, high], both included, hashed from `key`; `low` where the range is empty."""
    return low + mix(key) % (high - low + 1) if high > low else low


def decide(score: Tensor, low: int, high: int, key: int, real: bool) -> int:
    """Wait for `score`, a probability in one element; then an integer from `low` to `high`, by it if `real`, else by `key`."""
    value = score.item()
    if real:
        return low + min(int(value * (high - low + 1)), high - low) if high > low else low
    return choose(key, low, high)


def stop(certainty: Tensor, remaining: int, key: int, real: bool) -> bool:
    """Wait for `certainty`, as `decide` does; then whether to stop with `remaining` rounds to go. If `real`, a certainty of at
    least remaining / (remaining + 1) stops; else each number of rounds is equally likely."""
    return decide(certainty, 0, remaining, key, real) == (remaining if real else 0)
