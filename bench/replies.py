"""Checks the replies of a cell's process. None is used unchecked, because a backend runs in the process that writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from bench.breakdown import is_usable
from bench.facts import InvalidFacts, validated_facts
from bench.status import Status

LONGEST = 64 << 20  # bytes of a reply


class Unreadable(Exception):
    """A reply is malformed; the message says what is wrong with it."""


Check = Callable[[Any], bool]


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_usable(value)


def seconds(value: Any) -> bool:
    return number(value) and value >= 0


def fetched(value: Any) -> bool:
    """The fields of a `clock.Fetch`."""
    if not isinstance(value, list) or len(value) != 5:
        return False
    minibatch, run_ns, cost_ns, late_ns, resumed = value
    return (
        count(minibatch)
        and number(run_ns)
        and number(cost_ns)
        and (late_ns is None or number(late_ns))
        and isinstance(resumed, bool)
    )


def count(value: Any) -> bool:
    return isinstance(value, int) and number(value) and value >= 0


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(check(element) for element in value)


def mapping_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(check(element) for element in value.values())


def anything(value: Any) -> bool:
    return True


def text(value: Any) -> bool:
    return isinstance(value, str)


def stated(value: Any) -> bool:
    """The facts of a backend, as the contract has them."""
    try:
        return isinstance(value, dict) and validated_facts(value) == value
    except InvalidFacts:
        return False


def described(value: Any) -> bool:
    """A description of outputs as `handover.Writer` makes it."""
    return (
        isinstance(value, dict)
        and set(DESCRIPTION) <= set(value)
        and all(check(value[key]) for key, check in DESCRIPTION.items())
    )


def _array(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and text(value[0]) and count(value[1]) and count(value[2])


DESCRIPTION: Mapping[str, Check] = {
    "minibatch": count,
    "digest": text,
    "structure": text,
    "types": list_of(text),
    "lengths": lambda value: value is None or list_of(count)(value),
    "floats": _array,
    "integers": _array,
}


SCHEMAS: Mapping[str, Mapping[str, Check]] = {
    "load": {"load_s": seconds, "emulated": lambda value: isinstance(value, bool)},
    "open": {
        "compile_s": seconds,
        "place_s": seconds,
        "first_s": seconds,
        "tensors": count,
        "numbers": count,
        "place_busy_s": seconds,
        "copy_s": seconds,
        "draw_s": seconds,
        "identity": lambda value: value is None or text(value),
    },
    "probe": {"run_s": seconds},
    "observe": {"seen": lambda value: value is None or mapping_of(count)(value)},
    "check": {"pass_s": seconds, "outputs": list_of(described)},
    "turn": {
        "samples_s": list_of(seconds),
        "sample_pass": list_of(count),
        "settled_s": seconds,
        "counters": list_of(mapping_of(anything)),
        "outputs": list_of(described),
    },
    "close": {
        "fetches": list_of(fetched),
        "peak_rss_bytes": count,
        "ran": stated,
        "flags": list_of(text),
    },
    "draw": {"tensors": count, "numbers": count, "copy_s": seconds},
    "replay": {"times": list_of(lambda each: isinstance(each, list) and len(each) == 2 and all(count(n) for n in each))},
    "show": {"outputs": list_of(described)},
    "oracle": {"size": count},
    "elapsed": {"told_s": seconds},
    "survey": {"reasons": mapping_of(lambda value: value is None or text(value))},
}
"""The keys that the reply to a request must have, with checks of their values; it may have more. A verdict (`status` and `why`)
is a reply to any request."""


def parse(line: bytes, do: str) -> dict[str, Any]:
    """The checked reply to the request `do`. Numbers in it that are not finite become None. Raises Unreadable."""
    try:
        reply = json.loads(line.decode(), parse_constant=lambda name: None)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__}: {str(error)[:100]}") from error
    if not isinstance(reply, dict):
        raise Unreadable(f"it is a {type(reply).__name__}, not an object")
    if "status" in reply:
        if reply["status"] not in set(Status) - {Status.OK} or not text(reply.get("why")):
            raise Unreadable(f"no verdict: status {str(reply['status'])[:40]!r}, why {str(reply.get('why'))[:40]!r}")
        if "samples_s" not in reply:
            return reply
    for key, check in SCHEMAS.get(do, {}).items():
        if key not in reply:
            raise Unreadable(f"it has no '{key}'")
        if not check(reply[key]):
            raise Unreadable(f"'{key}' cannot be {str(reply[key])[:60]}")
    if do == "turn" and len(reply["samples_s"]) != len(reply["sample_pass"]):
        raise Unreadable(f"{len(reply['samples_s'])} samples of {len(reply['sample_pass'])} passes")
    return reply
