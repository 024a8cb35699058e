"""Lists, sets and dictionaries that the model makes and changes: each function in the interpreter, compared with Python."""

from __future__ import annotations

import random
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import torch

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import agrees_unless_refused

HEAD = """
from collections import deque

import torch
import torch.nn as nn


class Model(nn.Module):
    NAMES = ("red", "green", "blue")
    PRICES = {"red": 3, "green": 5, 7: 9}

    def collect(self, n, found):
        found.append(n)
        if n > 1:
            self.collect(n // 2, found)

    def push(self, stack, x):
        stack.append(x)
        return len(stack)

    def fresh(self, n):
        out = [n]
        out.append(n + 1)
        return out

    def copy(self, xs):
        return xs

    def forward(self, s):
"""

BODIES = {
    "extend, insert, reverse": """
xs = [0]
xs.extend(s)
xs.insert(1, 7)
xs.insert(-1, 8)
xs.reverse()
return xs
""",
    "pop": """
xs = list(s) + [1, 2]
a = xs.pop()
b = xs.pop(0)
c = xs.pop(-1) if False else 0
while len(xs) > 2:
    xs.pop()
return xs, a, b, c
""",
    "items": """
xs = [0] * (len(s) + 1)
for i, x in enumerate(s):
    xs[i + 1] = x + xs[i]
    xs[-1] += 1
xs[0] = -1
return xs
""",
    "in branches": """
xs, ys = [], []
for x in s:
    if x > 3:
        xs.append(x)
        if x > 6:
            ys.extend([x, x])
    elif xs:
        ys.append(xs.pop())
    (xs if x % 2 else ys).append(x)
return xs, ys
""",
    "given to a function": """
found = []
for x in s:
    self.collect(x, found)
if s:
    self.collect(s[0], found)
stack = self.fresh(3)
size = self.push(stack, 9) + self.push(stack, 10)
return found, stack, size
""",
    "deque": """
queue = deque(s)
out = []
while queue:
    x = queue.popleft()
    out.append(x)
    if x > 4:
        queue.append(x // 2)
return out
""",
    "taken apart": """
first, *rest = [1, 2, 3]
a, b = [len(s), 4]
pairs = [(x, x * x) for x in s]
xs, ys = zip(*pairs) if s else ([0], [0])
return first, rest, a, b, xs[0] + ys[-1]
""",
    "displays with stars": """
return [*s, 1, *[x + 1 for x in s]], (*(1, 2), 3)
""",
    "sorted, max, min": """
if not s:
    return [], 0, 0, False, True
best = max(s, key=lambda x: (x * 7) % 5)
return sorted(s, key=lambda x: -x), best, min(s, key=lambda x: x % 3), any(x > 8 for x in s), all([x > 0 for x in s])
""",
    "max, min and sum out of a dictionary": """
by_name = {"max": max, "min": min, "sum": sum}
return [by_name[name](s) if s else 0 for name in (["max", "min", "sum"] if len(s) % 2 else ["sum", "max"])]
""",
    "stable sorting": """
return sorted(s), sorted(s, key=lambda x: x % 3), sorted(s, key=lambda x: x % 3, reverse=True)
""",
    "sets": """
seen = set()
twice = {0}
for x in s:
    if x in seen:
        twice.add(x)
    seen.add(x)
twice.discard(3)
both = seen.union(twice)
return seen, sorted(twice), len(both), 5 in both, {x % 3 for x in s}
""",
    "sets that lose elements": """
seen = {1, 2}
for x in s:
    seen.add(x)
    if x > 7:
        seen.clear()
    if x in seen and x > 4:
        seen.remove(x)
return seen
""",
    "cleared": """
counts, last, table = {1: 2}, {7: 7}, [[1], [2]]
counts.clear()
last.clear()
table[0].clear()
for x in s:
    counts[x] = counts.get(x, 0) + 1
return counts, last, table
""",
    "one of two lists": """
xs, ys = [1], [2, 3]
for x in s:
    (xs if x % 2 else ys).extend([x, x])
    (xs if x > 3 else ys).insert(0, x)
return xs, ys
""",
    "items of one of two lists": """
left, right, counts, more = [[] for _ in s], [[] for _ in s], [0, 0], [0, 0]
for i, x in enumerate(s):
    (left if x % 2 else right)[i].append(x)
    (left if x > 3 else right)[0] = [i, x]
    (left if x % 3 == 0 else right if x % 3 == 1 else left)[-1].extend([x, 7])
    (counts if x % 2 else more)[x % 2] += len(left[i])
return left, right, counts, more
""",
    "names in comprehensions": """
x = 5
for i in s:
    both = {x for x in range(i)}, {x: i for x in range(i)}
return x
""",
    "None on the left": """
n = s[0] if s else None
return None == n, None is not n, None in [n]
""",
    "dictionaries": """
counts, last = {}, {}
for i, x in enumerate(s):
    counts[x] = counts.get(x, 0) + 1
    last[x] = i
    if x in last and x > 7:
        counts[0] = x
return counts, last, [k + v for k, v in counts.items()], list(last.keys()), sum(last.values()), len(counts)
""",
    "dictionaries by comprehension": """
squares = {x: x * x for x in s}
return squares, [squares[x] for x in s], {"n": len(s), "total": sum(s)}
""",
    "constant dictionaries": """
colours = [self.NAMES[x % 3] for x in s]
known = [c for c in colours if c in self.PRICES]
return [self.PRICES[c] for c in known], self.NAMES.index("green"), "red" in colours, colours
""",
    "rounding": """
return [round(x / 2) for x in s], [round(x * 0.75) for x in s], abs(-3)
""",
}

