"""Models whose `forward` calls itself give eager PyTorch's results with every executor, compiled and interpreted."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from backends.acrobat.codegen.executable import Executable
from backends.acrobat.compiler import load
from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.markers import phase
from backends.acrobat.options import Codegen, Executor, Options
from backends.acrobat.pipeline import facts_for, optimise
from backends.acrobat.settings import Settings
from backends.acrobat.tests.native_batches import MEMORY_LIMIT, build_batch, generated
from backends.acrobat.tests.random_checks import FAST
from backends.acrobat.tests.recursive_models import MODELS, Nary, TreeRNN, instances, model
from backends.acrobat.tests.support import assert_same

CODES: tuple[Codegen, ...] = ("aot", "vm")
EXECUTORS: tuple[Executor, ...] = ("inline", "dataflow", "agenda", "learned")
SIZES = (1, 2, 7, 40)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Program]]:
    """A build of all models: for each model one member with compiled host code and one with interpreted."""
    folder = tmp_path_factory.mktemp("recursive") / "all"
    programs = [optimise(build(model(cls)), Options(codegen=code)) for cls in MODELS for code in CODES]
    members = [generated(p, Options(codegen=CODES[i % len(CODES)]), i) for i, p in enumerate(programs)]
    build_batch(members, folder, FAST)
    return folder, programs


def executable(built: tuple[Path, list[Program]], cls: type[TreeRNN], options: Options, checked: bool = False) -> Executable:
    folder, programs = built
    index = MODELS.index(cls) * len(CODES) + CODES.index(options.codegen)
    own = folder / str(index)
    return load(programs[index], own, Settings(options=options, checked=checked, memory_limit=MEMORY_LIMIT, policy_trials=20))


@pytest.mark.parametrize("codegen", CODES)
@pytest.mark.parametrize("cls", MODELS)
def test_outputs_are_eagers(built: Any, cls: type[TreeRNN], codegen: Codegen) -> None:
    eager = model(cls)
    want = [eager(i).detach().double() for i in instances(cls, max(SIZES))]
    for executor, checked in product(EXECUTORS, (False, True)):
        run = executable(built, cls, Options(codegen=codegen, executor=executor), checked)
        for n in SIZES:
            first = run(instances(cls, n))
            assert_same(first, want[:n])
            again = run(instances(cls, n))
            assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True)), "the same call gave something else"
            assert_same(run(instances(cls, n)[::-1]), want[:n][::-1])
        run.close()


@pytest.mark.parametrize("cls", MODELS)
def test_without_phases_it_is_the_same_code(cls: type[TreeRNN]) -> None:
    """Nothing follows the recursion, so there is one phase in any case."""
    texts = []
    for phases, code in product((True, False), CODES):
        options = Options(phases=phases, codegen=code)
        program = optimise(build(model(cls)), options)
        assert facts_for(program, options).phases == 1
        texts.append(print_program(program))
    assert len(set(texts)) == 1


def test_siblings_and_instances_share_batches(built: Any) -> None:
    """The recursion batches as well as one in a method of its own: one batch for each level of the deepest tree."""
    cls = MODELS[0]
    trees = instances(cls, 40)

    def height(tree: Nary) -> int:
        return 1 + max(map(height, tree.children), default=0)

    run = executable(built, cls, Options())
    run(trees)
    batches = run.counters()["batches"]
    run.close()
    assert batches <= 2 + max(map(height, trees))


class Marked(TreeRNN):
    def forward(self, n: Nary) -> Tensor:
        hs = [self(c) for c in n.children]
        total = phase(sum(hs, torch.zeros(4)))
        return torch.tanh(self.w(self.e.weight[n.label]) + self.u(total))


def test_a_marker_in_a_recursive_forward_is_an_error() -> None:
    with pytest.raises(CompileError, match="`phase` is executed in `forward`, which calls itself") as error:
        optimise(build(Marked()), Options())
    assert "put it where the recursion's result is used" in str(error.value)
