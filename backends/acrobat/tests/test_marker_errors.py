"""Wrong uses of `phase` and `parallel`: the message, the line and the text above the caret; and similar uses that are right."""

from __future__ import annotations

import linecache
from pathlib import Path
from textwrap import indent

import pytest

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise

HEAD = """from __future__ import annotations
import torch
from torch import Tensor, nn
from backends.acrobat import parallel, phase

def helper(model: Base, x: Tensor) -> Tensor:
    return phase(model.f(x))

class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.table = nn.Embedding(9, 4)
        self.start = nn.Parameter(torch.zeros(4))
        self.size = 3

    def f(self, x: Tensor) -> Tensor:
        return torch.tanh(self.a(x))

    def words(self, xs: list[int]) -> list[Tensor]:
        return [self.table.weight[x] for x in xs]

    def scan(self, xs: list[Tensor]) -> list[Tensor]:
        state = self.start
        states = []
        for x in xs:
            state = self.f(x + state)
            states.append(state)
        return states

    def recur(self, state: Tensor, xs: list[Tensor]) -> list[Tensor]:
        if len(xs) == 0:
            return []
        new = self.f(xs[0] + state)
        return [new] + self.recur(new, xs[1:])

    def split(self, xs: list[Tensor]) -> list[Tensor]:
        if len(xs) < 2:
            return [self.f(x) for x in xs]
        return self.split(xs[: len(xs) // 2]) + self.split(xs[len(xs) // 2 :])

    def cell(self, x: Tensor) -> tuple[Tensor, Tensor]:
        c = torch.tanh(self.a(x))
        return torch.sigmoid(c), c

    def down(self, x: Tensor, n: int) -> tuple[Tensor, Tensor]:
        if n == 0:
            return self.f(x), self.a(x)
        return self.down(x, n - 1)

    def same(self, xs: list[Tensor]) -> list[Tensor]:
        return xs

    def walk(self, x: Tensor, n: int) -> Tensor:
        if n == 0:
            return x
        return self.walk(phase(self.f(x)), n - 1)

class M(Base):
"""

LOOP = "in a loop, to which an instance comes any number of times"
COMPREHENSION = "in a comprehension, which makes any number of elements"
BRANCH = "in a branch after which the instance goes on, and others take another branch"
LAST = "def forward(self, xs: list[int]) -> Tensor:\n    x = self.table.weight[len(xs)]\n"
LIST = "def forward(self, xs: list[int]) -> list[Tensor]:\n    ws = self.words(xs)\n"
PAIR = "def forward(self, xs: list[int]) -> tuple[Tensor, Tensor]:\n    x = self.table.weight[len(xs)]\n"

