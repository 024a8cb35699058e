"""What holds for every workload: precision, determinism, healthy values, and independence of the order of evaluation."""

from __future__ import annotations

import importlib
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bench.outputs import fingerprint
from workloads.oracle import answers
from workloads.spec import ModelSpec, loaded
from workloads.structures import arrays
from workloads.tests.conftest import NAMES, spec

SLOW = ("berxit", "nestedrnn", "seq2seq", "beam", "ragged", "crf", "lattice", "drnn", "stackrnn")
"""Workloads of which the tests run only a few instances at the larger sizes."""


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def outputs(workload: ModelSpec, size: str, instances: list[Any], seed: int = 0) -> list[Any]:
    model = loaded(workload, size, seed)
    with torch.inference_mode():
        return [arrays(model(instance)) for instance in instances]


def test_what_there_is() -> None:
    paper = {"berxit", "birnn", "drnn", "mvrnn", "nestedrnn", "stackrnn", "treelstm"}
    others = {"simtree", "treegru", "treernn", "treefc", "dagrnn", "lattice", "seq2seq", "beam", "ragged", "crf"}
    assert set(NAMES) >= paper | others


def test_sizes(workload: ModelSpec) -> None:
    assert workload.sizes == ("tiny", "small", "large")
    with pytest.raises(ValueError, match="no size 'huge'; sizes are tiny, small, large"):
        workload.model("huge")


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_float32_is_close_to_float64(workload: ModelSpec, size: str) -> None:
    n = 20 if size == "tiny" else 3
    computed = outputs(workload, size, workload.instances(size, 3, n), seed=3)
    right = answers(workload, size, 3, workload.instances(size, 3, n))
    for output, (expected, scores, *_) in zip(computed, right, strict=True):
        pairs = list(zip(leaves(output), leaves(expected), strict=True))
        if scores is None:
            for a, b in pairs:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)
        else:
            for (a, _), row in zip(pairs, leaves(scores), strict=True):
                assert row[a] >= row.max() - 1e-5


def test_everything_follows_from_the_seed(workload: ModelSpec) -> None:
    assert fingerprint(workload.instances("tiny", 5, 9)) == fingerprint(workload.instances("tiny", 5, 9))
    assert fingerprint(workload.instances("tiny", 5, 9)) != fingerprint(workload.instances("tiny", 6, 9))
    assert fingerprint(workload.params("tiny", 5)) == fingerprint(workload.params("tiny", 5))
    assert fingerprint(workload.params("tiny", 5)) != fingerprint(workload.params("tiny", 6))


def test_more_instances_begin_with_the_same(workload: ModelSpec) -> None:
    assert fingerprint(workload.instances("tiny", 5, 30)[:7]) == fingerprint(workload.instances("tiny", 5, 7))
    assert workload.instances("tiny", 5, 0) == []


def test_params_are_the_models_own(workload: ModelSpec) -> None:
    for size in workload.sizes:
        wanted = workload.model(size).state_dict()
        params = workload.params(size, 0)
        assert {k: tuple(v.shape) for k, v in wanted.items()} == {k: v.shape for k, v in params.items()}
        assert {v.dtype for v in params.values()} == {np.dtype("float32")}


def test_order_does_not_matter(workload: ModelSpec) -> None:
    instances = workload.instances("tiny", 1, 12)
    order = list(range(12))
    random.Random(0).shuffle(order)
    straight = outputs(workload, "tiny", instances)
    shuffled = outputs(workload, "tiny", [instances[i] for i in order])
    alone = [outputs(workload, "tiny", [instance])[0] for instance in instances]
    assert fingerprint([straight[i] for i in order]) == fingerprint(shuffled)
    assert fingerprint(straight) == fingerprint(alone)


def test_instances_stay_as_they_were(workload: ModelSpec) -> None:
    instances = workload.instances("tiny", 1, 5)
    before = fingerprint(instances)
    outputs(workload, "tiny", instances)
    assert fingerprint(instances) == before


