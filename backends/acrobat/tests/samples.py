"""Instances of the workloads, drawn ones and edge cases, and the right answers from eager float64. Needs no pytest."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn

from workloads.mvrnn import model as mvrnn
from workloads.spec import loaded
from workloads.stackrnn.model import Sentence
from workloads.structures import map_tensors
from workloads.tests.named import spec
from workloads.treelstm import model as treelstm

PAPER = ("berxit", "birnn", "drnn", "mvrnn", "nestedrnn", "stackrnn", "treelstm")
"""The workloads of the paper. Each has another kind of control flow; the other workloads have variants of these kinds."""


def tiny(name: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    return loaded(spec(name), "tiny", 0, dtype)


def draw(name: str, n: int, seed: int = 0) -> list[Any]:
    return spec(name).instances("tiny", seed, n)


def eager(model: nn.Module, instances: list[Any]) -> list[Any]:
    """The results of `model`, which is in float64, for one instance after the other, converted to float64."""
    with torch.inference_mode():
        return [model(map_tensors(lambda t: t.double() if t.is_floating_point() else t, i)) for i in instances]


def assert_same(got: Any, want: Any, path: str = "") -> None:
    """Asserts equal structures, classes, shapes and dtypes (float32 in place of float64), and values to float32's accuracy."""
    if isinstance(want, Tensor):
        assert type(got) is Tensor, path  # and no nn.Parameter, even if eager returns a parameter
        assert got.shape == want.shape, path
        if want.is_floating_point():
            assert got.dtype == torch.float32, path
            torch.testing.assert_close(got.double(), want, rtol=2e-4, atol=2e-5, msg=lambda m: f"{path}: {m}")
        else:
            assert got.dtype == want.dtype and torch.equal(got, want), path
        return
    assert type(got) is type(want), path
    if isinstance(want, list | tuple):
        assert len(got) == len(want), path
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"{path}[{i}]")
    elif is_dataclass(want):
        for f in fields(want):
            assert_same(getattr(got, f.name), getattr(want, f.name), f"{path}.{f.name}")
    else:
        assert got == want, path


def comb(length: int) -> mvrnn.Tree:
    """A binary tree whose right children are all leaves."""
    tree: mvrnn.Tree = mvrnn.Leaf(0)
    for i in range(length):
        tree = mvrnn.Node(tree, mvrnn.Leaf(i % 100))
    return tree


def edges(name: str) -> list[Any]:
    """The smallest instances, and one that is much larger than the others. For workloads whose instances all have one size,
    some drawn ones, with one of them twice."""
    leaf, node = treelstm.Leaf, treelstm.Node
    long = [i * 7 % 100 for i in range(90)]
    match name:
        case "treelstm":
            wide = node([leaf(i) for i in range(60)])
            deep: treelstm.Tree = leaf(9)
            for i in range(60):
                deep = node([deep, leaf(i)])
            return [leaf(3), node([leaf(99)]), wide, deep, node([node([leaf(0), leaf(1), leaf(2)]), leaf(4)])]
        case "mvrnn":
            return [mvrnn.Leaf(5), comb(60), mvrnn.Node(mvrnn.Leaf(1), mvrnn.Leaf(2)), mvrnn.Leaf(0)]
        case "birnn" | "crf":
            return [[], [4], long, [], [1, 2]]
        case "seq2seq" | "beam" | "ragged":
            return [[4], long, [7], [1, 2]]
        case "stackrnn":
            return [Sentence([], 1), Sentence([4], 2), Sentence(long, 3), Sentence([8, 9], 4)]
    drawn = draw(name, 3, seed=5)
    return [drawn[0], drawn[0], drawn[1], drawn[2]]
