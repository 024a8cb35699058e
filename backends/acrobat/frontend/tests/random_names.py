"""Random models that give lists several names and change them: what each name shows has to be what it shows in Python."""

from __future__ import annotations

import random

HEAD = """\
from torch import nn

class Box:
    def __init__(self, xs):
        self.xs = xs

class M(nn.Module):
    def put(self, xs, v):
        xs.append(v)

    def pick(self, xs, ys, v):
        if v % 2:
            return xs
        ys.append(v)
        return ys

    def forward(self, ws):
        a = []
        b = [5]
        c = {c}
        rows = [a, b]
        table = {{0: c}}
        told = [1]
        box = Box({box})
{body}
        return a, b, c, rows, table, told, box.xs
"""
NAMES = ("a", "b", "c")
SIMPLE = (
    "{x} = []",
    "{x} = [{e}]",
    "{x} = {y}",
    "{x} = {y}",
    "{x}.append({e})",
    "{x}.append({e})",
    "rows.append({x})",
    "{x} = rows[({e}) % len(rows)]",
    "table[({e}) % 3] = {x}",
    "{x} = table.setdefault(({e}) % 3, [])",
    "{x} = table.setdefault(({e}) % 3, {y})",
    "{x} = table.get(({e}) % 3, {y})",
    "{x} += [{e}]",
    "{x} = {y} + [{e}]",
    "{x} = list({y})",
    "{x} = {y}[1:]",
    "{x}, {y} = {y}, {x}",
    "box.xs = {x}",
    "{x} = box.xs",
    "box.xs.append({e})",
    "self.put({x}, {e})",
    "{x} = self.pick({x}, {y}, {e})",
    "told = told + [int({x} is {y}), int({x} == {y}), int(({e}) in {x}), len({x})]",
)
GUARDED = ("{x}.pop()", "{x}[0] = {e}", "{x}[-1] += {e}")
TESTS = ("({e}) % 2", "len({x}) > 2", "{x} is {y}", "not {x}")


def source(seed: int) -> str:
    """The source of the model with this number, of the class `M`; an instance is a list of ints."""
    draw = random.Random(seed)
    body = _block(draw, 2, 0, False, draw.randint(2, 5))
    body += [_line(2, "for i, w in enumerate(ws):"), *_block(draw, 3, 1, True, draw.randint(2, 5))]
    return HEAD.format(c=draw.choice(("a", "[]", "[1, 2]")), box=draw.choice(("a", "b", "[9]")), body="\n".join(body))


def _line(depth: int, text: str) -> str:
    return "    " * depth + text


def _block(draw: random.Random, depth: int, nested: int, in_loop: bool, count: int) -> list[str]:
    return [line for _ in range(count) for line in _statement(draw, depth, nested, in_loop)]


def _statement(draw: random.Random, depth: int, nested: int, in_loop: bool) -> list[str]:
    x, y = draw.choice(NAMES), draw.choice(NAMES)
    e = draw.choice(("1", "2", "7", *(("w", "i", "w + i") if in_loop else ("len(ws)",))))
    kind = draw.random()
    if kind < 0.12 and nested < 2:
        test = draw.choice(TESTS).format(x=x, y=y, e=e)
        lines = [_line(depth, f"if {test}:"), *_block(draw, depth + 1, nested + 1, in_loop, draw.randint(1, 2))]
        if draw.random() < 0.5:
            lines += [_line(depth, "else:"), *_block(draw, depth + 1, nested + 1, in_loop, draw.randint(1, 2))]
        return lines
    if kind < 0.22:
        return [_line(depth, f"if {x}:"), _line(depth + 1, draw.choice(GUARDED).format(x=x, e=e))]
    return [_line(depth, draw.choice(SIMPLE).format(x=x, y=y, e=e))]
