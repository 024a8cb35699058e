"""A model that was translated before does not go through the front end again, and is translated anew whenever anything differs
that its program may depend on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile, translated
from backends.acrobat.core.cache_files import read
from backends.acrobat.errors import CompileError
from backends.acrobat.fingerprint import Fingerprint, NoFingerprint
from backends.acrobat.finished import key
from backends.acrobat.frontend import build_with_reads
from backends.acrobat.ir.printer import print_program
from backends.acrobat.options import Options
from backends.acrobat.tests.test_changes import CHANGES, INSTANCES, WEIGHTS, Model, right
from backends.acrobat.tests.zoo.models import CASES

SAMPLE = 8
SOME = (
    "arc_parser",
    "best_first_decoder",
    "arc_eager_system",
    "neural_grammar",
    "pointer_network",
    "gumbel_tree",
    "code_visitor",
)
"""Models that are checked in every run: of shared lists, a heap, objects, dataclasses, and others that differ."""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[nn.Module]:
    """The modules with which the front end has run."""
    found: list[nn.Module] = []

    def build(module: nn.Module, **keywords: Any) -> Any:
        found.append(module)
        return build_with_reads(module, **keywords)

    monkeypatch.setattr(translated, "build_with_reads", build)
    return found


def model() -> Model:
    torch.manual_seed(3)
    return Model().eval()


def test_the_front_end_runs_once(runs: list[nn.Module], tmp_path: Path) -> None:
    for _ in range(2):
        module = model()
        right(compile(module, cache_folder=tmp_path), module)
    assert len(runs) == 1


@pytest.mark.parametrize("how", WEIGHTS)
def test_weights_have_the_values_of_each_module(how: str, runs: list[nn.Module], tmp_path: Path) -> None:
    compile(model(), cache_folder=tmp_path)
    module = model()
    WEIGHTS[how][0](module)
    right(compile(module, cache_folder=tmp_path), module)
    others = ("a replaced submodule", "a buffer of inference mode")  # the first one is in training mode
    assert len(runs) == (2 if how in others else 1)


REFUSED = {
    "hook for all modules": "hook",
    "hook": "hook",
    "half": "float16",
    "patched method": "misses its",
    "training": "dropout",
}
"""Changes after which the model is refused, with the reason."""


@pytest.mark.parametrize("how", [c for c in CHANGES if c not in REFUSED])
def test_what_the_program_depends_on_is_translated_anew(
    how: str, runs: list[nn.Module], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that executables notice when it changes in one process counts from one process to the next, too."""
    compile(model(), cache_folder=tmp_path)
    module = model()
    CHANGES[how][0](module, monkeypatch)
    executable = compile(module, cache_folder=tmp_path)
    assert len(runs) == 2
    with torch.no_grad():
        for got, words in zip(executable(INSTANCES), INSTANCES, strict=True):
            torch.testing.assert_close(got, module(words), rtol=1e-4, atol=1e-5)


def test_what_is_refused_stays_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile(model(), cache_folder=tmp_path)
    for how, reason in REFUSED.items():
        module = model()
        with monkeypatch.context() as patch:
            CHANGES[how][0](module, patch)
            with pytest.raises(CompileError, match=reason):
                compile(module, cache_folder=tmp_path)


def without_counts(text: str) -> str:
    """Names of shared lists have in them how many there were before in this process."""
    return re.sub(r"_\d+\b", "", text)