WRONG = {
    # ---- how they are written
    "no value": (LAST + "    phase()\n    return x", "phase()", "`phase()` without a value begins no phase"),
    "not used": (
        LAST + "    phase(x)\n    return x",
        "phase(x)",
        "the result of `phase` is not used, so no work is of its phase",
    ),
    "keyword": (LAST + "    return phase(value=x)", "phase(value=x)", "`phase` takes no keyword arguments"),
    "constant": (
        LAST + "    n = phase(self.size)\n    return x * n",
        "phase(self.size)",
        "this is the same for all instances, and there from the start: no phase makes it",
    ),
    "weight": (
        LAST + "    return x * phase(self.start)",
        "phase(self.start)",
        "this is the same for all instances, and there from the start: no phase makes it",
    ),
    "one value": (LAST + "    return parallel(x)", "parallel(x)", "`parallel` takes several values, or one list"),
    "nothing": (LAST + "    parallel()\n    return x", "parallel()", "`parallel` takes several values, or one list"),
    "a tuple": (PAIR + "    return parallel((x, x))", "parallel((x, x))", "`parallel` takes several values, or one list"),
    "a module": (
        LAST + "    return phase(x, self.a)[0]",
        "phase(x, self.a)",
        "a module (Linear) cannot be chosen at run time",
    ),
    # ---- where `phase` stands
    "loop": (
        LAST + "    for y in self.words(xs):\n        x = phase(self.f(x + y))\n    return x",
        "phase(self.f(x + y))",
        f"`phase` stands {LOOP}",
    ),
    "while": (
        LAST + "    n = 0\n    while n < len(xs):\n        x = phase(x)\n        n += 1\n    return x",
        "phase(x)",
        f"`phase` stands {LOOP}",
    ),
    "comprehension": (
        LIST + "    return [phase(self.f(w)) for w in ws]",
        "phase(self.f(w))",
        f"`phase` stands {COMPREHENSION}",
    ),
    "helper in a comprehension": (
        LIST + "    return [helper(self, w) for w in ws]",
        "phase(model.f(x))",
        f"`phase` is executed {COMPREHENSION} (by the call in line 62)",
    ),
    "branch": (
        LAST + "    if len(xs) > 1:\n        x = phase(self.f(x))\n    return self.a(x)",
        "phase(self.f(x))",
        f"`phase` stands {BRANCH}",
    ),
    "choice": (
        LAST + "    x = phase(x) if len(xs) > 1 else x\n    return self.a(x)",
        "phase(x)",
        f"`phase` stands {BRANCH}",
    ),
    "branch that ends a helper only": (
        LAST
        + "    return self.a(self.late(x, len(xs)))\ndef late(self, x: Tensor, n: int) -> Tensor:\n"
        + "    if n == 0:\n        return x\n    return phase(self.f(x))",
        "phase(self.f(x))",
        f"`phase` stands {BRANCH}",
    ),
    "recursion": (
        LAST + "    return self.walk(x, len(xs))",
        "phase(self.f(x))",
        "`phase` stands in `Base.walk`, which calls itself",
    ),
    # ---- what `parallel` states
    "one of the other": (
        PAIR + "    a = self.f(x)\n    b = self.f(a)\n    return parallel(a, b)",
        "parallel(a, b)",
        "`b` is not independent of `a`: `self.f(x)` (line 62) -> `self.f(a)` (line 63)",
    ),
    "in a statement": (
        PAIR + "    a = self.f(x)\n    b = torch.relu(self.a(a * 2))\n    parallel(b, a)\n    return a, b",
        "parallel(b, a)",
        "`b` is not independent of `a`: `self.f(x)` (line 62) -> `torch.relu(self.a(a * 2))` (line 63)",
    ),
    "by another name": (
        PAIR + "    t = self.cell(x)\n    a, _ = t\n    return parallel(a, self.f(t[0]))",
        "parallel(a, self.f(t[0]))",
        "`self.f(t[0])` is not independent of `a`: `self.cell(x)` (line 62) -> `self.f(t[0])` (line 64)",
    ),
    "by a decision": (
        PAIR + "    a = self.f(x)\n    b = self.a(x) if a[0].item() > 0 else x + 1\n    return parallel(a, b)",
        "parallel(a, b)",
        "`b` is not independent of `a`: `self.f(x)` (line 62) -> `a[0].item() > 0` (line 63)",
    ),
    "by a decision for several": (
        PAIR
        + "    a = self.f(x)\n    b, c = x, x\n    if a[0].item() > 0:\n        b, c = self.a(x), x + 1\n"
        + "    a, b = parallel(a, b + c)\n    return a, b",
        "parallel(a, b + c)",
        "`b + c` is not independent of `a`: `self.f(x)` (line 62) -> `a[0].item() > 0` (line 64) -> `b + c` (line 66)",
    ),
    "by how often a loop runs": (
        PAIR
        + "    a = self.f(x)\n    b, n = x, 0\n    while a[0].item() * n < 1:\n        b, n = self.a(x), n + 1\n"
        + "    return parallel(a, b)",
        "parallel(a, b)",
        "`b` is not independent of `a`: `self.f(x)` (line 62) -> `a[0].item() * n < 1` (line 64)",
    ),
    "in one branch": (
        PAIR
        + "    if len(xs) > 2:\n        a = self.f(x)\n        b = self.a(a)\n    else:\n        a = x\n        b = self.f(x)\n"
        + "    a, b = parallel(a, b)\n    return a, b",
        "parallel(a, b)",
        "`b` is not independent of `a`: `self.f(x)` (line 63) -> `self.a(a)` (line 64)",
    ),
    "inside a function": (
        PAIR + "    h, c = self.cell(x)\n    return parallel(h, c)",
        "parallel(h, c)",
        "`h` is not independent of `c`: `torch.tanh(self.a(x))` (line 43) -> `torch.sigmoid(c)` (line 44) -> "
        "`self.cell(x)` (line 62)",
    ),
    "part of a tuple": (
        PAIR + "    a = self.f(x)\n    t, b = parallel((a, self.a(x)), self.a(a))\n    return t[1], b",
        "parallel((a, self.a(x)), self.a(a))",
        "`self.a(a)` is not independent of `(a, self.a(x))`: `self.f(x)` (line 62) -> `self.a(a)` (line 63)",
    ),
    "a loop's last value": (
        PAIR + "    s = x\n    for w in self.words(xs):\n        s = self.f(s + w)\n    return parallel(s, self.a(s))",
        "parallel(s, self.a(s))",
        "`self.a(s)` is not independent of `s`: `self.a(s)` (line 65)",
    ),
    "a long chain": (
        PAIR
        + "    a = self.f(x)\n    b = a\n"
        + "".join(f"    b = self.a(b + {i})\n" for i in range(8))
        + "    return parallel(a, b)",
        "parallel(a, b)",
        "`b` is not independent of `a`: `self.f(x)` (line 62) -> `self.a(b + 0)` (line 64) -> `self.a(b + 1)` (line 65) -> "
        "... -> `self.a(b + 5)` (line 69) -> `self.a(b + 6)` (line 70) -> `self.a(b + 7)` (line 71)",
    ),
    "states of a loop": (
        LIST + "    return parallel(self.scan(ws))",
        "self.scan(ws)",
        "the elements of `self.scan(ws)` are not independent: the loop in line 26 carries `state` from one to the next, by "
        "`self.f(x + state)` (line 27)",
    ),
    "states handed on": (
        LIST + "    states = self.same(self.scan(ws))[1:]\n    return parallel(states)",
        "states",
        "the elements of `states` are not independent: the loop in line 26 carries `state` from one to the next, by "
        "`self.f(x + state)` (line 27)",
    ),
    "made of the states": (
        LIST
        + "    s = self.start\n    out = []\n    for w in ws:\n        s = self.f(s + w)\n        out.append(self.a(s))\n"
        + "    return parallel(out)",
        "out",
        "the elements of `out` are not independent: the loop in line 64 carries `s` from one to the next, by "
        "`self.f(s + w)` (line 65)",
    ),
    "the list's last element": (
        LIST + "    out = [self.start]\n    for w in ws:\n        out.append(self.f(w + out[-1]))\n    return parallel(out)",
        "out",
        "the elements of `out` are not independent: the loop in line 63 carries `out` from one to the next, by "
        "`out.append(self.f(w + out[-1]))` (line 64)",
    ),
    "states of a recursion": (
        LIST + "    return parallel(self.recur(self.start, ws))",
        "self.recur(self.start, ws)",
        "the elements of `self.recur(self.start, ws)` are not independent: `self.recur(new, xs[1:])` uses "
        "`self.f(xs[0] + state)`: `self.f(xs[0] + state)` (line 34) -> `self.recur(new, xs[1:])` (line 35)",
    ),
    "an element of the others": (
        LIST + "    ys = [self.f(w) for w in ws]\n    return parallel(ys + [self.a(ys[0])])",
        "parallel(ys + [self.a(ys[0])])",
        "the elements of `ys + [self.a(ys[0])]` are not independent: `self.a(ys[0])` uses `[self.f(w) for w in ws]`: "
        "`[self.f(w) for w in ws]` (line 62) -> `self.a(ys[0])` (line 63)",
    ),
    "an element of the others, which a function gives": (
        LIST + "    ys = self.split(ws)\n    return parallel([self.a(ys[0])] + ys)",
        "parallel([self.a(ys[0])] + ys)",
        "the elements of `[self.a(ys[0])] + ys` are not independent: `self.a(ys[0])` uses `self.split(ws)`: "
        "`self.split(ws)` (line 62) -> `self.a(ys[0])` (line 63)",
    ),
    "written out": (
        LIST + "    a = self.f(ws[0])\n    return parallel([a, self.f(a)])",
        "parallel([a, self.f(a)])",
        "the elements of `[a, self.f(a)]` are not independent: `self.f(a)` uses `self.f(ws[0])`: `self.f(ws[0])` (line 62) -> "
        "`self.f(a)` (line 63)",
    ),
}


