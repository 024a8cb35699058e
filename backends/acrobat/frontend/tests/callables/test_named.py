"""Modules, methods and weights that a string known at run time names: by `getattr`, in a ModuleDict, in a dictionary."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


@dataclass
class Step:
    op: str
    kind: str = "a"
    inputs: list = field(default_factory=list)


def step(*inputs, op, kind="a"):
    return Step(op, kind, list(inputs))


TREES = [
    step(op="add"),
    step(step(op="mul"), op="add", kind="b"),
    step(step(op="add", kind="b"), step(op="mul", kind="b"), op="mul"),
]


class Machine(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.start = nn.Parameter(torch.randn(4))
        self.ops = nn.ModuleDict({f"{op}_{kind}": nn.Linear(4, 4) for op in ("add", "mul") for kind in "ab"})
        self.op_add, self.op_mul = nn.Linear(4, 4), nn.Linear(4, 4)
        self.w_a, self.w_b = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))
        self.table = {"add": self.op_add, "mul": self.op_mul}
        self.pairs = nn.ModuleDict({"add": nn.Linear(4, 4), "mul": nn.Bilinear(4, 4, 4)})

    def do_add(self, x, node):
        return x + self.w_a

    def do_mul(self, x, node):
        return x * len(node.inputs)

    def do_otherwise(self, x, node):
        return -x


def by_a_sum_of_strings(self, node):
    x = sum([self(child) for child in node.inputs], self.start)
    return torch.tanh(self.ops[node.op + "_" + node.kind](x))


def from_a_dictionary(self, node):
    x = sum([self(child) for child in node.inputs], self.start)
    cell = self.table[f"{node.op}"]
    return cell(x) + cell.bias if f"{node.op}_{node.kind}" in self.ops else x


def a_module_by_getattr(self, node):
    x = sum([self(child) for child in node.inputs], self.start)
    return getattr(self, f"op_{node.op}")(x) * getattr(self, "w_" + node.kind)


def a_method_by_getattr(self, node):
    x = sum([self(child) for child in node.inputs], self.start)
    name = "do_" + node.op
    return getattr(self, name)(x, node)


def with_a_default(self, node):
    x = sum([self(child) for child in node.inputs], self.start)
    visitor = getattr(self, f"do_{node.op}{node.kind.replace('a', '')}", self.do_otherwise)
    return visitor(x, node) * (2 if hasattr(self, f"w_{node.op}") or hasattr(self, f"w_{node.kind}") else 1)


def of_other_numbers_of_arguments(self, node):
    x = sum([self(child) for child in node.inputs], self.start)
    return self.pairs[node.op](x, self.start) if len(node.inputs) == 2 else self.pairs["add"](x)


def parts_of_a_name(self, node):
    op, line, kind = f"{node.op}_{node.kind}".partition("_")
    first, second = kind, f"x.y.{op}".rpartition(".")
    return self.table[second[2]](self.start), first, line, f"{op}.b.c".split(".", 1), op.rfind("d"), op.rfind("x")


FUNCTIONS = [
    by_a_sum_of_strings,
    from_a_dictionary,
    a_module_by_getattr,
    a_method_by_getattr,
    with_a_default,
    of_other_numbers_of_arguments,
    parts_of_a_name,
]


def of(function: Any) -> nn.Module:
    return with_forward(Machine(), function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(of(function), TREES)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(with_a_default), TREES, codegen, tmp_path)


MISSING = [
    (by_a_sum_of_strings, step(op="sub"), "KeyError: 'sub_a'"),
    (from_a_dictionary, step(op="sub"), "KeyError: 'sub'"),
    (a_module_by_getattr, step(op="sub"), "AttributeError: 'Machine' object has no attribute 'op_sub'"),
    (of_other_numbers_of_arguments, step(step(op="add"), step(op="add"), op="add"), "TypeError: `Linear` takes at most 1"),
]


@pytest.mark.parametrize(("function", "instance", "message"), MISSING, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_not_there_is_an_error_of_the_instance(function: Any, instance: Any, message: str) -> None:
    interpreter = Interpreter(build(of(function), sample=TREES))
    with pytest.raises(InstanceError, match=message):
        interpreter.run(instance)


def by_nothing_but_the_string(self, node):
    return getattr(self, node.op)(self.start)


def by_names_that_are_not_there(self, node):
    return getattr(self, f"visit_{node.op}")(self.start)


def with_arguments_that_none_takes(self, node):
    return self.table[node.op](self.start, node)


REFUSED = [
    (by_nothing_but_the_string, "begin all names alike"),
    (by_names_that_are_not_there, "no attribute has a name like this one"),
    (with_arguments_that_none_takes, "takes at most 1 argument"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_refused(function: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(of(function), sample=TREES)


class Edges(nn.Module):
    """Attributes that are no functions have names like those of the modules that a string picks."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.edge_types = ["next", "child"]
        self.edge_bias = nn.Parameter(torch.randn(4))
        self.edge_size = 4
        self.edge_other = None
        for kind in self.edge_types:
            setattr(self, "edge_" + kind, nn.Linear(4, 4))

    @property
    def edge_scale(self):
        return self.edge_bias * 2


