"""The kernels and blocks of the workloads' models, after all passes but tables and invariants."""

from __future__ import annotations

from functools import cache

import pytest

from backends.acrobat.core.units import Block, Kernel, Mode, StepResult
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Launch, Let, Program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.kernels.fusible import is_gemm, is_product
from backends.acrobat.options import Options
from backends.acrobat.passes.tests.models import WORKLOADS, workload
from backends.acrobat.pipeline import optimise
from workloads.berxit.model import Berxit
from workloads.ragged.spec import Spec as RaggedSpec
from workloads.spec import loaded


@cache
def finished(name: str) -> Program:
    return fused(workload(name)[0])


def fused(program: Program) -> Program:
    return optimise(program, Options(tables=False, invariants=False))


def launches(name: str) -> list[Launch]:
    return launched(finished(name))


def launched(program: Program) -> list[Launch]:
    return [n for f in program.functions.values() for n in walk(f.body) if isinstance(n, Launch)]


def operations(kernel: Kernel) -> str:
    return " ".join(i.op for i in kernel.body)


def modes(unit: Kernel | Block) -> str:
    return " ".join(p.mode.value for p in unit.params)


def test_treelstm() -> None:
    classifier, leaf, compose = launches("treelstm")
    assert isinstance(classifier.unit, Kernel) and operations(classifier.unit) == "linear"
    assert isinstance(leaf.unit, Kernel)
    assert operations(leaf.unit) == "linear slice sigmoid slice tanh mul slice sigmoid tanh mul"
    assert modes(leaf.unit) == "gathered shared shared"
    assert len(leaf.unit.results) == 2
    block = compose.unit
    assert isinstance(block, Block)
    assert [(operations(s.kernel), bool(s.over)) for s in block.steps] == [
        ("list_sum", False),
        ("linear sigmoid mul", True),
        ("linear slice sigmoid slice tanh mul list_sum add slice sigmoid tanh mul", False),
    ]
    h, c = [p.name for p in block.params if p.mode is Mode.LIST]
    assert dict(block.groups) == {h: h, c: h}
    assert block.steps[0].args == (h,)
    assert {h, c} <= set(block.steps[1].args) and block.steps[1].over == h
    assert block.steps[2].args[0] == StepResult(0, 0) and block.steps[2].args[-1] == StepResult(1, 0)
    assert set(block.results) == {StepResult(2, 0), StepResult(2, 1)}


def test_mvrnn() -> None:
    """A node is one block. Its two products of a matrix and a vector are two steps with one kernel."""
    classifier, node = launches("mvrnn")
    assert isinstance(classifier.unit, Kernel) and isinstance(node.unit, Block)
    assert [operations(s.kernel) for s in node.unit.steps] == ["matmul", "matmul", "cat linear tanh", "cat linear"]
    assert node.unit.steps[0].kernel is node.unit.steps[1].kernel
    assert node.unit.results == (StepResult(2, 0), StepResult(3, 0))


def test_birnn() -> None:
    """Both directions share their kernels and pass them different weights. The words' share of a step's product is static and
    leaves the step. The state, which is a weight at first only, is gathered."""
    forwards_share, forwards, backwards_share, backwards, classifier = launches("birnn")
    for share in (forwards_share, backwards_share):
        assert isinstance(share.unit, Kernel) and operations(share.unit) == "linear"
    assert isinstance(forwards.unit, Kernel) and forwards.unit is backwards.unit
    assert forwards.args[1] != backwards.args[1]
    assert operations(forwards.unit) == "linear add sigmoid"
    assert modes(forwards.unit) == "gathered shared gathered"
    assert isinstance(classifier.unit, Block)
    assert [operations(s.kernel) for s in classifier.unit.steps] == ["cat linear", "argmax"]


def test_berxit_layer_is_one_block() -> None:
    model = Berxit(heads=2, head_size=16, sequence=8, layers=3, classes=4, real=False)
    layer = next(n.unit for n in launched(fused(build(model))) if isinstance(n.unit, Block) and len(n.unit.steps) > 2)
    assert [operations(s.kernel) for s in layer.steps] == [
        "linear slice reshape permute slice reshape permute slice reshape permute mul",
        "permute matmul",
        "softmax",
        "matmul permute reshape",
        "linear add",
        "layer_norm",
        "linear relu",
        "linear add",
        "layer_norm",
        "index linear sigmoid",
    ]


def products(program: Program) -> int:
    """The number of products in kernels, plus those that are computed when the model is loaded."""
    units = [launch.unit for launch in launched(program)]
    kernels = [k for unit in units for k in ([unit] if isinstance(unit, Kernel) else [s.kernel for s in unit.steps])]
    return sum(i.op == "linear" for k in kernels for i in k.body) + sum(d.op == "linear" for d in program.derived.values())


@pytest.mark.parametrize(("name", "packed"), [("treelstm", 2 + 2), ("nestedrnn", 1), ("berxit", 2)])
def test_gates_that_are_written_apart_are_one_product(name: str, packed: int) -> None:
    """Packing makes one table of the three gates of a TreeLSTM's leaf, one product of those of an inner node, and one product
    of z and r in NestedRNN and of q, k and v in Berxit. `packed`: by how many products each model gets fewer."""
    apart = products(optimise(workload(name)[0], Options(horizontal=False)))
    assert apart - products(optimise(workload(name)[0], Options())) == packed


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_product_has_a_fast_template(name: str) -> None:
    for launch in launches(name):
        for kernel in [launch.unit] if isinstance(launch.unit, Kernel) else [s.kernel for s in launch.unit.steps]:
            if any(i.op in ("linear", "matmul") for i in kernel.body):
                assert is_gemm(kernel) or is_product(kernel), kernel.name


@pytest.mark.parametrize("name", WORKLOADS)
def test_equal_units_are_one_and_names_tell_them_apart(name: str) -> None:
    units = {launch.unit for launch in launches(name)}
    units |= {s.kernel for unit in units if isinstance(unit, Block) for s in unit.steps}
    assert len({unit.name for unit in units}) == len(units)


def test_units_are_named_after_where_they_stand() -> None:
    functions = finished("treelstm").functions.values()
    bound = [n for f in functions for n in walk(f.body) if isinstance(n, Let) and isinstance(n.value, Launch)]
    assert [n.value.unit.name for n in bound if isinstance(n.value, Launch)][1:] == ["encode_leaf", "encode_compose_1"]


def test_a_layer_over_the_rows_of_a_ragged_tensor_is_one_block() -> None:
    """Keys and values are lists, which each row's attention needs whole. All else of a layer is a straight line for a row."""
    program = optimise(build(loaded(RaggedSpec(), "tiny", 0)), Options())
    per_row = [n.unit for n in launched(program) if isinstance(n.unit, Block)]
    layers = len({n.args[1] for n in launched(program) if isinstance(n.unit, Block)})
    assert len(per_row) == layers == 2
    for block in per_row:
        assert isinstance(block, Block)
        last = [operations(s.kernel).split()[-1] for s in block.steps]
        assert last == ["mul", "list_attention", "add", "layer_norm", "relu", "add", "layer_norm"]
