"""Trees of modules that are walked by decisions of run time, in loops and by an agenda. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

VECTORS = [torch.tensor(v) for v in ([1.0, -1.0, 0.5], [-0.3, 0.2, 0.1], [0.0, 0.0, 2.0], [-1.0, -2.0, -3.0], [2.0, 1.0, -1.0])]


class Gate(nn.Module):
    """A node of a tree of which all nodes are of one class."""

    def __init__(self, depth, path=""):
        super().__init__()
        self.path = path
        self.gate = nn.Linear(3, 1)
        self.bias = nn.Parameter(torch.randn(3))
        self.left = Gate(depth - 1, path + "0") if depth else None
        self.right = Gate(depth - 1, path + "1") if depth else None

    @property
    def leaf(self):
        return self.left is None

    def goes_right(self, x):
        return self.gate(x + self.bias).item() > 0

    def forward(self, x):
        return torch.tanh(x + self.bias) * self.gate(x)


class Inner(nn.Module):
    """A node of a tree with leaves of another class."""

    def __init__(self, depth, path="r"):
        super().__init__()
        self.path = path
        self.score = nn.Linear(3, 1)
        self.change = nn.Linear(3, 3) if depth % 2 else nn.Identity()
        make = Inner if depth > 1 else Leaf
        self.below = nn.ModuleList([make(depth - 1, f"{path}{i}") for i in range(3 if depth == 2 else 2)])

    def is_leaf(self):
        return False


class Leaf(nn.Module):
    def __init__(self, depth, path):
        super().__init__()
        self.path = path
        self.own = nn.Parameter(torch.randn(3))
        self.score = nn.Linear(3, 1)

    def is_leaf(self):
        return True

    def forward(self, x):
        return x * self.own


class Base(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        torch.manual_seed(0)
        self.root = Gate(depth)
        self.top = Inner(3)


class InALoop(Base):
    def forward(self, x):
        node, paths = self.root, []
        while node.left is not None:
            node = node.right if node.goes_right(x) else node.left
            paths.append(node.path)
            x = torch.tanh(x)
        return node(x), node.path, paths


class ByProperty(Base):
    def forward(self, x):
        node, total = self.root, torch.zeros(3)
        while not node.leaf:
            if node.goes_right(total):
                node = node.right
            else:
                total, node = total + node(x), node.left
        return total, node.bias


class ByAnAgenda(Base):
    def forward(self, x):
        agenda, leaves = [(self.root, x, torch.tensor(1.0))], []
        while agenda:
            node, h, p = agenda.pop()
            if node.leaf:
                leaves.append((node.path, p, node(h)))
                continue
            right = torch.sigmoid(node.gate(h)).squeeze(-1)
            if right.item() > 0.4:
                agenda.append((node.right, torch.tanh(h), p * right))
            if right.item() < 0.6:
                agenda.append((node.left, h, p * (1 - right)))
        return torch.logsumexp(torch.stack([p.log() + out for _, p, out in leaves]), dim=0), [path for path, _, _ in leaves]


class OfTwoClasses(Base):
    def forward(self, x):
        node, paths = self.top, []
        while not node.is_leaf():
            x = torch.tanh(node.change(x)) if isinstance(node.change, nn.Linear) else x
            scores = torch.cat([child.score(x) for child in node.below])
            node = node.below[int(scores.argmax())]
            paths.append((node.path, len(node.below) if isinstance(node, Inner) else 0))
        return node(x), paths


MODELS = [InALoop, ByProperty, ByAnAgenda, OfTwoClasses]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model):
    agrees(model(), VECTORS)


def test_natively(tmp_path: Path):
    agrees_natively(OfTwoClasses().eval(), VECTORS, "aot", tmp_path)


def test_changes_are_noticed(tmp_path: Path):
    model = InALoop().eval()
    executable = compile(model, sample=VECTORS, cache_folder=tmp_path)
    executable(VECTORS)
    model.root.left.right.path = "other"
    with pytest.raises(ModuleChanged, match="path"):
        executable(VECTORS)


class CallsInner(Base):
    def forward(self, x):
        node = self.top
        for _ in range(int(x[0].item())):
            node = node.below[0]
        return node(x)


def test_a_call_of_a_module_without_forward_is_an_error_of_the_instance():
    interpreter = Interpreter(build(CallsInner().eval(), sample=VECTORS))
    interpreter.run(torch.tensor([3.0, 0, 0]))
    with pytest.raises(InstanceError, match="NotImplementedError: a Inner has no `forward`"):
        interpreter.run(torch.tensor([2.0, 0, 0]))


class GivenBack(Base):
    def forward(self, x):
        node = self.root
        while node.left is not None:
            node = node.right if node.goes_right(x) else node.left
        return node


def test_refused():
    with pytest.raises(CompileError, match="made outside of `forward`"):
        build(GivenBack().eval(), sample=VECTORS)
