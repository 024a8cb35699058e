"""Tensors that are changed in place: under all their names, as in eager PyTorch, or refused where not all names are known."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify

HEAD = """from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated
import torch
import torch.nn.functional as F
from torch import Tensor, nn
@dataclass(frozen=True)
class In:
    x: Annotated[Tensor, 4]
    n: int
@dataclass(frozen=True)
class Box:
    x: Tensor
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.r = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU(inplace=True)
    def forward(self, x: Tensor) -> Tensor:
        return x + self.b(self.r(self.a(x)))
class CompiledNode(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.given = nn.Linear(4, 4), nn.Linear(4, 4), CompiledNode(4, 4)
        self.cell = nn.LSTMCell(4, 4)
        self.r = nn.ReLU(inplace=True)
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Dropout(inplace=True), nn.Linear(4, 4))
        self.first = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))
        self.block = Residual()
        self.register_buffer("table", torch.randn(3, 4))
    def same(self, t: Tensor) -> Tensor:
        return t
    def zeros(self, t: Tensor) -> Tensor:
        return t
    def forward(self, s: In) -> Tensor:
"""

RIGHT = [
    "return self.seq(s.x)",
    "return self.block(s.x) + self.block(s.x)",
    "y = self.a(s.x)\nz = self.r(y)\nreturn z + 10 * y",
    "y = self.a(s.x)\nz = y\nself.r(y)\nreturn z - 3 * y",
    "y = self.a(s.x)\nreturn y + self.r(y)",
    "y = self.a(s.x)\nreturn (y * 2) + self.r(y) + y",
    "y = self.a(s.x)\npair = (y, self.b(s.x))\nself.r(y)\nreturn pair[0] + 2 * pair[1]",
    "y = self.a(s.x)\nz = y.clone()\nself.r(z)\nreturn y + 10 * z",
    "y = self.a(s.x)\nz = y.clone()\nself.r(y)\nreturn y + 10 * z",
    "y = self.a(s.x)\nz = y.detach()\nself.r(z)\nreturn y + 10 * z",
    "y = self.a(s.x)\nF.relu(y, inplace=True)\nreturn y",
    "y = self.a(s.x)\nz = F.relu(y, inplace=False)\nreturn y + 10 * z",
    "y = self.a(s.x)\ny.relu_()\ny.mul_(2.0).add_(s.x)\nreturn y",
    "y = self.a(s.x)\nz = y.tanh_()\nw = torch.sigmoid_(z)\nreturn y + 10 * z + 100 * w",
    "y = self.a(s.x)\nbefore = y.sum().item()\nself.r(y)\nreturn y * before",
    "y = self.first(self.a(s.x))\nreturn y",
    "y = self.a(s.x)\nz = self.first(y)\nreturn z + y",
    "h = torch.zeros(4)\nfor _ in range(s.n):\n    h = self.a(h + s.x)\n    g = h\n    self.r(h)\n    h = h + g\nreturn h",
    "y = self.a(s.x)\nif s.n > 1:\n    z = self.b(y)\n    w = self.r(z)\n    return z + w + y\nreturn y",
    "ys = [self.r(self.a(s.x * i)) for i in range(s.n)]\nreturn sum(ys, torch.zeros(4))",
    "y = self.a(s.x)\nreturn self.r(y)",
    "y = torch.zeros(4)\ny[0] += 1\ny[1] = y[0] + 2\ny[2] = y[1]\ny += s.x[:2].sum() - s.x[0]\nreturn y",
    "y = torch.zeros(2, 4)\ny[0] = s.x\ny[1] = y[0]\nz = torch.cat([y[0], y[1]])\ny += 1\nreturn y.sum(0) + z[2:6]",
    "y = torch.zeros(4)\nz = y[[0, 1, 2, 3]]\nw = -y[1:]\ny += s.x\nreturn y + z + w.sum()",
    "y = torch.zeros(4)\nz = y.detach()\ny += s.x\nreturn z",
    "y = torch.zeros(4)\nz = torch.as_tensor(y)\ny += s.x\nreturn z",
    "y = torch.zeros(4)\nz = F.relu(y, inplace=True)\ny += s.x\nreturn z",
    "y = torch.zeros(4)\nz = y.sub_(1.0)\ny += s.x\nreturn z",
    "ys = [torch.zeros(4)]\nys[0] = ys[0] + s.x\nreturn ys[0]",
    "w, at = torch.topk(F.softmax(self.a(s.x), dim=-1), 2)\nw /= w.sum(-1, keepdim=True)\nreturn w",
    "y = torch.matmul(self.table, s.x)\nif s.n > 1:\n    b = torch.ones(3)\nelse:\n    b = torch.zeros(3)\ny += b\nreturn y",
    "y = self.a(s.x)\nif s.n > 1:\n    y *= 2\ny -= 1\nreturn y",
    # views of what was made new
    "y = self.a(s.x[None]).view(-1)\nfor i in range(3):\n    if i < s.n:\n        y[i] = -1.0\nreturn y",
    "y = self.seq(s.x[None])[0]\ny[1] -= 3.0\nreturn y",
    "y = self.block(s.x[None]).squeeze(0)\ny[1] = 2.0\ny *= 2\nreturn y",
    "y = self.cell(s.x[None])[0].view(-1)\ny[s.n] = 1.0\nreturn y",
    "y = torch.flatten((s.x * 2).view(2, 2).T)\ny[1:] = s.x[0]\nreturn y",
    "y = torch.topk(self.a(s.x), 4)[0][1:]\ny[0] = 1.0\nreturn y",
    "y = self.a(s.x)\ny = y.view(2, 2)\ny[0, 1] = 1.0\nreturn y.view(-1)",
    "y = self.a(s.x)\nz = y.view(2, 2)\nz[0, 1] = 1.0\nreturn z.view(-1)",
    "y = self.a(s.x)\nself.r(y[:2])\nF.relu_(y[3:])\nreturn y",
    "y = torch.zeros(4)\nz = y[:2]\nz += 1\nreturn y",
    # under their only name
    "y = (s.x * 2).view(1, 4)\nif self.a.in_features == 4:\n    y.fill_(0.25)\nreturn y.view(-1)",
    "y = self.a(s.x) if s.n else self.b(s.x)\nif self.a.in_features == 4:\n    y.relu_()\nreturn y",
    "y = self.a(s.x)\nfor r in [self.r, self.r]:\n    y = r(y)\nreturn y",
    "y = self.a(s.x)\nfor i in range(3):\n    z = y\n    self.r(z)\n    y += s.x\nreturn y",
    "y = self.a(s.x)\nz = y.repeat(1)\nself.r(y)\nreturn z",
    "t = (self.a(s.x),)\ny = t[0].repeat(1)\ny.relu_()\nreturn t[0] + y * 10",
    "y = self.a(s.x)\nz = y.clamp_(max=0.2)\nz += 1\nreturn y + 10 * z",
    "y = self.a(s.x) if s.n else self.b(s.x)\nz = self.r(y)\nz += 1\nreturn y + 10 * z",
    "y = s.x\nif s.n:\n    y = self.a(y)\nelse:\n    y = self.b(y)\nself.r(y)\nreturn y",
    "y = self.block(s.x)\nself.r(y)\nreturn y",
    "y = self.a(s.x)\nz = self.b(y)\nb = y.sum()\nself.r(y)\nreturn y + z + b",
]


@pytest.mark.parametrize("body", RIGHT)
def test_as_in_eager_pytorch(tmp_path: Path, body: str) -> None:
    module = load(tmp_path, HEAD + indent(body, "        ") + "\n")
    torch.manual_seed(3)
    model = module.M().eval()
    program = build(model)
    verify(program)
    interpreter = Interpreter(program)
    for n in (0, 1, 3):
        x = torch.randn(4)
        with torch.no_grad():
            want = model(module.In(x.clone(), n))
        got = interpreter.run(module.In(x, n))
        torch.testing.assert_close(torch.from_numpy(got).float(), want, rtol=1e-4, atol=1e-5)


REFUSED = [
    "return self.r(s.x)",  # a tensor of the instance
    "return self.first(s.x)",
    "return s.x.relu_()",
    "return self.r(self.table[s.n]) + self.table[0]",  # a tensor of the model
    "return self.a.bias.add_(1.0)",
    "y = self.a(s.x)\nz = y[:2]\nself.r(y)\nreturn torch.cat((z, z))",  # a view
    "y = self.a(s.x)\nz = y.view(2, 2)\nself.r(z)\nreturn y",
    "y = self.a(s.x)\nz = y.contiguous()\nself.r(z)\nreturn y",
    "y = self.a(s.x)\nys = [y]\nself.r(y)\nreturn ys[s.n - s.n]",  # part of another value
    "y = self.a(s.x)\nb = Box(y)\nself.r(y)\nreturn b.x",
    "y = self.a(s.x)\nz = self.same(y)\nself.r(y)\nreturn z",  # the function may return its argument
    "return self.r(self.same(s.x))",
    "y = self.a(s.x)\nif s.n > 1:\n    self.r(y)\nreturn y",  # on some paths only
    "y = self.a(s.x)\nz = self.b(y) if s.n > 1 else y\nself.r(y)\nreturn z",
    "y = self.a(s.x) if s.n else s.x\nself.r(y)\nreturn y",
    "y = self.a(s.x) if s.n else self.b(s.x)\nreturn y[0] + self.r(y)",  # in eager PyTorch the first operand changes too
    "y = self.a(s.x) if s.n else self.b(s.x)\nt = (y, 1)\nself.r(y)\nreturn t[0]",
    "y = s.x\nfor _ in range(s.n):\n    y = self.a(y)\nself.r(y)\nreturn y + s.x",
    "y = self.a(s.x)\nfor _ in range(s.n):\n    self.r(y)\nreturn y",
    "h = s.x\nfor _ in range(s.n):\n    h = self.r(h)\nreturn h",
    "y = self.a(s.x)\nzs = [self.r(y) for _ in range(s.n)]\nreturn y",
]


@pytest.mark.parametrize("body", REFUSED)
def test_refused_at_its_line(tmp_path: Path, body: str) -> None:
    text = HEAD + indent(body, "        ") + "\n"
    with pytest.raises(CompileError) as error:
        build(load(tmp_path, text).M().eval())
    assert "this changes a tensor in place that may be seen elsewhere" in str(error.value)
    assert "leave `inplace=True`" in str(error.value)
    assert error.value.problems[0].span.line > len(HEAD.splitlines())


OTHERS = [nn.SiLU(True), nn.LeakyReLU(0.2, inplace=True), nn.ELU(inplace=True), nn.Hardtanh(-0.3, 0.3, inplace=True)]


@pytest.mark.parametrize("activation", OTHERS, ids=lambda x: type(x).__name__)
def test_other_activations_change_their_operand_too(tmp_path: Path, activation: nn.Module) -> None:
    """In place of the ReLU, as a module and as a function: what eager PyTorch gives, and the same refusals."""
    written = {
        nn.SiLU: "F.silu(y, True)",
        nn.LeakyReLU: "F.leaky_relu(y, 0.2, inplace=True)",
        nn.ELU: "F.elu(y, inplace=True)",
        nn.Hardtanh: "F.hardtanh(y, -0.3, 0.3, True)",
    }[type(activation)]
    for k, call in enumerate(["self.r(y)", written]):
        body = f"y = self.a(s.x)\nz = {call}\nw = F.dropout(y, 0.5, False, True)\nreturn y + 10 * z + 100 * w"
        (own := tmp_path / f"own{k}").mkdir()
        (other := tmp_path / f"other{k}").mkdir()
        module = load(own, HEAD + indent(body, "        ") + "\n")
        model, x = module.M().eval(), torch.randn(4)
        model.r = activation
        with torch.no_grad():
            want = model(module.In(x.clone(), 1))
        got = Interpreter(build(model)).run(module.In(x, 1))
        torch.testing.assert_close(torch.from_numpy(got).float(), want, rtol=1e-4, atol=1e-5)
        refused = load(other, HEAD + indent(f"y = s.x\nreturn {call}", "        ") + "\n").M().eval()
        refused.r = activation
        with pytest.raises(CompileError, match="this changes a tensor in place that may be seen elsewhere"):
            build(refused)


VIEWS = {  # of `y = torch.zeros(2, 4)`, as `z`
    "slice": "z = y[:1]",
    "row": "z = y[0]",
    "row at run time": "z = y[s.n - s.n]",
    "new dimension": "z = y[None]",
    "transpose": "z = y.T",
    "part of a transpose": "z = y.mT[0]",
    "in a tuple": "z = (y[0], y[1])[0]",
    "in a list": "z = [y[0], y[1]][0]",
    "chosen": "z = y[0] if s.n else y[1]",
    "comprehension": "z = [row for row in y][0]",
    "loop": "z = s.x\nfor row in y:\n    z = row",
    "branches": "if s.n:\n    z = y[0]\nelse:\n    z = y[1]",
    "given to a function": "z = self.same(y[0])",
    "method of a part": "z = y[0].view(2, 2)",
    "ravel": "z = y.ravel()",
    "moveaxis": "z = y.moveaxis(0, 1)",
    "swapdims": "z = y.swapdims(0, 1)",
    "diagonal": "z = y.diagonal()",
    "cpu": "z = y.cpu()",
    "dropout": "z = F.dropout(y, 0.5, self.training)",
    "einsum": "z = torch.einsum('ij->ji', y)",
}
UNSAFE = {
    **{name: f"y = torch.zeros(2, 4)\n{line}\ny += 1\nreturn z" for name, line in VIEWS.items()},
    "item": "y = torch.zeros(2, 4)\nz = y[0]\ny[0, 1] = 1.0\nreturn z",
    "slice of the instance": "y = s.x[:2]\ny += 1\nreturn s.x",
    "slice is changed": "y = self.a(s.x)\nz = y[:2]\nz += 1\nreturn y",
    "function named as one of torch": "y = self.zeros(s.x)\ny += 1\nreturn s.x",
    "in a list of the instance's": "ys = [s.x]\nys[0] += 1\nreturn s.x",
    "in a list": "y = torch.zeros(4)\nys = [y]\nys[0] += 1\nreturn y",
    "in a dictionary": "d = {1: torch.zeros(4)}\ny = d[1]\nd[1] += 1\nreturn y",
    "slice of a product": "y = torch.matmul(self.table, self.a.weight)\nz = y[:1]\ny += 1\nreturn z",
    "row of the largest": "y, at = torch.topk(self.table, 2)\nz = y[0]\ny += 1\nreturn z",
    "expanded": "y = self.a(s.x)\nz = y.expand(2, 4)\ny[0] = 1.0\nreturn z.sum(0)",  # a view in eager PyTorch only
    "what is expanded is changed": "y = self.a(s.x)\nz = y.expand(2, 4)\nz += 1.0\nreturn y",
    "view beside its tensor": "y = self.a(s.x)\nz = y.view(2, 2)\nz[0, 1] = 1.0\nreturn y",
    "view in each round": "y = self.a(s.x)\nfor i in range(s.n):\n    z = y.view(-1)\n    z[0] = 1.0\nreturn y",
    "view of one element in several places": "y = torch.zeros(1).expand(4)\ny[0] = 1.0\nreturn y",
    "view of an argument": "y = self.same(s.x).view(2, 2)\ny[0, 0] = 1.0\nreturn s.x",
    "view of what a module hands on": "y = self.given(s.x).view(-1)\ny[0] = 1.0\nreturn s.x",
    "what a module hands on": "y = self.given(s.x)\ny[0] = 1.0\nreturn s.x",
    "view of an element of a list": "ys = [s.x, self.a(s.x)]\ny = ys[0].view(-1)\ny[0] = 1.0\nreturn s.x",
    "given back by a function told so by position": "y = self.a(s.x)\nz = F.relu(y, True)\nz[0] += 1.0\nreturn y",
    "item in a list": "ys = [torch.zeros(4)]\ny = ys[0]\nys[0][1] = 1.0\nreturn y",
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_another_name_may_see_is_refused(tmp_path: Path, name: str) -> None:
    body = UNSAFE[name]
    with pytest.raises(CompileError, match=r"in place that may be seen|may be seen under another name") as error:
        build(load(tmp_path, HEAD + indent(body, "        ") + "\n").M().eval())
    assert len(error.value.problems) == 1


def test_a_change_of_shape(tmp_path: Path) -> None:
    body = "        y = self.a(s.x).sum()\n        y.add_(s.x)\n        return y\n"
    with pytest.raises(CompileError, match="a tensor that is changed in place keeps its shape"):
        build(load(tmp_path, HEAD + body).M().eval())


RECURSION = """from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated, TypeAlias
import torch
from torch import Tensor, nn
@dataclass
class Leaf:
    n: int
@dataclass
class Inner:
    below: Tree
    x: Annotated[Tensor, 2]
Tree: TypeAlias = Leaf | Inner
class Walk(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Embedding(5, 2)
    def forward(self, t: Tree):
        match t:
            case Leaf(n):
                return self.w.weight[n]
            case Inner(below, x):
                walked = self(below)
                v = torch.tanh(x)
                v.add_(walked)
                return v
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.walk = Walk()
    def forward(self, t: Tree):
        return self.walk.forward(t)
"""


def test_what_a_recursion_gives_is_added_in_place(tmp_path: Path) -> None:
    """The type of the recursion's result is not known yet when the change is compiled for the first time."""
    module = load(tmp_path, RECURSION, "in_place_recursion")
    model, tree = module.M(), module.Inner(module.Inner(module.Leaf(3), torch.ones(2)), torch.zeros(2))
    with torch.no_grad():
        torch.testing.assert_close(torch.as_tensor(Interpreter(build(model)).run(tree)).float(), model(tree))
