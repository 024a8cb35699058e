"""What a sample tells about instances: where annotations leave something open, and dictionaries beside one another."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees


@dataclass
class Graph:
    edges: list[tuple[int, int]]
    x: Tensor
    name: str = ""


class Annotated(nn.Module):
    """The annotation names the class, and that leaves the shape of `x` open."""

    def forward(self, g: Graph) -> Tensor:
        around = defaultdict(list)
        for a, b in g.edges:
            around[b].append(a)
        return torch.stack([sum((g.x[j] for j in around[i]), g.x[i]) for i in range(g.x.size(0))])


class Molecule(nn.Module):
    """Lists of dictionaries with different keys, side by side in one dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, molecule: Any) -> Any:
        atoms = [torch.ones(4) * float(a["charge"]) for a in molecule["atoms"]]
        for bond in molecule["bonds"]:
            atoms[bond["end"]] = atoms[bond["end"]] + self.linear(atoms[bond["begin"]])
        return torch.stack(atoms)


def graph(n: int) -> Graph:
    return Graph([(i // 2, i) for i in range(1, n)] * 2, torch.randn(n, 3), "unused")


def molecule(n: int) -> dict[str, Any]:
    bonds = [{"begin": i // 2, "end": i, "kind": "single"} for i in range(1, n)]
    return {"atoms": [{"charge": i % 3, "symbol": "C"} for i in range(n)], "bonds": bonds}


def test_an_annotation_that_leaves_a_shape_open_is_completed_by_the_sample() -> None:
    agrees(Annotated(), [graph(n) for n in (1, 3, 5)])


class WronglyAnnotated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.embed = nn.Linear(4, 4), nn.Embedding(8, 4)

    def forward(self, example: dict[str, list[int]]) -> Tensor:
        threshold: float | None = example.get("threshold", 0.5)  # type: ignore[assignment]
        x = self.embed(torch.tensor(example["ids"])).sum(0)
        for _ in range(3):
            x = torch.tanh(self.layer(x))
            if threshold is not None and float(x[0]) < threshold:
                break
        return x


def test_an_annotation_that_the_sample_contradicts_does_not_count() -> None:
    agrees(
        WronglyAnnotated(),
        [{"ids": [1, 2]}, {"ids": [3], "threshold": None}, {"ids": [1, 7], "threshold": -0.25}, {"ids": [4]}],
    )


def test_dictionaries_with_different_keys_beside_one_another() -> None:
    agrees(Molecule(), [molecule(n) for n in (1, 2, 4)])


class Named(nn.Module):
    """Modules that are found by names, and dictionaries with the same keys always that are walked over."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = nn.ModuleDict({kind: nn.Linear(3, 3) for kind in ("next", "uses")})
        for i in range(3):
            self.add_module(f"layer{i}", nn.Linear(3, 3))

    def layer(self, i: Any) -> Any:
        return getattr(self, "layer{}".format(i))  # noqa: UP032

    def walked(self, s: Any) -> Any:
        found = [self.kinds[kind](s["x"][i]) for kind, places in s["edges"].items() for i in places]
        sums = {"uses": s["x"].sum(0), "next": s["x"].mean(0)}
        return found, [self.kinds[k](v) for k, v in sums.items()], len(s), "edges" in s, s.get("none", 1.0), sorted(s)

    def forward(self, s: Any) -> Any:
        h = s["x"]
        for i in range(3):
            h = torch.tanh(self.layer(i)(h))
        for kind, linear in self.kinds.items():
            h = h + linear(h) * len(kind)
        for kind in self.kinds:
            h = h + self.kinds[kind](h)
        h = h + torch.stack([getattr(self, f"layer{i}")(h) for i in range(3)]).sum(0)
        return self.walked(s), h


def test_modules_by_name_and_walks_over_dictionaries() -> None:
    def instance(n: int) -> dict[str, Any]:
        edges = {"uses": [i % n for i in range(n)], "next": list(range(n - 1))}
        return {"x": torch.randn(n, 3), "edges": edges if n % 2 else dict(reversed(edges.items()))}

    agrees(Named(), [instance(n) for n in (1, 2, 3)])


class Chosen(nn.Module):
    """Rows of a tensor that a plain list of ints names."""

    def forward(self, g: Any) -> Tensor:
        return torch.stack([g.x[[i, *[a for a, b in g.edges if b == i]]].sum(0) for i in range(len(g.x))])


def test_a_list_of_ints_chooses_rows() -> None:
    agrees(Chosen(), [graph(n) for n in (2, 3, 5)])


class Filled(nn.Module):
    """Elements and rows of a tensor that are assigned to, at places that are known at run time only; places of a mask."""

    def forward(self, g: Any) -> Any:
        x, n = g.x, len(g.x)
        adjacency = torch.zeros(n, n)
        for a, b in g.edges:
            adjacency[a, b] = 1.0
            adjacency[b][a] = 0.5
        positive = x[:, 0] > 0
        places = torch.where(positive)[0]
        same = (x.sum(1) > 0).nonzero(as_tuple=True)[0]
        rows = x * 2.0
        rows[places] = x[places] * 10.0
        some = x.clone()
        some[positive] = 7.0
        last = x * 1.0
        last[[-1]] = torch.ones(3)
        elements = x.clone()
        elements[x > 0.5] = -1.0
        fixed = x.sum(0).view(3, 1) + torch.zeros(3, 3)
        fixed[fixed[:, 0] > 0] = 5.0
        return adjacency, places, x[same].sum(0), rows, some, last, elements, fixed, (x[:, 1] > 0).nonzero()


def test_assignments_at_places_known_at_run_time() -> None:
    agrees(Filled(), [graph(n) for n in (1, 2, 4, 6)])


class Vectors(nn.Module):
    """Lists of floats that have one length in all instances become tensors of fixed shape; tuples are keys of a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.box, self.both = nn.Linear(4, 3), nn.Linear(6, 3)

    def forward(self, scene: Any) -> Any:
        boxes = [torch.relu(self.box(torch.tensor(o["box"]))) for o in scene]
        both = [self.both(torch.tensor([*o["box"], *o["speed"]])) for o in scene]
        weights = {}
        for i in range(len(scene)):
            weights[(i, i // 2)] = scene[i]["box"][0]
        return boxes, both, [weights[(i, i // 2)] * i for i in range(len(scene))], list(weights.keys())


def scene(n: int, length: int = 4) -> list[Any]:
    return [{"box": [float(i + j) for j in range(length)], "speed": [0.5, i / 3]} for i in range(n)]


def test_lists_of_floats_of_one_length_and_keys_that_are_tuples() -> None:
    agrees(Vectors(), [scene(n) for n in (1, 2, 4)])
    with pytest.raises(InstanceError):
        Interpreter(build(Vectors(), sample=[scene(2), scene(3)])).run(scene(2, 5))


class EdgeIndex(nn.Module):
    """Edges as a tensor of ints of shape (2, n), as PyTorch Geometric has them, and as a list of pairs."""

    def forward(self, g: Any) -> Any:
        source, target = g["edges"]
        h = torch.zeros_like(g["x"]).index_add(0, target, g["x"][source])
        degree = torch.zeros(g["x"].size(0)).index_add(0, target, torch.ones(target.size(0)))
        pairs = [g["x"][a] - g["x"][b] for a, b in g["edges"].t().tolist()]
        listed = torch.tensor(g["pairs"], dtype=torch.long).t()
        return h, degree, pairs, g["x"][listed[0]], g["edges"], g["x"][g["edges"][1]].sum(0)


def test_edges_as_a_tensor_of_ints() -> None:
    def instance(n: int) -> dict[str, Any]:
        pairs = [(i, (i * i) % n) for i in range(n)] + [(0, n - 1)]
        return {"x": torch.randn(n, 3), "edges": torch.tensor(pairs).t(), "pairs": pairs}

    agrees(EdgeIndex(), [instance(n) for n in (1, 2, 4)])


@pytest.mark.parametrize(
    ("array", "advice"),
    [
        (np.arange(3), r"int64: make tensors .* with `torch.from_numpy\(...\)`$"),
        (np.ones(3), r"float64: make tensors .* with `torch.from_numpy\(...\).float\(\)`$"),
        (np.arange(3, dtype=np.uint8), r"uint8: make tensors .* with `torch.from_numpy\(...\).long\(\)`$"),
        (np.array(["a"]), "give a list"),
    ],
)
def test_arrays_are_made_tensors_by_who_makes_the_instances(array: np.ndarray, advice: str) -> None:
    def forward(xs):
        return torch.from_numpy(xs[0])

    with pytest.raises(CompileError, match=r"instance 0\[0\] is a numpy array of ") as caught:
        build(module(forward), sample=[[array]])
    assert re.search(advice, str(caught.value), re.MULTILINE)


class LabelsOrNone(nn.Module):
    """Dictionaries of which some lack a name, and whose values are lists of different things by name: a union of records."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x: Any) -> Any:
        scores = self.linear(torch.tensor(x["rows"]))
        if "labels" not in x:
            return scores.sum()
        return scores.sum() + sum(scores[i, label] for i, label in enumerate(x["labels"]))


def test_names_that_are_lacking_and_lists_of_different_things() -> None:
    rows = [[0.5, 1.0, -1.0], [1.0, 0.0, 2.0]]
    agrees(LabelsOrNone(), [{"rows": rows[:1], "labels": [2]}, {"rows": rows, "labels": [0, 1]}, {"rows": rows}])


def test_lists_of_several_types_under_each_name_are_values_of_a_dictionary() -> None:
    def forward(d):
        return sum(len(xs) for xs in d.values()), "a" in d

    sample: list[Any] = [{"a": [1, "x"]}, {"b": ["y", 2], "a": []}, {"c": [3]}]
    program = build(module(forward), sample=sample)
    assert Interpreter(program).run({"of a name": [1], "not seen": ["z", 2]}) == (3, False)
