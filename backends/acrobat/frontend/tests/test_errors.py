"""Errors for what is outside the language: whole messages with line, caret and advice; all problems of a model together."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend import program as frontend_program
from backends.acrobat.frontend.evaluator.loops import variables as loop_variables
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors

HEAD = """from __future__ import annotations
from dataclasses import dataclass
from functools import reduce, wraps
from typing import Annotated
import torch
from torch import Tensor, nn
@dataclass(frozen=True)
class In:
    x: Annotated[Tensor, 4]
    n: int
@dataclass(frozen=True)
class Leaf:
    v: int
@dataclass(frozen=True)
class Node:
    v: int
    left: Leaf | Node
@dataclass(frozen=True)
class Box:
    x: Tensor
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.cells = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
class M(Base):
"""


CASES = [
    (
        "unknown operation",
        1,
        """
def forward(self, s: In) -> Tensor:
    return torch.polygamma(2, s.x)
""",
        """
model.py:28:16: `polygamma` is not an operation of the language
            return torch.polygamma(2, s.x)
                   ^^^^^^^^^^^^^^^^^^^^^^^
    LANGUAGE.md lists the operations
""",
    ),
    (
        "unknown method",
        1,
        """
def forward(self, s: In) -> Tensor:
    return s.x.geqrf()
""",
        """
model.py:28:16: `geqrf` is not an operation of the language
            return s.x.geqrf()
                   ^^^^^^^^^^^
    LANGUAGE.md lists the operations
""",
    ),
    (
        "shapes",
        1,
        """
def forward(self, s: In) -> Tensor:
    return self.a(s.x[:3])
""",
        """
model.py:28:16: linear: an input of shape (3,) does not fit a weight of shape (4, 4) (out, in)
            return self.a(s.x[:3])
                   ^^^^^^^^^^^^^^^
""",
    ),
    (
        "branches",
        1,
        """
def forward(self, s: In) -> Tensor:
    if s.n > 2:
        return s.x
    return [s.x]
""",
        """
model.py:28:9: the branches differ in type: a tensor of shape (4,) (line 29), a list of tensors of shape (4,) (line 30)
            if s.n > 2:
            ^^^^^^^^^^^
    give the same type on every path
""",
    ),
    (
        "assigned branches",
        1,
        """
def forward(self, s: In) -> Tensor:
    if s.n > 2:
        y = (s.n, s.n)
    else:
        y = {s.n}
    return y
""",
        """
model.py:32:16: `y` differs in type between paths: a tuple of 2 (an int, an int) (line 29), a set (line 31)
            return y
                   ^
    give it the same type on every path
""",
    ),
    (
        "missing case",
        1,
        """
def forward(self, t: Leaf | Node) -> int:
    match t:
        case Leaf(v):
            return v
""",
        """
model.py:28:9: this `match` has no case for Node
            match t:
            ^^^^^^^^
    add one, or `case _:`
""",
    ),
    (
        "missing nested case",
        1,
        """
def forward(self, t: Leaf | Node) -> int:
    match t:
        case Leaf(v) | Node(v, Leaf()):
            return v
""",
        """
model.py:28:9: this `match` has no case for Node(Node)
            match t:
            ^^^^^^^^
    add one, or `case _:`
""",
    ),
    (
        "wrong class",
        1,
        """
def forward(self, t: Leaf | Node) -> int:
    match t:
        case Box(x):
            return 1
        case _:
            return 2
""",
        """
model.py:29:18: Box is not one of Leaf | Node
                case Box(x):
                     ^^^^^^
""",
    ),
    (
        "no return",
        1,
        """
def forward(self, s: In) -> int:
    if s.n > 0:
        return 1
""",
        """
model.py:28:9: `forward` can end here without `return`
            if s.n > 0:
            ^^^^^^^^^^^
    return a value on every path
""",
    ),
    (
        "alias",
        1,
        """
def forward(self, s: In) -> list[int]:
    xs = [1]
    ys = xs
    for x in ys:
        xs.append(x)
    return ys
""",
        """
model.py:31:13: `append` changes a list that may be seen under another name than `xs`
                xs.append(x)
                ^^^^^^^^^^^^
    make a list of its own first: `xs = list(xs)`
