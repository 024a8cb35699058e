"""What ran in a cell: what the backend says about itself, and what was observed while it ran. The row has it as `ran`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench import breakdown
from bench.contract import Compiled
from bench.instructions import instruction_sets
from bench.log import LONGEST, one_line

TEXTS = ("instruction_set", "library", "load_time", "precision")
SPELLED = {"sse": "SSE", "avx2": "AVX2", "avx512": "AVX-512"}


class InvalidFacts(ValueError):
    """`facts()` returned something that the contract does not allow; the message says what."""


def collect(compiled: Compiled) -> tuple[dict[str, Any], list[str]]:
    """The facts that the backend states, and the flags for its row."""
    try:
        return validated_facts(compiled.facts() if hasattr(compiled, "facts") else {}), []
    except InvalidFacts as error:
        return {}, [str(error)]


def validated_facts(facts: Any) -> dict[str, Any]:
    """A copy of what `facts()` returned. Raises `InvalidFacts` where that is not as the contract says."""
    if not isinstance(facts, Mapping):
        raise InvalidFacts(f"facts() gave {type(facts).__name__}, not a mapping")
    for key, value in facts.items():
        if key in TEXTS:
            if not isinstance(value, str):
                raise InvalidFacts(f"facts() gave {key}={value!r}, not a text")
            if value != one_line(value):
                raise InvalidFacts(f"facts() gave {key}={value[:40]!r}, not a plain line of at most {LONGEST} letters")
        elif key == "properties":
            if not isinstance(value, Mapping) or breakdown.plain(value) != dict(value) or breakdown.too_large(value):
                raise InvalidFacts(f"facts() gave properties={str(value)[:40]}, not a small mapping that JSON can hold")
        elif key != "threads":
            raise InvalidFacts(f"facts() gave {key!r}; known are {', '.join(TEXTS)}, threads and properties")
        elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidFacts(f"facts() gave threads={value!r}, not a number of threads")
    return dict(facts)


def instruction_set(ran: Mapping[str, Any]) -> str:
    """The instruction set that was observed, else the one that the backend names; empty if neither is known."""
    return instruction_sets(ran.get("instructions_seen")) or str(ran.get("instruction_set", ""))


def describe(ran: Mapping[str, Any]) -> str:
    """The facts in one line, as in "AVX2, Eigen in dyNET38 2.2, 1 thread"; empty where nothing is known."""
    names = [SPELLED.get(name, name) for name in instruction_set(ran).split(", ") if name]
    parts = [" and ".join(names), ran.get("library", "")]
    if "threads" in ran:
        parts.append(f"{ran['threads']} thread" + "s" * (ran["threads"] != 1))
    if ran.get("load_time"):
        parts.append(f"{ran['load_time']} computed when the model was loaded")
    return ", ".join(part for part in parts if part)
