"""A model as a user writes it who has read LANGUAGE.md only: a file of its own, with tree classes and helper functions."""

from __future__ import annotations

import copy
import linecache
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import numpy as np
import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_language import exact, same
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.python_source import load_source

ROOT = Path(__file__).resolve().parents[4]

TREE_GRU = '''
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Tree:
    token: int
    children: "list[Tree]"


class Gates(nn.Module):
    """The parts of a GRU that see the input."""

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.x = nn.Linear(inputs, 3 * hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        r, z, n = self.x(x).chunk(3, dim=-1)
        return r, z, n


class TreeGRU(nn.Module):
    """Child-sum GRU over trees of any arity; a node without children starts from zero."""

    def __init__(self, vocabulary: int = 30, hidden: int = 6):
        super().__init__()
        self.hidden = hidden
        self.words = nn.Embedding(vocabulary, hidden)
        self.gates = Gates(hidden, hidden)
        self.reset = nn.Linear(hidden, hidden, bias=False)
        self.update = nn.Linear(hidden, hidden, bias=False)
        self.candidate = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 3))

    def forward(self, tree: Tree) -> Tensor:
        return torch.softmax(self.out(self.node(tree)), dim=-1)

    def node(self, tree: Tree) -> Tensor:
        states = [self.node(child) for child in tree.children]
        total = sum(states, torch.zeros(self.hidden))
        r, z, n = self.gates(self.words(torch.tensor(tree.token)))
        kept = [torch.sigmoid(r + self.reset(h)) * h for h in states]
        candidate = torch.tanh(n + self.candidate(sum(kept, torch.zeros(self.hidden))))
        update = torch.sigmoid(z + self.update(total))
        return mix(update, total, candidate)


def mix(gate: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return gate * a + (1 - gate) * b
'''


def load(path: Path, text: str, name: str = "someones_model") -> ModuleType:
    return load_source(text, path, name)


def with_forward(tmp_path: Path, head: str, body: str, name: str) -> torch.nn.Module:
    """The model of a source that ends, behind `head`, in a `forward(self, xs)` with this body."""
    model: torch.nn.Module = load(tmp_path, head + "    def forward(self, xs):" + body, name).Model().eval()
    return model


def test_child_sum_tree_gru(tmp_path: Path) -> None:
    m = load(tmp_path, TREE_GRU)
    torch.manual_seed(0)
    module = m.TreeGRU().eval()
    program = build(module)
    verify(program)
    leaf = m.Tree(1, [])
    wide = m.Tree(2, [leaf, m.Tree(3, []), m.Tree(4, [leaf]), leaf, leaf])
    deep = leaf
    for i in range(40):
        deep = m.Tree(i % 30, [deep, leaf] if i % 3 else [deep])
    with torch.no_grad():
        for tree in (leaf, wide, m.Tree(0, [wide, deep, wide])):
            want = module(tree).double()
            got = Interpreter(program, exact(module)).run(tree)
            np.testing.assert_allclose(got, want.numpy(), atol=1e-6)


def test_no_source() -> None:
    namespace: dict[str, object] = {"__name__": "typed_in"}
    text = "from torch import nn, Tensor\nclass M(nn.Module):\n    def forward(self, n: int) -> int:\n        return n\n"
    exec(compile(text, "<stdin>", "exec"), namespace)
    sys.modules["typed_in"] = ModuleType("typed_in")
    with pytest.raises(CompileError) as error:
        build(namespace["M"]())  # type: ignore[operator]
    assert "<stdin>:3:1: the source of `M.forward` was not kept by Python" in str(error.value)
    assert "define the model in a file and import it: code from standard input or `exec`" in str(error.value)


CELLS = (
    """
import torch
from dataclasses import dataclass
from torch import Tensor, nn
@dataclass
class Leaf:
    value: int
@dataclass
class Node:
    left: "Tree"
    right: "Tree"
Tree = Leaf | Node
""",
    """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)
    def forward(self, tree: Tree) -> Tensor:
        if isinstance(tree, Leaf):
            return self.table.weight[tree.value]
        return torch.tanh(self.forward(tree.left) + self.forward(tree.right))
""",
    """
class Model(Model):
    def forward(self, tree: Tree) -> Tensor:
        if isinstance(tree, Leaf):
            return self.table.weight[tree.value]
        return self.forward(tree.left) * self.forward(tree.right)
""",
)


def test_a_model_of_a_notebook() -> None:
    """Cells have no file; `linecache` has their text, under IPython's names. A later cell may define the model anew."""
    module = sys.modules["notebook"] = ModuleType("notebook")
    for i, text in enumerate(CELLS):
        name = f"/nowhere/ipykernel_1/{i}.py" if i != 1 else f"<ipython-input-{i}-abc>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), module.__dict__)
        if i == 0:
            continue
        model = module.Model()
        tree = module.Node(module.Leaf(1), module.Node(module.Leaf(2), module.Leaf(3)))
        with torch.no_grad():
            np.testing.assert_allclose(Interpreter(build(model), exact(model)).run(tree), model(tree).numpy(), atol=1e-6)
    linecache.cache.pop("/nowhere/ipykernel_1/2.py")
    with pytest.raises(CompileError, match=r"the source of `Model\.forward` cannot be read"):
        build(module.Model())


