"""The workloads' models, unchanged: the interpreter's results on real instances, compared with eager PyTorch in float64."""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any

import pytest
import torch

from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_language import exact, same
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from workloads.spec import loaded

FUNCTIONS = {
    "treelstm": "forward TreeLSTM.encode TreeLSTM.leaf TreeLSTM.compose",
    "simtree": "forward TreeLSTM.encode TreeLSTM.leaf TreeLSTM.compose SimTree.compare",
    "mvrnn": "forward MVRNN.encode MVRNN.compose",
    "birnn": "forward BiRNN.scores BiRNN.scan BiRNN.step BiRNN.classify",
    "nestedrnn": "forward split mix NestedRNN.count decide choose NestedRNN.gru NestedRNN.emit NestedRNN.edges NestedRNN.step",
    "drnn": "forward DRNN.grow DRNN.siblings DRNN.cell split mix decide choose DRNN.subtree",
    "berxit": "forward Berxit.scores Berxit.layer Berxit.by_head Berxit.certain split stop mix decide choose Berxit.classify",
    "stackrnn": "forward StackRNN.suffixes StackRNN.step StackRNN.parse StackRNN.top StackRNN.p_reduce split mix decide choose "
    "StackRNN.reduce StackRNN.compose StackRNN.push",
    "treegru": "forward TreeGRU.encode TreeGRU.leaf TreeGRU.compose",
    "treernn": "forward TreeRNN.encode TreeRNN.leaf TreeRNN.compose",
    "treefc": "forward TreeFC.compose",
    "lattice": "forward LatticeLSTM.states LatticeLSTM.word_arc LatticeLSTM.character_arc",
    "dagrnn": "forward DAGRNN.states DAGRNN.row DAGRNN.cell",
}


def doubled(x: Any) -> Any:
    """An instance with its tensors in float64."""
    if isinstance(x, torch.Tensor):
        return x.double()
    if is_dataclass(x) and not isinstance(x, type):
        return replace(x, **{f.name: doubled(getattr(x, f.name)) for f in fields(x)})
    return x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gives_what_eager_pytorch_gives(name: str) -> None:
    workload: Any = import_module(f"workloads.{name}.spec").Spec()
    module = loaded(workload, "tiny", 0, torch.float64)
    program = build(copy.deepcopy(module).float())
    verify(program)
    assert set(program.functions) == set(FUNCTIONS[name].split()), "each function is compiled once, for all its callers"
    values = exact(module)
    assert set(program.weights) == set(values), "every parameter is used, under its state-dict name"
    interpreter = Interpreter(program, values)
    for instance in workload.instances("tiny", 3, 6):
        instance = doubled(instance)
        with torch.no_grad():
            same(interpreter.run(instance), module(instance))