def test_cells_are_methods(workload: ModelSpec) -> None:
    model = workload.model("tiny")
    assert workload.cells
    assert all(callable(getattr(model, cell)) for cell in workload.cells)


class Watch(TorchDispatchMode):
    """Records the results of tanh and sigmoid (scaled to [-1, 1]), and the largest absolute value that any operator gave."""

    def __init__(self) -> None:
        super().__init__()
        self.squashed: list[tuple[str, torch.Tensor]] = []
        self.largest = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            self.largest = max(self.largest, result.abs().max().item())
        if func in (torch.ops.aten.tanh.default, torch.ops.aten.sigmoid.default) and result.numel() > 2:
            self.squashed.append((str(func), result * 2 - 1 if func == torch.ops.aten.sigmoid.default else result))
        return result


@pytest.mark.parametrize("size", ["small", pytest.param("large", marks=pytest.mark.exhaustive)])
def test_values_are_healthy(workload: ModelSpec, size: str) -> None:
    """Nothing vanishes, blows up or saturates, however deep the instance, and different inputs give different outputs."""
    model: Any = loaded(workload, size, 0)
    instances = workload.instances(size, 0, 4 if workload.name in SLOW else 10)
    with torch.inference_mode(), Watch() as watch:
        computed = [arrays(model.scores(i) if hasattr(model, "scores") else model(i)) for i in instances]
    assert np.isfinite(watch.largest)
    assert watch.largest < (1000 if workload.name == "crf" else 100)  # it adds up scores along a sentence
    for name, values in watch.squashed:
        assert values.std() > 0.01, name
        assert (values.abs() > 0.995).float().mean() < (0.6 if workload.name == "nestedrnn" else 0.2), name
    for pick in (0, -1):
        ends = [np.atleast_2d(leaves(output)[pick])[pick] for output in computed]
        assert np.std(ends, axis=0).max() > 1e-3
        different = len(ends)
        if workload.name == "lattice" and pick == 0:  # the first output depends on the first character alone
            different = len({instance.characters[0] for instance in instances})
        assert len({end.tobytes() for end in ends}) == different > 1


def test_tensors_of_deep_trees_stay_alive() -> None:
    """The treebank's deepest tree has 30 levels."""
    for name in ("treelstm", "mvrnn", "treegru", "treernn"):
        model: Any = loaded(spec(name), "small", 0)
        module = importlib.import_module(f"workloads.{name}.model")
        tree = module.Leaf(7)
        for word in range(29):
            pair = [module.Leaf(word), tree]
            made = {"treelstm": (pair,), "treernn": (word, *pair)}.get(name, pair)
            tree = module.Node(*made)
        with torch.inference_mode():
            state = model.encode(tree)
            for tensor in state if isinstance(state, tuple) else (state,):
                assert 0.02 < tensor.square().mean().sqrt() < 5


@pytest.mark.parametrize("name", ["seq2seq", "beam"])
def test_sentences_end_at_different_lengths(name: str) -> None:
    workload = spec(name)
    lengths = [len(words) for words in outputs(workload, "tiny", workload.instances("tiny", 0, 40))]
    longest = workload.shapes["tiny"]["longest"]
    assert len(set(lengths)) >= 5
    assert max(lengths) == longest
    assert lengths.count(longest) < 0.8 * len(lengths)


def test_no_tie_decides_a_word() -> None:
    """A word that is chosen is better than the next best by much more than float32 is off, so every system chooses it."""
    workload = spec("seq2seq")
    exact: Any = loaded(workload, "tiny", 0, torch.float64)
    usual: Any = loaded(workload, "tiny", 0)
    with torch.inference_mode():
        for sentence in workload.instances("tiny", 0, 40):
            rows = torch.stack(exact.scores(sentence))
            best = rows.topk(2, dim=1).values
            off = (torch.stack(usual.scores(sentence)) - rows).abs().max()
            assert (best[:, 0] - best[:, 1]).min() > 10 * off