INSTANCES = [[1, 2, 3], [], [5], [9, 8, 8, 1, 4], [7, 7, 7, 2], [4, 3, 9, 6, 6, 5]]


def model_of(name: str, body: str, folder: Path) -> torch.nn.Module:
    text = HEAD + indent(body.strip("\n") + "\n", "        ")
    model: torch.nn.Module = load(folder, text, f"containers_{abs(hash(name))}").Model().eval()
    return model


@pytest.mark.parametrize("name", BODIES)
def test_body(name: str, tmp_path: Path) -> None:
    model, rng = model_of(name, BODIES[name], tmp_path), random.Random(0)
    instances: list[Any] = INSTANCES + [[rng.randrange(1, 10) for _ in range(rng.randrange(9))] for _ in range(6)]
    program = build(model, sample=instances[:4])
    verify(program)
    interpreter = Interpreter(program)
    for instance in instances:
        expected = model(instance)
        got = interpreter.run(instance)
        assert got == expected, f"{instance}"
        assert repr(got) == repr(expected) or isinstance(expected, tuple), f"{instance}"


REFUSED = {
    "xs = s\nxs.append(1)\nreturn xs": "may be seen under another name",
    "xs = [1]\nys = xs\nxs.append(2)\nreturn ys": "may be seen under another name",
    "xs = [1]\nreturn len(s) > 1 and xs.pop() > 0": "computed several times, or not at all",
    "return [x for x in {1, 2, 3} if x > len(s)]": "the order of a set is not known",
    "self.collect(3, s)\nreturn s": "may be seen under another name",
    "xs = [1]\nys = self.copy(xs)\nys.append(2)\nreturn xs": "may be seen under another name",
    "n = s[0] if s else None\nreturn n < None": "cannot be compared",
    "return len(s) in None": "is not in the language",
    "return 'a' < 3": "not supported between instances",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str, tmp_path: Path) -> None:
    agrees_unless_refused(model_of(body, body, tmp_path), INSTANCES, re.escape(REFUSED[body]))


@pytest.mark.parametrize(
    "body",
    [
        "a, b = s\nreturn a + b",
        "xs = list(s)\nreturn xs.pop()",
        "seen = {5}\nseen.remove(len(s))\nreturn seen",
        "d = {x: 1 for x in s}\nreturn d[11]",
        "xs = [1]\nxs[len(s)] = 2\nreturn xs",
    ],
)
def test_what_raises_in_python_is_an_error_of_the_instance(body: str, tmp_path: Path) -> None:
    model = model_of(body, body, tmp_path)
    interpreter = Interpreter(build(model, sample=INSTANCES))
    raised = 0
    for instance in INSTANCES:
        try:
            expected = model(instance)
        except (ValueError, LookupError):
            raised += 1
            with pytest.raises(InstanceError):
                interpreter.run(instance)
        else:
            assert interpreter.run(instance) == expected
    assert raised