MAIN = """
import torch
from torch import nn
from backends.acrobat.frontend import build
from backends.acrobat.ir.verifier import verify

class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

class Model(nn.Module):
    def forward(self, pair):
        return pair.a + pair.b

if __name__ == "__main__":
    verify(build(Model(), sample=[Pair(1, 2)]))
"""


def test_a_model_of_the_main_program(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN)
    for command, given in ((["main.py"], None), (["-"], MAIN)):
        ran = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            input=given,
            capture_output=True,
            text=True,
        )
        if given is None:
            assert (ran.returncode, ran.stderr) == (0, "")
        else:
            assert "<stdin>:12:1: the source of `Model.forward` was not kept by Python" in ran.stderr


def test_two_modules_with_classes_of_one_name(tmp_path: Path) -> None:
    """Unions are told apart by their classes, not by their names."""
    tree = "@dataclass(frozen=True)\nclass Tree:\n    value: int\n"
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom torch import nn\n"
    load(tmp_path, head + tree, "other_trees")
    text = f"""{head}import other_trees
{tree}
class M(nn.Module):
    def forward(self, tree: Tree) -> tuple[Tree, other_trees.Tree]:
        return Tree(tree.value + 1), other_trees.Tree(tree.value)
"""
    m = load(tmp_path, text, "own_trees")
    program = build(m.M())
    verify(program)
    assert len(program.datatypes) == 2
    same(Interpreter(program).run(m.Tree(3)), (m.Tree(4), sys.modules["other_trees"].Tree(3)))


def test_a_union_named_away_from_its_classes(tmp_path: Path) -> None:
    """The classes of a union may also be used alone in annotations."""
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom torch import nn\n"
    classes = "@dataclass(frozen=True)\nclass A:\n    n: int\n@dataclass(frozen=True)\nclass B:\n    n: int\n    rest: A\n"
    load(tmp_path, head + classes, "parts")
    text = f"""{head}from parts import A, B
Either = A | B
class M(nn.Module):
    def forward(self, x: B) -> int:
        match x:
            case B(rest=rest):
                return self.value(rest) + self.value(x) + self.of_a(rest) + x.n
        return -1
    def value(self, x: Either) -> int:
        match x:
            case A(n) | B(n):
                return n
    def of_a(self, x: A) -> int:
        match x:
            case A(n):
                return n * 100
            case _:
                return 0
"""
    m = load(tmp_path, text, "whole")
    program = build(m.M())
    verify(program)
    assert list(program.datatypes) == ["Either"]
    assert Interpreter(program).run(m.B(3, m.A(4))) == 410


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (
            "@dataclass(frozen=True)\nclass Tree:\n    n: int\n    def __post_init__(self): pass\n",
            "`Tree` computes fields when it is made: give a sample",
        ),
        ("class Tree:\n    n: int\n", "`Tree` is not a type of the language"),
        ("@dataclass(frozen=True)\nclass Tree:\n    n: Missing\n", "the annotations of `Tree` cannot be evaluated"),
    ],
)
def test_classes_outside_the_language(tmp_path: Path, classes: str, message: str) -> None:
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom torch import nn\n"
    model = "class M(nn.Module):\n    def forward(self, t: Tree) -> int:\n        return 1\n"
    with pytest.raises(CompileError) as error:
        build(load(tmp_path, head + classes + model, "odd").M())
    assert message in str(error.value)


def test_subclasses_are_no_union(tmp_path: Path) -> None:
    text = """from __future__ import annotations
from dataclasses import dataclass
from torch import nn
@dataclass(frozen=True)
class Tree:
    pass
@dataclass(frozen=True)
class Leaf(Tree):
    n: int
class M(nn.Module):
    def forward(self, t: Tree) -> int:
        match t:
            case Leaf(n):
                return n
            case _:
                return 0
"""
    with pytest.raises(CompileError) as error:
        build(load(tmp_path, text, "subclassed").M())
    assert "Leaf is not one of Tree" in str(error.value)
    assert "name their union, `Tree = A | B`, and annotate with that in place of `Tree`" in str(error.value)


def test_the_instance_type_may_be_given(tmp_path: Path) -> None:
    text = """from torch import Tensor, nn
class M(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sum(0)
"""
    module = load(tmp_path, text, "unshaped").M()
    with pytest.raises(CompileError, match=r"the shape of the tensor that `[a-z]*` is, or holds, is not known"):
        build(module)
    program = build(module, Annotated[torch.Tensor, 3, 2])
    verify(program)
    same(Interpreter(program).run(torch.ones(3, 2)), torch.tensor([3.0, 3.0], dtype=torch.float64))


def test_values_are_the_parameters_in_float32(tmp_path: Path) -> None:
    m = load(tmp_path, TREE_GRU)
    module = m.TreeGRU().double()
    program = build(copy.deepcopy(module).float())
    assert set(program.values) == set(program.weights) == {name for name, _ in module.named_parameters()}
    for name, p in module.named_parameters():
        assert program.values[name].dtype == np.float32
        np.testing.assert_array_equal(program.values[name], p.detach().float().numpy())
