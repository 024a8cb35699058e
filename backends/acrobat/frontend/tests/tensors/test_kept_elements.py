"""Elements of tensors of ints that are kept while the tensor changes, which are views in PyTorch and numbers in the program:
they are refused, and what only computes with them, or takes a number of its own, is compiled. Against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import importlib.util
import sys

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 2, 3], [4], [6, 6, 0, 1]]


class Box:
    def __init__(self, v):
        self.v = v


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.lin = nn.Linear(4, 4)
        self.register_buffer("vec", torch.tensor([3, 1, 4, 1, 5]))

    def first(self, t):
        return t[0]

    def ends(self, t):
        return t[0], t[-1]

    def same(self, x):
        return x

    def highest(self, t):
        best = t[0]
        for v in t:
            if v > best:
                best = v
        return best

    def highest_number(self, t):
        best = 0
        for v in t.tolist():
            if v > best:
                best = v
        return best

    def in_a_list(self, t):
        ys = [t[0]]
        return ys[0]

    def in_turn(self, t):
        return self.first(t)

    def changed(self, t):
        t[0] = 5
        return t[1]

    def place(self, used, i):
        while used[i] > 0:
            i = i + 1
        return i

    def head(self):
        return self.t[0]

    def set_head(self):
        self.t[0] = 5

    def row(self, i):
        return self.lin(self.e.weight[i])


KEEPING = {  # of a tensor of ints `t`
    "by a function": "self.first(t)",
    "by a function in turn": "self.in_turn(t)",
    "by a search": "self.highest(t)",
    "by a list inside": "self.in_a_list(t)",
    "given on": "self.same(t[0])",
    "given on by name": "self.same(x=t[0])",
    "in a dictionary": '{"a": self.first(t)}',
    "the larger one": "max(t[0], t[-1])",
    "the least": "min(t)",
    "the least by a key": "max(t, key=lambda v: -v)",
    "reduced": "reduce(max, t)",
    "selected": "t.select(0, 0)",
    "torch.select": "torch.select(t, 0, 0)",
    "reshaped": "t[:1].view(())",
    "detached": "t[0].detach()",
    "of the same dtype": "t[0].long()",
    "joined to a list": "[1] + [t[0]]",
    "joined to a tuple": "(t[0],) + (1,)",
    "repeated": "[t[0]] * 2",
    "comprehension": "[t[i] for i in range(len(t))] + [1]",
    "lambda": "(lambda q: q[0])(t)",
}


@pytest.mark.parametrize("change", ["t[0] = 50", "t += 1", "t.add_(1)", "t[t > 0] = 9", "t.fill_(7)"])
@pytest.mark.parametrize("name", KEEPING)
def test_kept_while_the_tensor_changes(tmp_path, name, change):
    _refused(tmp_path, f"t = torch.tensor(xs)\ny = {KEEPING[name]}\n{change}\nreturn y")


def _model(tmp_path, body):
    lines = "\n    ".join(body.splitlines())
    head = "import heapq\nimport torch\nfrom functools import reduce\n"
    head += "from backends.acrobat.frontend.tests.tensors.test_kept_elements import Box\n"
    path = tmp_path / "kept_elements_model.py"
    path.write_text(f"{head}def forward(self, xs):\n    {lines}\n")
    spec = importlib.util.spec_from_file_location("kept_elements_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return with_forward(Model(), module.forward)


def _refused(tmp_path, body):
    with pytest.raises(CompileError, match=r"under (another name|other names)|in place of which"):
        build(_model(tmp_path, body), sample=LISTS)


OTHERS = {
    "nested function": "t = torch.tensor(xs)\ndef g():\n    return t[0]\ny = g()\nt[0] = 5\nreturn y",
    "default value": "t = torch.tensor(xs)\ndef g(y=t[0]):\n    return y\nt += 1\nreturn g()",
    "match": "t = torch.tensor(xs)\nmatch t[0]:\n    case y:\n        pass\nt += 1\nreturn y",
    "heap": "t = torch.tensor(xs)\nys = []\nheapq.heappush(ys, t[0])\nt += 1\nreturn ys[0]",
    "appended": "t = torch.tensor(xs)\nys = []\nys.append(self.first(t))\nt[0] = 5\nreturn ys",
    "each round": "t = torch.tensor(xs)\nys = []\nfor _ in xs:\n    t += 1\n    ys.append(self.first(t))\nreturn ys",
    "a list that grows": "t = torch.tensor(xs)\nys = [1]\nys = ys + [t[0]]\nt += 1\nreturn ys",
    "changed by the call": "t = torch.tensor(xs + xs)\ny = self.changed(t)\nt[1] = 50\nreturn y",
    "bools": "t = torch.zeros(len(xs), dtype=torch.bool)\ny = self.first(t)\nt[0] = True\nreturn y",
    "the larger bool": "t = torch.zeros(len(xs), dtype=torch.bool)\ny = max(t[0], t[-1])\nt[0] = True\nreturn y",
    "of a row": "t = torch.zeros(2, len(xs), dtype=torch.long)\ny = self.first(t[0])\nt[0, 0] = 5\nreturn y",
    "of a buffer": "t = self.vec.clone()\ny = t[:1].squeeze()\nt[0] = 5\nreturn y",
    "attribute": "self.t = torch.tensor(xs)\ny = self.head()\nself.t[0] = 5\nreturn y",
    "attribute in a method": "self.t = torch.tensor(xs)\ny = self.head()\nself.set_head()\nreturn y",
    "attribute of floats": "self.t = torch.zeros(len(xs))\ny = self.head()\nself.t += 3\nreturn y",
    "a second name": "t = torch.tensor(xs)\ny = t[0]\nz = self.same(y)\nt[0] = 9\nreturn z",
    "a second name by max": "t = torch.tensor(xs)\ny = t[0]\nz = max(y, -1)\nt[0] = 9\nreturn z",
    "operator": "t = torch.tensor(xs)\ny = self.first(t)\ny += 1\nreturn t",
    "operator on one of two": "t = torch.tensor(xs)\na, b = self.ends(t)\na += 1\nreturn t",
    "operator on a choice": "t = torch.tensor(xs)\ny = t[0] if len(xs) > 2 else t[-1]\ny += 1\nreturn t",
    "operator on the larger one": "t = torch.tensor(xs)\ny = max(t[0], t[-1])\ny += 1\nreturn t",
    "operator in a list": "t = torch.tensor(xs)\nys = [t[0]]\nys[0] += 1\nreturn t",
    "operator on a list's": "t = torch.tensor(xs)\nys = list(t)\ny = ys[0]\ny += 1\nreturn t",
    "operator in an object": "t = torch.tensor(xs)\nb = Box(t[0])\nb.v += 1\nreturn t",
    "operator in a dictionary": "t = torch.tensor(xs)\nd = {0: t[0]}\nd[0] += 1\nreturn t",
}


@pytest.mark.parametrize("name", OTHERS)
def test_refused(tmp_path, name):
    _refused(tmp_path, OTHERS[name])


RIGHT = {
    "item": "t = torch.tensor(xs)\nys = []\nfor i in range(len(t)):\n    ys.append(t[i].item())\n    t[i] = 7\nreturn ys, t",
    "int": "t = torch.tensor(xs)\nys = []\nfor i in range(len(t)):\n    ys.append(int(t[i]))\n    t[i] += 7\nreturn ys, t",
    "clone": "t = torch.tensor(xs)\nys = [t[0].clone()]\nt[0] = 5\nreturn int(ys[0]), t",
    "tolist": "t = torch.tensor(xs)\nys = t.tolist()\ny = ys[0]\nt[0] = 5\nreturn y, t",
    "number of a function": "t = torch.tensor(xs)\ny = self.highest_number(t)\nt[0] = 50\nreturn y, t",
    "int of a function": "t = torch.tensor(xs)\ny = int(self.first(t))\nt[0] = 5\nreturn y, t",
    "sum of a function": "t = torch.tensor(xs)\ny = self.first(t) + 1\nt[0] = 5\nreturn int(y), t",
    "read before": "t = torch.tensor(xs)\ny = self.first(t)\nz = y + 1\nt[0] = 5\nreturn int(z), t",
    "decision": "t = torch.tensor(xs)\nif self.first(t) > 3:\n    t[0] = 5\nreturn t",
    "index of a function": "t = torch.tensor(xs)\nz = self.e.weight[self.same(t[0])]\nt[0] = 0\nreturn z, t",
    "row of a function": "t = torch.tensor(xs)\ny = t[0]\nz = self.row(y)\nt[0] = 0\nreturn z, t",
    "place": "t = torch.zeros(20, dtype=torch.long)\nys = []\nfor x in xs:\n"
    "    i = self.place(t, x)\n    t[i] = 1\n    ys.append(i)\n"
    "return ys, t",
    "never changed": "t = torch.tensor(xs)\nys = []\nfor i in range(len(t)):\n"
    "    ys.append(self.same(t[i]))\nreturn [int(y) for y in ys]",
    "swapped": "t = torch.tensor(xs)\na, b = t[0].item(), t[-1].item()\nt[0], t[-1] = b, a\nreturn t",
    "range": "t = torch.tensor(xs)\nys = []\nfor i in range(t[0]):\n    ys.append(i)\n    t[0] = 5\nreturn ys, t",
    "key": "t = torch.tensor(xs)\nj = min(range(len(xs)), key=lambda i: t[i])\nt[j] = 99\nreturn j, t",
    "new tensor": "t = torch.tensor(xs)\nu = torch.tensor([t[0], t[-1]])\nt[0] = 99\nreturn u, t",
    "larger one": "t = torch.zeros(8, dtype=torch.long)\nfor i, x in enumerate(xs):\n"
    "    best = max(t[i], 3)\n    t[i + 1] = best\nreturn t",
    "operator on a number": "t = torch.tensor(xs)\ny = int(t[0])\ny += 1\nz = t[0].item()\nz += y\nreturn y, z, t",
    "operator on a copy": "t = torch.tensor(xs)\ny = t[0].clone()\ny += 1\nreturn int(y), t",
    "operator in a list": "t = torch.tensor(xs)\nys = [t[i] for i in range(len(t))]\nys[0] += 1\nreturn [int(y) for y in ys]",
    "heap of numbers": "t = torch.tensor(xs)\nys = []\nheapq.heappush(ys, t[0].item())\nt += 1\nreturn ys[0], t",
}


@pytest.mark.parametrize("name", RIGHT)
def test_as_eager(tmp_path, name):
    agrees(_model(tmp_path, RIGHT[name]), LISTS)