def among_attributes_that_are_no_functions(self, kinds):
    x = self.edge_bias
    for kind in kinds:
        x = torch.tanh(getattr(self, "edge_" + kind)(x))
    return x


def an_edge_under_a_name(self, kinds):
    x = self.edge_bias
    for kind in kinds:
        edge = getattr(self, f"edge_{kind}", None)
        if edge is not None:
            x = torch.tanh(edge(x))
    return x


def an_edge_if_there_is_one(self, kinds):
    x = self.edge_bias
    for kind in kinds:
        edge = getattr(self, f"edge_{kind}", None)
        if edge:
            x = edge(x)
    return x


def an_edge_or_another(self, kinds):
    x = self.edge_bias
    for kind in kinds:
        x = getattr(self, "edge_" + kind, self.edge_next)(x)
    return x


KINDS = [["next"], ["child", "next"], []]
OF_EDGES = [among_attributes_that_are_no_functions, an_edge_under_a_name, an_edge_if_there_is_one, an_edge_or_another]


@pytest.mark.parametrize("function", OF_EDGES, ids=lambda f: f.__name__)
def test_attributes_beside_functions(function: Any) -> None:
    program = agrees(with_forward(Edges(), function), KINDS)
    data = {"types": "list", "bias": "Parameter", "size": "int", "scale": "Tensor"}
    for kind, its_class in data.items():
        with pytest.raises(InstanceError, match=f"TypeError: '{its_class}' object is not callable"):
            Interpreter(program).run([kind])
    if function in (among_attributes_that_are_no_functions, an_edge_or_another):
        with pytest.raises(InstanceError, match="TypeError: 'NoneType' object is not callable"):
            Interpreter(program).run(["other"])


def test_attributes_beside_functions_in_generated_code(tmp_path: Path) -> None:
    agrees_natively(with_forward(Edges(), an_edge_under_a_name), [*KINDS, ["other", "missing", "child"]], "vm", tmp_path)


class Steps:
    """What a program's steps do, as methods of an object that the model makes."""

    limit = 3

    def __init__(self, h):
        self.h = h

    def up(self, step):
        return torch.tanh(self.h * step["k"])

    def add(self, step, a, b):
        return a + b

    def neg(self, step, a):
        return -a


def of_a_made_object(self, program):
    steps, found = Steps(self.e.weight[0]), []
    for step in program:
        inputs = [found[i] for i in step["inputs"]]
        found.append(getattr(steps, step["op"])(step, *inputs))
    return found[-1]


class Prefixed:
    """The same, as methods whose names begin alike."""

    def __init__(self, h):
        self.h = h

    def run(self, program):
        op, *operands = program
        values = [self.run(x) if isinstance(x, tuple) else x for x in operands]
        return getattr(self, "op_" + op)(*values)

    def op_start(self, k):
        return self.h * k

    def op_join(self, a, b):
        return a + torch.tanh(b)

    def op_neg(self, a):
        return -a


def of_a_made_object_with_a_prefix(self, program):
    return Prefixed(self.e.weight[0]).run(program)


def test_methods_of_a_made_object_whose_names_begin_alike() -> None:
    model = nn.Module()
    model.e = nn.Embedding(2, 4)
    one, two = ("start", 1), ("start", 2)
    instances = [("neg", one), ("join", ("neg", two), one), ("join", ("join", one, two), ("neg", ("neg", two)))]
    program = agrees(with_forward(model, of_a_made_object_with_a_prefix), instances)
    with pytest.raises(InstanceError, match="AttributeError: 'Prefixed' object has no attribute 'op_stop'"):
        Interpreter(program).run(("stop", one))


def test_methods_of_an_object_that_the_model_makes() -> None:
    model = nn.Module()
    torch.manual_seed(0)
    model.e = nn.Embedding(2, 4)
    up, neg, add = (
        {"op": "up", "inputs": [], "k": 2},
        {"op": "neg", "inputs": [0], "k": 0},
        {"op": "add", "inputs": [0, 1], "k": 0},
    )
    agrees(with_forward(model, of_a_made_object), [[up, neg, add], [up], [up, up, add, neg]])