@pytest.mark.parametrize(
    "case",
    [case if case.name in SOME else pytest.param(case, marks=pytest.mark.exhaustive) for case in CASES],
    ids=lambda case: getattr(case, "name", None),
)
def test_what_is_kept_is_what_the_front_end_makes(case: Any, runs: list[nn.Module], tmp_path: Path) -> None:
    """Every model of the zoo is kept, with the same program and the same record of what was read. What follows from it has the
    same key in both processes, or later stages would run once more."""
    fresh, fresh_reads = build_with_reads(case.module(), sample=case.instances(SAMPLE))
    before, _ = translated.translated(case.module(), case.instances(SAMPLE), tmp_path)
    module = case.module()
    program, reads = translated.translated(module, case.instances(SAMPLE), tmp_path)
    assert len(runs) == 1
    assert print_program(program) == print_program(before)
    assert without_counts(print_program(program)) == without_counts(print_program(fresh))
    assert key(program, Options()) == key(before, Options())
    assert without_counts(repr(program.boundary.result)) == without_counts(repr(fresh.boundary.result))
    for table in ("attributes", "tensors", "constants"):
        assert [(cls.__qualname__, name) for cls, name in getattr(reads, table)] == [
            (cls.__qualname__, name) for cls, name in getattr(fresh_reads, table)
        ]
    assert [(f.__qualname__, name) for f, name in reads.names] == [(f.__qualname__, name) for f, name in fresh_reads.names]
    assert [name for _, name, _ in reads.objects] == [name for _, name, _ in fresh_reads.objects]
    assert {k: v.tobytes() for k, v in program.values.items()} == {k: v.tobytes() for k, v in fresh.values.items()}


FILE = """
from __future__ import annotations
import torch
from torch import nn
from dataclasses import dataclass
from enum import Enum
{imports}

class Kind(Enum):
    WORD = "word"
    PAIR = "pair"

@dataclass
class Tree:
    kind: Kind
    word: int = 0
    below: "list[Tree] | None" = None

CORE = {{"a", "b", "c", "d", "e", "f"}}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 4)
        self.pair = nn.Linear(8, 4)
        self.names = {{"x", "y", "z"}}

    def forward(self, tree):
        if tree.kind is Kind.WORD:
            return self.words(torch.tensor(tree.word))
        one, other = [self.forward(t) for t in tree.below]
        return torch.tanh(self.pair(torch.cat([one, other]))) * len(CORE) + {number}

def leaf(i):
    return Tree(Kind.WORD, i)

sample = [leaf(1), Tree(Kind.PAIR, 0, [leaf(2), leaf(3)])]
if __name__ == "__main__":
    import sys
    from backends.acrobat import compile, translated
    made = translated.build_with_reads
    def noted(*a, **k):
        print("translated")
        return made(*a, **k)
    translated.build_with_reads = noted
    torch.manual_seed(0)
    net = Net().eval()
    executable = compile(net, sample=sample, cache_folder=__import__("pathlib").Path(sys.argv[1]))
    with torch.no_grad():
        for got, tree in zip(executable(sample), sample):
            torch.testing.assert_close(got, net(tree), rtol=1e-4, atol=1e-5)
    print("right")
"""


def test_another_process(tmp_path: Path) -> None:
    """Sets and dictionaries of strings have another order in each process, which must not count. A changed file does."""
    file = tmp_path / "net.py"

    def run(seed: str) -> list[str]:
        command = [sys.executable, str(file), str(tmp_path / "cache")]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])}
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.split()

    file.write_text(FILE.format(imports="", number=1))
    assert run("1") == ["translated", "right"]
    assert run("2") == ["right"]
    file.write_text(FILE.format(imports="", number=2))
    assert run("3") == ["translated", "right"]
    file.write_text(FILE.format(imports="import math", number=2))
    assert run("4") == ["translated", "right"]


class Sums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(4, 4)
        self.extra: Any = None

    def forward(self, xs):  # type: ignore[no-untyped-def]
        total = self.line.bias
        for x in xs:
            total = total + self.line(helped(x))
        return total


def helped(x: Tensor, factor: float = 2.0) -> Tensor:
    return x * factor


