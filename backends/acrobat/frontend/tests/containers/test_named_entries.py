"""Dictionaries with names as keys and values of several types: keys that one branch adds, loops over them, comprehensions that
leave some out."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1, 2], [3, 4, 5], [7], [9, 1, 2]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.embed = nn.Linear(3, 2), nn.Embedding(10, 3)

    def encode(self, xs):
        return self.linear(self.embed(torch.tensor(xs)).sum(0))


def in_one_branch(self, xs):
    out = {"h": self.encode(xs), "n": len(xs)}
    if len(xs) > 2:
        out["best"] = max(xs)
        out["names"] = [str(x) for x in xs]
    return out


def without_none(self, xs):
    out = {"h": self.encode(xs), "n": len(xs)}
    if len(xs) > 2:
        out["p"] = torch.softmax(out["h"], 0)
        out["r"] = [x + 1 for x in xs]
    else:
        out["p"], out["r"] = None, []
    out["first"] = xs[0] if xs[0] > 3 else -1
    return {k: v for k, v in out.items() if v is not None}


def of_a_union(self, xs):
    out = {"h": self.encode(xs), "n": len(xs)}
    if len(xs) > 2:
        out["best"] = max(xs)
    return {k: v for k, v in out.items() if k != "n"}, len(out), list(out), sorted(out.keys())


def of_tensors(self, xs):
    out = {"h": self.encode(xs), "n": len(xs), "q": None}
    if len(xs) > 2:
        out["q"] = self.encode(xs[:1])
    return {k: v.sum() for k, v in out.items() if isinstance(v, torch.Tensor)}


def with_other_names(self, xs):
    drop, out = {"tmp"}, {"h": self.encode(xs), "n": len(xs), "tmp": "x"}
    return {f"val_{k}": v for k, v in out.items() if k not in drop}


def in_loops(self, xs):
    out = {"h": self.encode(xs), "n": len(xs), "s": "abc", "acc": len(xs) / 4}
    names, total, texts = [], out["h"] * 0, []
    for name, value in out.items():
        names.append(name)
        if name != "s":
            total = total + value
    for value in out.values():
        if isinstance(value, str):
            texts.append(value)
    return names, total, texts, [k.upper() for k in out], len(out)


def own_entries(self, xs):
    out = {"a": len(xs), "b": "s"}
    for k, v in out.items():
        out[k] = v * 2
    return out


def used_further(self, xs):
    out = {"b": len(xs), "h": self.encode(xs), "t": None}
    if len(xs) > 2:
        out["t"] = "long"
    clean = {k: v for k, v in out.items() if v is not None}
    return clean, len(clean), "t" in clean, clean.get("t", "none"), {**{k: v for k, v in out.items() if k == "b"}, "x": 1}


def inside_of_another(self, xs):
    inner = {"h": self.encode(xs), "n": len(xs)}
    return {"inner": {k: v for k, v in inner.items() if k != "n" or len(xs) > 2}, "n": len(xs)}


def of_the_instance(self, d):
    return {k: v for k, v in d.items() if k != "id"}, [k * 2 for k in d], sum(v for v in d.values() if isinstance(v, int))


RECORDS = [{"id": 1, "name": "a", "xs": [1, 2]}, {"id": 2, "name": "bb", "xs": []}]

CASES = [
    *((work, LISTS) for work in (in_one_branch, without_none, of_a_union, of_tensors, with_other_names, in_loops)),
    *((work, LISTS) for work in (own_entries, used_further, inside_of_another)),
    (of_the_instance, RECORDS),
]


@pytest.mark.parametrize(("forward", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_in_python(forward: Any, sample: list[Any]) -> None:
    agrees(with_forward(Model(), forward), sample)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), without_none), LISTS, codegen, tmp_path)


def by_another_key(self, xs):
    out, seen = {"a": len(xs), "b": "s"}, []
    for k, v in out.items():
        out["b"] = "t"
        seen.append(f"{k}{v}")
    return seen


def of_a_new_key(self, xs):
    out = {"a": len(xs), "b": "s"}
    for k in out:
        out[f"{k}x"] = 1
    return out


def by_a_function(self, xs):
    out, seen = {"a": len(xs), "b": "s"}, []

    def change():
        out["b"] = "t"

    for k, v in out.items():
        change()
        seen.append(f"{k}{v}")
    return seen


def by_a_changed_key(self, xs):
    out, seen = {"a": len(xs), "b": "s"}, []
    for k, v in out.items():
        seen.append(f"{k}{v}")
        k = "b"
        out[k] = "t"
    return seen


@pytest.mark.parametrize("forward", [by_another_key, of_a_new_key, by_a_function, by_a_changed_key], ids=lambda f: f.__name__)
def test_entries_that_the_loop_has_not_reached_are_not_changed(forward: Any) -> None:
    with pytest.raises(CompileError, match="walks over"):
        build(with_forward(Model(), forward), sample=LISTS)


def too_many(self, xs):
    out = {"n": len(xs), "h": self.encode(xs)}
    for name in ("a", "b", "c", "d", "e", "f"):
        out[name] = None if len(xs) > 1 else "x"
    return {k: v for k, v in out.items() if v is not None}


def test_too_many_sets_of_keys_are_refused() -> None:
    with pytest.raises(CompileError, match="too many sets of keys"):
        build(with_forward(Model(), too_many), sample=LISTS)
