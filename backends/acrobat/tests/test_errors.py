"""What goes wrong at run time: the message names the instance and the path, and the executable goes on working."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import backends.acrobat.compiler
from backends.acrobat import compile
from backends.acrobat.codegen.functions import Facts
from backends.acrobat.errors import InstanceError, ResourceError, ScheduleError
from backends.acrobat.ir.nodes import Launch, Let, Program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.options import Options
from backends.acrobat.pipeline import facts_for
from backends.acrobat.tests.models import Cell, Endless, Linked
from backends.acrobat.tests.support import assert_same, draw, eager, tiny
from workloads.treelstm.model import Leaf, Node

CELL = Cell(torch.ones(4), True, 0.5, 3, [1, 2], Cell(torch.zeros(4), False, 1.0, -1, [], None))


def cell(**changes: Any) -> Cell:
    """Two cells, of which the inner one has the changes."""
    assert CELL.rest is not None
    return replace(CELL, rest=replace(CELL.rest, **changes))


@pytest.fixture(scope="module")
def linked(cache: Path) -> Any:
    model = Linked()
    executable = compile(model, cache_folder=cache, checked=True)
    return executable, eager(copy.deepcopy(model).double(), [CELL, cell()])


MALFORMED = {
    "wrong class": (Leaf(1), r"instance 1.*Leaf"),
    "none": (None, r"instance 1.*None"),
    "list for tensor": (cell(value=[1.0] * 4), r"instance 1, at \.?rest\.value: .*Tensor of shape \(4,\).*list"),
    "shape": (cell(value=torch.ones(5)), r"instance 1, at \.?rest\.value: .*\(4,\).*\(5,\)"),
    "rank": (cell(value=torch.ones(1, 4)), r"instance 1, at \.?rest\.value: .*\(4,\).*\(1, 4\)"),
    "dtype": (cell(value=torch.ones(4).double()), r"instance 1, at \.?rest\.value: .*float32.*dtype"),
    "int tensor": (cell(value=torch.ones(4).int()), r"instance 1, at \.?rest\.value: .*float32.*dtype"),
    "meta tensor": (cell(value=torch.ones(4, device="meta")), r"instance 1, at \.?rest\.value: .*CPU.*cannot be read"),
    "int for bool": (cell(flag=1), r"instance 1, at \.?rest\.flag: .*bool.*int"),
    "text for float": (cell(rate="x"), r"instance 1, at \.?rest\.rate: .*float.*str"),
    "huge float": (cell(rate=10**400), r"instance 1, at \.?rest\.rate: .*float"),
    "float for int": (cell(count=1.5), r"instance 1, at \.?rest\.count: .*int.*float"),
    "huge int": (cell(count=2**63), r"instance 1, at \.?rest\.count: .*64 bits"),
    "no list": (cell(tags=7), r"instance 1, at \.?rest\.tags: .*list.*int"),
    "item": (cell(tags=[1, None]), r"instance 1, at \.?rest\.tags\[1\]: .*int.*None"),
    "index": (cell(tags=[1, 5]), r"instance 1.*index 5 is out of range.*5 rows"),
    "negative index": (cell(tags=[-6]), r"instance 1.*index -6 is out of range.*5 rows"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_does_not_fit_is_named(linked: Any, case: str) -> None:
    executable, want = linked
    instance, message = MALFORMED[case]
    with pytest.raises(InstanceError, match=message):
        executable([CELL, instance, CELL])
    assert_same(executable([CELL, cell()]), want)


def test_a_mini_batch_is_a_list(linked: Any) -> None:
    executable, want = linked
    with pytest.raises(TypeError, match="list of instances"):
        executable(CELL)
    assert_same(executable((CELL, cell())), want)


class TestDepth:
    def test_a_chain_of_3000_levels(self, built: Any) -> None:
        tree: Any = Leaf(1)
        for i in range(3000):
            tree = Node([tree]) if i % 2 else Node([tree, Leaf(i % 100)])
        executable = built("treelstm")
        (got,) = executable([tree])
        model: Any = tiny("treelstm", torch.float64)
        with torch.inference_mode():  # from the leaf up: eager recursion would be too deep
            h, c = model.leaf(model.embedding.weight[1])
            for i in range(3000):
                children = [(h, c)] if i % 2 else [(h, c), model.leaf(model.embedding.weight[i % 100])]
                h, c = model.compose(children)
            assert_same(got, model.classifier(h))

    @pytest.mark.parametrize("kind", ["deep", "cyclic"])
    def test_what_the_stack_cannot_hold(self, built: Any, kind: str) -> None:
        if kind == "deep":
            levels: list[Any] = [Leaf(1)]
            for _ in range(200_000):
                levels.append(Node([levels[-1]]))
            tree = levels[-1]
        else:
            tree = Node([])
            tree.children.append(Node([Leaf(1), tree]))
        executable = built("treelstm")
        instances = draw("treelstm", 2)
        want = eager(tiny("treelstm", torch.float64), instances)
        with pytest.raises((ResourceError, InstanceError), match=r"instance 1.*nested too deeply.*contain itself"):
            executable([instances[0], tree])
        assert_same(executable(instances), want)
        if kind == "cyclic":
            tree.children.clear()
        else:
            while levels:  # from the root, so that freeing does not recurse
                del levels[-1], tree
                tree = None


def test_recursion_without_an_end(cache: Path) -> None:
    model = Endless()
    executable = compile(model, cache_folder=cache, checked=True)
    want = eager(copy.deepcopy(model).double(), [0, 4])
    with pytest.raises(ResourceError, match=r"instance 1.*(recursion may not end|memory)"):
        executable([4, 3])
    assert_same(executable([0, 4]), want)


def test_memory_has_a_limit(built: Any) -> None:
    limit = 4 << 20
    executable = built("treelstm", memory_limit=limit)
    small = draw("treelstm", 2)
    want = eager(tiny("treelstm", torch.float64), small)
    big = Node([Leaf(i % 100) for i in range(60_000)])
    for _ in range(2):
        with pytest.raises(ResourceError, match=r"\d+ MiB are in use, \d+ MiB more .* limit is 4 MiB; .*memory_limit"):
            executable([big])
        assert_same(executable(small), want)


def test_checked_mode_catches_a_wrong_depth(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, options: Options) -> Facts:
        facts = facts_for(program, options)
        lets = [(name, node) for name, f in program.functions.items() for node in walk(f.body) if isinstance(node, Let)]
        # All work is said to depend on the instance alone.
        static = {(name, let.var.name): 0 for name, let in lets if isinstance(let.value, Launch)}
        return replace(facts, static_depth=static)

    monkeypatch.setattr(backends.acrobat.compiler, "facts_for", wrong)
    executable = compile(tiny("treelstm"), cache_folder=cache / "wrong", checked=True)
    with pytest.raises(ScheduleError, match="scheduled before one of its operands was computed"):
        executable([Node([Node([Leaf(1), Leaf(2)]), Leaf(3)])])