@pytest.mark.parametrize(("body", "marked", "message"), WRONG.values(), ids=WRONG)
def test_message(tmp_path: Path, body: str, marked: str, message: str) -> None:
    module = load(tmp_path, HEAD + indent(body, "    ") + "\n", "model").M()
    linecache.checkcache()
    for phases in (True, False):
        with pytest.raises(CompileError) as error:
            optimise(build(module), Options(phases=phases))
        (problem,) = error.value.problems
        assert problem.message == message
        assert problem.advice or "keyword" in message or "module" in message
        _, source, caret, *_ = str(problem).splitlines()
        assert source[caret.index("^") : caret.rindex("^") + 1] == marked


def test_a_whole_message(tmp_path: Path) -> None:
    body, *_ = WRONG["branch"]
    module = load(tmp_path, HEAD + indent(body, "    ") + "\n", "model").M()
    linecache.checkcache()
    with pytest.raises(CompileError) as error:
        optimise(build(module), Options())
    expected = """1 problem in the model

{}/model.py:63:17: `phase` stands in a branch after which the instance goes on, and others take another branch
                x = phase(self.f(x))
                    ^^^^^^^^^^^^^^^^
    put it before or after the branches, or end each branch with `return`"""
    assert str(error.value) == expected.format(tmp_path)