def vectors(n: int, seed: int = 0) -> list[list[Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    return [[torch.randn(4, generator=generator) for _ in range(i + 1)] for i in range(n)]


def hash_of(module: nn.Module, sample: Any = None) -> str:
    return Fingerprint(module, vectors(2) if sample is None else sample).hash


def test_what_does_not_count() -> None:
    before = hash_of(Sums())
    assert hash_of(Sums(), vectors(2, seed=1)) == before, "values of the sample's floats, and of weights"
    assert hash_of(Sums().requires_grad_(False)) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda m, s, p: m.eval(),
        lambda m, s, p: setattr(m, "extra", [1, {"a": (2.0, torch.float64)}]),
        lambda m, s, p: setattr(m, "extra", torch.tensor([1.0])),
        lambda m, s, p: setattr(m, "extra", torch.tensor([1])),
        lambda m, s, p: m.line.register_buffer("bias_of_ints", torch.tensor([1])),
        lambda m, s, p: setattr(m, "extra", m.line.weight),
        lambda m, s, p: s.append([]),
        lambda m, s, p: s.append([torch.zeros(5)]),
        lambda m, s, p: s.append([torch.zeros(4, dtype=torch.int64)]),
        lambda m, s, p: s.append([s[0][0]]),
        lambda m, s, p: s.append(3),
        lambda m, s, p: p.setattr(helped, "__defaults__", (3.0,)),
        lambda m, s, p: p.setattr(sys.modules[__name__], "helped", lambda x: x),
        lambda m, s, p: p.setattr(nn.Linear, "forward", lambda self, x: x),
        lambda m, s, p: p.setattr(Sums, "more", 3, raising=False),
        lambda m, s, p: p.setattr(Sums, "__annotations__", {"extra": "Model"}, raising=False),
    ],
)
def test_what_counts(change: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    module, sample = Sums(), vectors(2)
    before = hash_of(module, sample)
    change(module, sample, monkeypatch)
    assert hash_of(module, sample) != before


def test_numbers_of_the_sample_count() -> None:
    samples = ([1], [2], [True], [1.0], [2.0], ["1"], [[1]], [(1,)], [{"a": 1}], [{"b": 1}], [{1}], [torch.tensor(1)], [None])
    assert len({hash_of(Sums(), sample) for sample in samples}) == len(samples)


@pytest.mark.parametrize("held", [count(), iter([1]), open, map(str, [1]), {object()}], ids=lambda x: type(x).__name__)
def test_what_has_no_fingerprint_is_translated_each_time(held: Any, runs: list[nn.Module], tmp_path: Path) -> None:
    module = Sums().eval()
    module.extra = held
    if held is open:
        assert hash_of(module)
        return
    with pytest.raises(NoFingerprint):
        hash_of(module)
    for _ in range(2):
        executable = compile(module, sample=vectors(2), cache_folder=tmp_path)
    assert len(runs) == 2 and not (tmp_path / "translations").exists()
    with torch.no_grad():
        torch.testing.assert_close(executable(vectors(2)), [module(xs) for xs in vectors(2)], rtol=1e-4, atol=1e-5)


def test_what_was_read_and_has_not_been_met_is_not_kept(
    runs: list[nn.Module], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record of what the front end has read is checked against the walk, in case this overlooks something."""
    monkeypatch.setattr(Fingerprint, "number", lambda self, x: None)
    compile(model(), cache_folder=tmp_path)
    assert not (tmp_path / "translations").exists()


def test_a_damaged_file_is_made_again(runs: list[nn.Module], tmp_path: Path) -> None:
    compile(model(), cache_folder=tmp_path)
    (file,) = (tmp_path / "translations").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    module = model()
    right(compile(module, cache_folder=tmp_path), module)
    assert len(runs) == 2 and read(file) is not None


class Forgets(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(4, 4)
        self.last: Any = None

    def forward(self, x):  # type: ignore[no-untyped-def]
        y = self.line(x)
        self.last = y
        return y


def test_warnings_are_repeated(runs: list[nn.Module], tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.warns(UserWarning, match="does not assign to `last` of the model"):
            compile(Forgets().eval(), sample=[torch.zeros(4)], cache_folder=tmp_path)
    assert len(runs) == 1