""",
    ),
    (
        "pop in loop over it",
        1,
        """
def forward(self, s: In) -> list[int]:
    xs = [s.n]
    for x in xs:
        xs.pop()
    return xs
""",
        """
model.py:30:13: `pop` changes `xs`, which a loop around it walks over
                xs.pop()
                ^^^^^^^^
    walk over a copy: `list(...)`
""",
    ),
    (
        "in place",
        1,
        """
def forward(self, s: In) -> Tensor:
    y = s.x
    y += 1
    return y
""",
        """
model.py:29:9: this changes a tensor in place that may be seen under other names
            y += 1
            ^^^^^^
    write `y = y + ...` or the like, which makes a new tensor
""",
    ),
    (
        "bad annotation",
        1,
        """
def forward(self, s: In) -> int:
    return self.f(s.n)
def f(self, n: bytes) -> int:
    return n
""",
        """
model.py:29:5: `bytes` is not a type of the language: use Tensor, int, bool, float, list, tuple or dataclasses
        def f(self, n: bytes) -> int:
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    ),
    (
        "wrong result",
        1,
        """
def forward(self, s: In) -> int:
    return s.n / 2
""",
        """
model.py:28:9: the result of `forward`: a float where an int is needed
            return s.n / 2
            ^^^^^^^^^^^^^^
""",
    ),
    (
        "wrong argument",
        1,
        """
def forward(self, s: In) -> int:
    return self.f(s.n / 2)
def f(self, n: int) -> int:
    return n
""",
        """
model.py:28:16: the argument `n` of `f`: a float where an int is needed
            return self.f(s.n / 2)
                   ^^^^^^^^^^^^^^^
""",
    ),
    (
        "missing argument",
        1,
        """
def forward(self, s: In) -> int:
    return self.f()
def f(self, n: int) -> int:
    return n
""",
        """
model.py:28:16: `f` misses its argument `n`
            return self.f()
                   ^^^^^^^^
""",
    ),
    (
        "unknown shape",
        1,
        """
def forward(self, x: Tensor) -> Tensor:
    return x
""",
        """
model.py:27:5: the shape of the tensor that `x` is, or holds, is not known
        def forward(self, x: Tensor) -> Tensor:
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    annotate it (`Annotated[Tensor, 128]`, `list[Annotated[Tensor, 128]]`), or give `compile` a few instances, which also tell \
extents that vary: `compile(model, sample=instances)`
""",
    ),
    (
        "unknown field",
        1,
        """
def forward(self, b: Box) -> Tensor:
    return b.x
""",
        """
model.py:27:5: the shape of `Box.x` is not known
        def forward(self, b: Box) -> Tensor:
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    annotate it, as in `x: Annotated[Tensor, 256]` or `x: list[Annotated[Tensor, 256]]`
""",
    ),
    (
        "endless",
        1,
        """
def forward(self, s: In) -> Tensor:
    return self.f(s.x)
def f(self, x: Tensor) -> Tensor:
    return self.f(x)
""",
        """
model.py:29:5: the type of the result of `M.f` cannot be found
        def f(self, x: Tensor) -> Tensor:
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    a recursion needs a case that ends without it
""",
    ),
    (
        "undefined",
        1,
        """
def forward(self, s: In) -> int:
    return s.n + missing
""",
        """
model.py:28:22: `missing` is not defined
            return s.n + missing
                         ^^^^^^^
""",
    ),
    (
        "statement",
        1,
        """
def forward(self, s: In) -> int:
    try:
        return s.n
    except TypeError:
        return 0
""",
        """
model.py:28:9: a `TypeError` is not caught in the language
            try:
            ^^^^
    test for what would raise it
""",
    ),
    (
        "iterator",
        1,
        """
def forward(self, s: In) -> int:
    z = reversed([s.n])
    first = next(z)
    first += sum(z)
    return first + next(z, 0)
""",
        """
model.py:30:18: an iterator that has a name and several uses is used by `next` alone
            first += sum(z)
                     ^^^^^^
    write list(...) where it is made
""",
    ),
    (
        "big int",
        1,
        """
def forward(self, s: In) -> int:
    return s.n + 10000000000000000000
""",
        """
model.py:28:16: the integer 10000000000000000000 does not fit into 64 bits
            return s.n + 10000000000000000000
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    ),
    (
        "two shapes of a field",
        1,
        """
def forward(self, s: In) -> Tensor:
    return Box(s.x.view(2, 2)).x.sum() + Box(s.x[None]).x.sum()
""",
        """
model.py:28:46: the field `x` of Box: a tensor of shape (2, 2) here, a tensor of shape (1, 4) there
            return Box(s.x.view(2, 2)).x.sum() + Box(s.x[None]).x.sum()
                                                 ^^^^^^^^^^^^^^
    a field has one type everywhere, and its tensors differ in one extent only: give others a field of their own
""",
    ),
    (
        "loop changes shape",
        1,
        """
def forward(self, s: In) -> Tensor:
    h = s.x
    for _ in range(s.n):
        h = h[None]
    return h
""",
        """
model.py:30:17: `h` does not keep its type in the loop: a tensor of shape (4,) (line 28), a tensor of shape (1, 4) (line 30)
                h = h[None]
                    ^
    give it the same type before the loop and after each round
""",
    ),
    (
        "item of many",
        1,
        """
def forward(self, s: In) -> float:
    return s.x.item()
""",
        """
model.py:28:16: only a tensor of one element has a value to read; this one has shape (4,)
            return s.x.item()
                   ^^^^^^^^^^
""",
    ),
    (
        "print",
        1,
        """
def forward(self, s: In) -> int:
    print(s.n)
    return s.n
""",
        """
model.py:28:9: `print` is not in the language: it writes something, and a compiled model has no effect but its result
            print(s.n)
            ^^^^^^^^^^
    leave it out, or return what it is to write
""",
    ),
    (
        "several",
        4,
        """
def forward(self, s: In) -> Tensor:
    y = torch.fft.rfft(s.x)
    z = self.helper(y) + s.x[9]
    for i in range(s.n):
        z = self.helper(s.x)
    return self.a(z) @ undefined
def helper(self, x: Tensor) -> Tensor:
    with torch.no_grad():
        return x.frobnicate()
""",
        """
model.py:28:13: `torch.fft.rfft` is not in the language: it is for complex numbers, which compiled models do not have
            y = torch.fft.rfft(s.x)
                ^^^^^^^^^^^^^^^^^^^
    compute it beforehand

model.py:29:30: index 9 is out of range for shape (4,)
            z = self.helper(y) + s.x[9]
                                 ^^^^^^

model.py:32:28: `undefined` is not defined
            return self.a(z) @ undefined
                               ^^^^^^^^^

model.py:35:20: `frobnicate` of a tensor is not in the language
                return x.frobnicate()
                       ^^^^^^^^^^^^
    LANGUAGE.md lists the operations
""",
    ),
]


@pytest.mark.parametrize(("count", "body", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_message(tmp_path: Path, count: int, body: str, expected: str) -> None:
    module = load(tmp_path, HEAD + indent(body.strip("\n") + "\n", "    "), "model")
    with pytest.raises(CompileError) as error:
        build(module.M())
    head = f"{count} problem{'s' if count > 1 else ''} in the model\n"
    assert str(error.value).replace(f"{tmp_path}/", "") == head + expected.rstrip("\n")
    assert len(error.value.problems) == count


def test_caret_counts_characters(tmp_path: Path) -> None:
    """`ast` gives positions in bytes, and the caret has to count characters."""
    module = load(tmp_path, HEAD + "    def forward(self, s: In) -> int:\n        größe = s.n; return größe + fehlt\n", "model")
    with pytest.raises(CompileError) as error:
        build(module.M())
    *_, source, caret = str(error.value).splitlines()
    assert source[caret.index("^") : caret.rindex("^") + 1] == "fehlt"


@pytest.mark.parametrize("hook", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_are_refused(tmp_path: Path, hook: str) -> None:
    """If hooks were accepted, the compiled model would silently leave them out."""
    text = HEAD + "    def forward(self, s: In) -> Tensor:\n        return self.a(s.x)\n"
    module = load(tmp_path, text, "model").M()
    getattr(module.a, hook)(lambda *args: None)
    with pytest.raises(CompileError, match="this Linear has forward hooks"):
        build(module)


ALIASED = {
    "in a later round": "rows = []\nfor i in range(s.n):\n    xs.append(i)\n    rows.append(xs)",
    "on one path": "ys = [2]\nif s.n > 1:\n    ys = xs\nxs.append(3)",
    "on the other path": "ys = [2]\nif s.n > 1:\n    pass\nelse:\n    ys = xs\nxs.append(3)",
    "in the first case": "ys = [2]\nmatch self.maybe(1):\n  case None:\n    ys = xs\n  case _:\n    pass\nxs.append(3)",
    "in one case": "ys = [2]\nmatch s.n:\n    case 3:\n        ys = xs\nxs.append(3)",
    "in a while loop": "ys = [1]\nwhile len(ys) < s.n:\n    xs.append(1)\n    ys = xs",
    "in a tuple": "t = (xs, 1)\nxs.append(2)",
    "in a list": "rows = [xs]\nxs.append(2)",
    "in a comprehension": "rows = [xs for _ in range(s.n)]\nxs.append(2)",
    "in a dataclass": "box = Lists(xs)\nxs.append(2)",
    "through a call": "ys = self.same(xs)\nxs.append(2)",
    "through a choice": "ys = xs if s.n > 2 else [2]\nxs.append(2)",
    "through or": "ys = xs or [3]\nys.append(2)",
    "when unrolled": "rows = []\nfor k in (1, 2):\n    xs.append(k)\n    rows.append(xs)",
    "while running over it": "for i, x in enumerate(xs):\n    if i > 3:\n        break\n    xs.append(x)",
    "with +=": "ys = xs\nys += [2]",
    "by unpacking": "ys, zs = xs, [3]\nys.append(2)",
}


@pytest.mark.parametrize("what", ALIASED)
def test_a_list_seen_elsewhere_is_changed_there(tmp_path: Path, what: str) -> None:
    """Eager Python changes the list under its other name too."""
    body = ALIASED[what]
    text = HEAD.replace("class Base", "@dataclass(frozen=True)\nclass Lists:\n    xs: list[int]\nclass Base") + indent(
        f"def same(self, xs: list[int]) -> list[int]:\n    return xs\n"
        f"def maybe(self, n: int) -> int | None:\n    return n\n"
        f"def forward(self, s: In) -> int:\n    xs = [1]\n{indent(body, '    ')}\n    return len(xs)\n",
        "    ",
    )
    module = load(tmp_path, text, "model")
    model, instances = module.M(), [module.In(torch.zeros(4), n) for n in (0, 1, 2, 3, 5)]
    agrees(model, instances)


def test_a_shape_that_stays_unknown_in_a_loop(tmp_path: Path) -> None:
    """The function is compiled first in a trial of the loop, which finds the type of its result but not its code."""
    text = (
        HEAD
        + """
    def forward(self, boxes: list[Box]) -> Tensor:
        h = torch.zeros(4)
        for _ in range(len(boxes)):
            h = self.total(boxes)
        return h
    def total(self, boxes: list[Box]) -> Tensor:
        return sum([b.x for b in boxes], torch.zeros(4))
"""
    )
    with pytest.raises(CompileError, match=r"the shape of `Box.x` is not known"):
        build(load(tmp_path, text, "model").M())


HANDED_ON = """
    def forward(self, s: In) -> int:
        a = b = c = d = e = g = h = i = j = k = []
        for _ in range(s.n):
            k, j, i, h, g, e, d, c, b, a = j, i, h, g, e, d, c, b, a, [1]
        return len(k)
"""


def test_types_that_settle_late_in_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial of the loop finds the type of one more name. With too few trials an error names one that is left."""
    module = load(tmp_path, HEAD + HANDED_ON, "model")
    model = module.M()
    interpreter = Interpreter(build(model))
    assert [interpreter.run(module.In(torch.ones(4), n)) for n in (9, 10)] == [0, 1]
    monkeypatch.setattr(loop_variables, "TRIALS", -5)
    with pytest.raises(CompileError, match=r"not settled after 5 rounds: the last changed that of `g`"):
        build(model)


def test_types_of_results_that_do_not_settle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    def forward(self, s: In) -> float:
        return self.half(s.n)
    def half(self, n: int):
        return n / 2 if n < 2 else self.half(n - 1)
"""
    model = load(tmp_path, HEAD + text, "model").M()
    assert build(model).functions
    monkeypatch.setattr(frontend_program, "ROUNDS", 1)
    with pytest.raises(CompileError, match=r"the type of the result of `M.half` has changed in each of 1 rounds of compiling"):
        build(model)


WRONG = {
    "s.x ^ s.x": "`^` of tensors is not an operation of the language",
    "s.n & 0.5": "bit operations need ints",
    "s.n + 'a'": "this operator does not take an int and a string",
    "-'a'": "bad operand type for unary -: 'str'",
    "~(s.n / 2)": "this operator does not take a float",
    "s.n if self.forward else 0": "this has no truth value here",
    "s.n is 1": "`is` only compares with None, bools, and objects of the instance",
    "s == s": "`equal`: tensors inside of tuples or objects are not compared",
    "s.y": "In has no field `y`",
    "self.y": "M has no attribute `y`",
    "torch.nothing": "the module torch has no `nothing`",
    "s.x.nothing": "`nothing` of a tensor is not in the language",
    "s.x.grad_fn": "`grad_fn` of a tensor is not in the language",
    "(s.n, 1).sort()": "a tuple has no `sort` in the language",
    "(s.n, 1)[2]": "index 2 is out of range for a tuple of 2",
    "[s.n][0.5]": "the index of a list is an int, not a float",
    "s.n[0]": "this cannot be indexed",
    "s.x[0, 0]": "too many indices for a tensor of shape (4,)",
    "s.x[::-1]": "a slice with a step takes 1 to 64 parts of a fixed dimension, in their order",
    "s.x[True]": "a tensor is indexed with ints, slices, None and ... here, not a bool",
    "self.cells[3](s.x)": "index 3 is out of range for 3 modules",
    "sum()": "`sum` takes a list and a start here",
    "sum([[1]])": "`sum` adds tensors or numbers, not a list of ints",
    "sum([s.x], s.x[:2])": "`sum` of tensors of shape (4,) starts with a tensor of shape (2,)",
    "sum(s.n)": "only lists, ranges, tuples and module lists can be iterated over",
    "max([s.x])": "`max` takes numbers, not a tensor of shape (4,)",
    "max(s.x, s.x)": "`max` of tensors is not in the language",
    "max(s.n, [1])": "`max` takes numbers, not a list of ints",
    "len(s.n)": "this has no length",
    "range(0.5)": "`range` takes ints",
    "list(reversed(enumerate([1])))": "`reversed` takes a list",
    "int('1', base=3)": "`int` takes no keyword arguments here",
    "int([s.n])": "`int` cannot be used like this here",
    "s.n(1)": "this cannot be called",
    "torch.relu()": "`relu` takes a tensor",
    "torch.relu(s.n)": "`relu` takes a tensor, not an int",
    "torch.relu(s.x, s.x)": "`relu` takes at most 1 argument here, got 2",
    "torch.relu(s.x, inplace=True)": "`relu` has no argument `inplace` here",
    "s.x + In": "expected a tensor or a number",
    "s.x.sum(dim=2)": "`sum`: there is no dimension 2 in a tensor of rank 1",
    "s.x.sum(dim=s.n)": "the dimension of `sum` must be known at compile time",
    "s.x.split([1, 1])": "`split`: the sizes (1, 1) do not add up to 4",
    "s.x.view(3, -1)": "reshape: (4,) has 4 elements, (3, 1) has 3",
    "torch.cat([1, 2])": "`cat` takes a tuple or list of tensors",
    "torch.tensor(s.n) % s.x": "a tensor of an int serves as an index, nothing else",
    "s.x.half()": "tensors are float32 here, not float16",
    "[x for x in s.x.sum()]": "a tensor without dimensions cannot be iterated over",
    "s.n if s.n else (k := s.n)": "`:=` is not in the language here",
    "f'{s.x}'": "of what is known at run time only, an f-string takes strings and numbers, not a tensor of shape (4,)",
    "In(s.x)": "`In` misses its argument `n`",
    "Box([s.n]).x + Box(s.x).x": "the field `x` of Box: a tensor of shape (4,) where a list of ints is needed",
    "self.same([s.x], 1)": "`same` takes at most 1 argument here, got 2",
    "OTHER(s.x)": "a module that is not part of the model",
    "s.x + TENSOR": "a tensor that is not part of the model",
    "self.free(s.x)": "`free` belongs to another object",
    "self.drop(s.x)": "dropout in training mode is not in the language",
    "self.table(s.x)": "an embedding is called with one index here",
    "self.bounded(torch.tensor(s.n))": "an embedding with `max_norm` changes its weight",
}
SETTING = (
    HEAD.replace("class M(Base):", "OTHER = nn.Linear(4, 4)\nTENSOR = torch.ones(4)\nclass M(Base):")
    + """
    def __init__(self):
        super().__init__()
        self.free = Base().method
        self.lookup = {}
        self.lstm = nn.LSTMCell(4, 4)
        self.drop = nn.Dropout()
        self.plain = nn.LayerNorm(4, elementwise_affine=False)
        self.table = nn.Embedding(3, 4)
        self.bounded = nn.Embedding(3, 4, max_norm=1.0)
    def helper(self, *n: int) -> int:
        return 1
    def same(self, xs: list[Tensor]) -> list[Tensor]:
        return xs
"""
).replace("class Base(nn.Module):\n", "class Base(nn.Module):\n    def method(self, x):\n        return x\n")


@pytest.mark.parametrize("written", WRONG)
def test_wrong_expression(tmp_path: Path, written: str) -> None:
    text = SETTING + f"    def forward(self, s: In) -> int:\n        y = {written}\n        return s.n\n"
    with pytest.raises(CompileError) as error:
        build(load(tmp_path, text, "model").M())
    assert [p.message for p in error.value.problems] == [WRONG[written]]
    assert error.value.problems[0].span.line == len(text.splitlines()) - 1


WRONG_STATEMENTS = {
    "a, b = s.n": "this takes 2 values apart, but gets an int",
    "s.n + 1": "this statement has no effect",
    "xs = [[1]]\nxs.append(s.x)": "`xs` holds lists of ints, this appends a tensor of shape (4,)",
    "k = s.n\nk.append(1)": "`append` is for lists, not an int",
    "match s:\n    case In(a, b, c):\n        pass": "In has 2 fields, the pattern 3",
    "match s:\n    case In(z=a):\n        pass": "In has no field `z`",
    "match s.n, 1:\n    case {1: a}, _:\n        pass": "this pattern is not in the language",
    "k: bytes = 1": "`bytes` is not a type of the language: use Tensor, int, bool, float, list, tuple or dataclasses",
    "k: Missing = 1": "the annotation cannot be evaluated: name 'Missing' is not defined",
}


@pytest.mark.parametrize("written", WRONG_STATEMENTS)
def test_wrong_statement(tmp_path: Path, written: str) -> None:
    text = HEAD + f"    def forward(self, s: In) -> int:\n{indent(written, '        ')}\n        return 1\n"
    with pytest.raises(CompileError) as error:
        build(load(tmp_path, text, "model").M())
    assert [p.message for p in error.value.problems] == [WRONG_STATEMENTS[written]]


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        (
            "torch.relu([s.x, s.x])",
            "`torch.stack(xs)` makes one tensor of a list `xs` of tensors, `[f(x) for x in xs]` takes each",
        ),
        ("xs = [s.x]\nxs.append([s.x])", "a list has elements of one type"),
    ],
)
def test_what_to_write_instead_of_a_list(tmp_path: Path, written: str, advice: str) -> None:
    text = HEAD + f"    def forward(self, s: In) -> int:\n{indent(written, '        ')}\n        return 1\n"
    with pytest.raises(CompileError) as error:
        build(load(tmp_path, text, "model").M())
    (problem,) = error.value.problems
    assert problem.advice.startswith(advice)


# ---- all problems of a model at once, at the lines of the user's source and in its words

TOGETHER = """
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class Bag:
    xs: list[Tensor]
    n: int


class M(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.scan = nn.AdaptiveMaxPool1d(2, return_indices=True)

"""
ALL: dict[str, tuple[str, list[str]]] = {
    "a field without a shape, and a statement": (
        "def forward(self, bag: Bag):\n    try:\n        y = torch.zeros(3).nanquantile(0.5)\n    except TypeError:\n"
        "        pass\n    return nonexistent + self.layer(bag.xs[0])",
        [
            "20: the shape of `Bag.xs` is not known",
            "21: a `TypeError` is not caught in the language",
            "22: `nanquantile` is not an operation of the language",
            "25: `nonexistent` is not defined",
        ],
    ),
    "several arguments, and what is done with them": (
        "def forward(self, x, y):\n    a = torch.zeros(3).nanquantile(0.5)\n    return missing",
        [
            "20: the parameter `x, y` of `forward` has no annotation",
            "21: `nanquantile` is not an operation of the language",
            "22: `missing` is not defined",
        ],
    ),
    "an annotation, and what follows": (
        "def forward(self, x: Tensor) -> Tensor:\n    return self.layer(x) + missing",
        ["20: the shape of the tensor that `x` is, or holds, is not known", "21: `missing` is not defined"],
    ),
    "what the library refuses": (
        "def forward(self, n: int):\n    x = torch.zeros(4, 4)\n    a = torch.unique(x, dim=0)\n"
        "    b = F.mse_loss(x, x, reduction='avg')\n    c = self.scan(x)\n    d = torch.std(x, mean=3)\n"
        "    return F.mse_loss(x, x, reduction='avg')",
        [
            "22: `unique` with a dimension is not in the language",
            "23: `mse_loss`: a `reduction` but mean, sum and none is not in the language",
            "24: `scan`: adaptive pooling with `return_indices` is not in the language",
            "25: `std` has no argument `mean` here",
            "26: `mse_loss`: a `reduction` but mean, sum and none is not in the language",
        ],
    ),
    "types as their author thinks of them": (
        "def forward(self, n: int):\n    bag = None if n > 3 else Bag([torch.zeros(4)], n)\n    return self.first(bag)\n\n"
        "def first(self, bag: int):\n    return self.layer(bag)",
        ["22: the argument `bag` of `first`: Bag where an int is needed"],
    ),
}


@pytest.mark.parametrize("kind", ALL)
def test_all_problems_are_told_at_the_users_lines(tmp_path: Path, kind: str) -> None:
    body, wanted = ALL[kind]
    module = load(tmp_path, TOGETHER.lstrip("\n") + indent(body + "\n", "    "), "together")
    with pytest.raises(CompileError) as error:
        build(module.M().eval())
    got = [f"{p.span.line}: {p.message}" for p in error.value.problems]
    assert got == wanted
    assert {p.span.file for p in error.value.problems} == {str(tmp_path / "together.py")}


def test_ints_beside_an_empty_tensor_of_floats_keep_their_type(tmp_path: Path) -> None:
    body = "def forward(self, s: list[int]):\n    return (len(s), torch.tensor(s)) if s else (0, torch.empty(0))\n"
    model = load(tmp_path, HEAD + indent(body, "    "), "empty_of_floats").M()
    program = agrees(model, [[1, 2], []])
    of_ints, of_floats = (as_tensors(Interpreter(program).run(s))[1] for s in ([1, 2], []))
    assert of_ints.dtype == torch.int64
    assert of_floats.is_floating_point()


def test_an_error_outside_of_all_statements_is_one_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(tmp_path, HEAD + "    def forward(self, s: In):\n        return s.n\n", "outside_of_statements").M()

    def fails(self: object, key: object) -> None:
        raise Mismatch("an int where a string is needed")

    monkeypatch.setattr(frontend_program.ProgramBuilder, "_give_masks_out", fails)
    with pytest.raises(CompileError, match=r"outside_of_statements.py:\d+:\d+: an int where a string is needed"):
        build(model)