def test_all_of_them_are_told_together(tmp_path: Path) -> None:
    body = LIST + "    ys = parallel(self.scan(ws))\n    return [phase(y) for y in parallel(self.recur(self.start, ys))]"
    module = load(tmp_path, HEAD + indent(body, "    ") + "\n", "model").M()
    with pytest.raises(CompileError, match="3 problems in the model"):
        optimise(build(module), Options())


RIGHT = {
    "siblings": PAIR + "    a, b = parallel(self.f(x), self.a(x))\n    return a, b",
    "one value twice": PAIR + "    a = self.f(x)\n    return parallel(a, a)",
    "a shared part": PAIR + "    a = self.f(x)\n    s, t = parallel((a, self.a(a)), (a, self.f(a)))\n    return s[1], t[1]",
    "siblings from a recursion": PAIR + "    a, b = self.down(x, len(xs))\n    return parallel(a, b)",
    "in every round": LAST
    + "    for w in self.words(xs):\n        a, b = parallel(self.f(x), self.a(x + w))\n        x = a + b\n    return x",
    "in every branch": PAIR
    + "    if len(xs) > 2:\n        a = self.f(x)\n        b = self.a(x)\n    else:\n        a = x\n        b = self.f(x)\n"
    + "    a, b = parallel(a, b)\n    return a, b",
    "a comprehension": LIST + "    return parallel([self.f(w) for w in parallel(ws)])",
    "with a condition": LIST + "    return parallel([self.f(w) for w in ws if w[0].item() > 0])",
    "of states": LIST + "    return parallel([self.f(s) for s in self.scan(ws)])",
    "a loop that only collects": LIST
    + "    out = []\n    for i, w in enumerate(ws):\n        if i % 2 == 0:\n            out.append(self.f(w))\n"
    + "        else:\n            out.append(w)\n    return parallel(out)",
    "a loop that counts": LIST
    + "    out = []\n    i = 0\n    while i < len(ws):\n        out.append(self.f(ws[i]))\n        i += 1\n"
    + "    return parallel(out)",
    "beside a carried state": LIST
    + "    s = self.start\n    out = []\n    for w in ws:\n        s = self.f(s + w)\n        out.append(self.a(w))\n"
    + "    return [parallel(out)[0], s]",
    "layers": LIST + "    for _ in range(3):\n        ws = [self.f(w) for w in ws]\n    return parallel(ws)",
    "halves": LIST + "    return parallel(self.split(ws))",
    "from outside": LIST
    + "    return self.inner(ws)\ndef inner(self, ys: list[Tensor]) -> list[Tensor]:\n    return parallel(ys)",
    "numbers": LAST + "    parallel(len(xs), 3)\n    return x * parallel(len(xs), len(xs) + 1)[1]",
    "phases in turn": LAST
    + "    x = phase(self.f(x))\n    for cell in (self.a, self.a):\n        x = phase(cell(x))\n    return x",
    "phase in a branch that ends": LAST
    + "    if len(xs) > 1:\n        return self.a(phase(self.f(x)))\n    y = helper(self, x)\n    return self.f(y)",
    "phase in a helper that ends": LAST
    + "    return self.late(x, len(xs))\ndef late(self, x: Tensor, n: int) -> Tensor:\n"
    + "    if n == 0:\n        return x\n    return self.f(phase(self.f(x)))",
    "phase of numbers": LAST + "    n, y = phase(len(xs), x)\n    return y * n",
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_may_be(tmp_path: Path, body: str) -> None:
    optimise(build(load(tmp_path, HEAD + indent(body, "    ") + "\n", "model").M()), Options())
