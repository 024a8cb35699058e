"""Random models as users write them: classes, dictionaries, strings, changed lists, PyTorch's modules, ragged tensors.

`ir.tests.programs` draws programs of the core IR, which are then printed as Python; this module draws Python text. `forward` is
a sequence of statements, each of which replaces `h`, a vector with elements in [-1, 1]. The statements come from *idioms*,
typical ways to write something (`random_idioms`, `random_modules`), and stand also in branches, loops, methods and submodules.
Most statements can be removed without making the model invalid, so that it is easy to shrink (`smaller_models`).

The right results are those of eager PyTorch in float64. They can be compared, because no decision depends on a rounded number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

Choose: TypeAlias = Callable[[int], int]
"""Chooses one of several options: `choose(n)` is in [0, n)."""
Lines: TypeAlias = list[str]

HEAD = """\
import bisect
import enum
import functools
import heapq
import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from random import Random

import torch
import torch.nn as nn
import torch.nn.functional as F

D = {d}


def vector(rng, *shape):
    return torch.tensor([[rng.uniform(-1, 1) for _ in range(shape[-1])] for _ in range(shape[0])] if len(shape) > 1 else
                        [rng.uniform(-1, 1) for _ in range(shape[-1])])

"""

FIELDS = {
    "n": "rng.randrange(5)",
    "flag": "rng.random() < 0.5",
    "scale": "rng.randrange(-4, 5) / 4",
    "op": 'rng.choice(["add", "mul", "none"])',
    "x": "vector(rng, D)",
    "rows": "vector(rng, rng.randrange(2, 6), D)",
    "others": "vector(rng, rng.randrange(2, 5), D)",
    "ids": "[rng.randrange(7) for _ in range(rng.randrange(1, 6))]",
    "xs": "[vector(rng, D) for _ in range(rng.randrange(1, 5))]",
    "maybe": "vector(rng, D) if rng.random() < 0.5 else None",
    "tree": "tree(rng, 3)",
    "graph": "graph(rng)",
    "shapes": "[shape(rng) for _ in range(rng.randrange(4))]",
    "table": "{k: rng.randrange(5) for k in rng.sample(range(6), rng.randrange(4))}",
    "pair": "(rng.randrange(3), vector(rng, D))",
    "words": "[rng.choice(['fig', 'Apple', 'kiwi', 'date-2', 'figs', 'Zz']) for _ in range(rng.randrange(1, 5))]",
    "kind": "rng.choice(list(Kind))",
    "level": "rng.choice(list(Level))",
}
"""The fields that an instance may have, each with the Python expression that draws it."""

TREE = """
class Node:
    def __init__(self, word, below):
        self.word, self.below = word, below

    @property
    def leaf(self):
        return len(self.below) == 0

    def count(self):
        return 1 + len(self.below)


def tree(rng, depth):
    return Node(rng.randrange(7), [tree(rng, depth - 1) for _ in range(rng.randrange(3) if depth else 0)])


def graph(rng):
    nodes = [Node(rng.randrange(7), [])]
    for _ in range(rng.randrange(1, 5)):
        nodes.append(Node(rng.randrange(7), [rng.choice(nodes) for _ in range(rng.randrange(3))]))
    return nodes[-1]

"""

SHAPES = """
@dataclass
class Circle:
    radius: float


@dataclass
class Box:
    width: int
    x: torch.Tensor


@dataclass
class Point:
    pass


def shape(rng):
    return [Circle(rng.randrange(9) / 8), Box(rng.randrange(4), vector(rng, D)), Point()][rng.randrange(3)]

"""

KINDS = """
class Kind(enum.Enum):
    UP = 1
    DOWN = 2
    LEVEL = 5

    @property
    def factor(self):
        return 0.5 if self is Kind.UP else -0.25 * self.value


class Level(enum.IntEnum):
    LOW = 0
    MID = 1
    HIGH = 2

"""

SHOWN = 14
"""How many instances, beside those of the mini-batch, types are read off."""


@dataclass(frozen=True, slots=True)
class Written:
    """A model as text: a module with `Model`, `instance(rng)`, and no annotations."""

    text: str
    idioms: tuple[str, ...] = ()
    """The names of the idioms and forms that were drawn."""


@dataclass
class Maker:
    """A model under construction."""

    choose: Choose
    d: int
    fields: dict[str, None] = field(default_factory=dict)
    top: Lines = field(default_factory=list)
    """The lines of classes and functions at the top level of the module."""
    init: Lines = field(default_factory=list)
    methods: Lines = field(default_factory=list)
    idioms: list[str] = field(default_factory=list)
    numbers: int = 0
    given: str = "g"

    def pick(self, *options: str) -> str:
        return options[self.choose(len(options))]

    def new(self, hint: str) -> str:
        """A new name that begins with `hint`."""
        self.numbers += 1
        return f"{hint}{self.numbers}"

    def of(self, name: str) -> str:
        """The text that reads field `name` of the instance."""
        self.fields[name] = None
        return f'{self.given}["{name}"]' if self.dictionary else f"{self.given}.{name}"

    @property
    def dictionary(self) -> bool:
        return self.form == "dictionary"

    form: str = "class"
    """What instances are: objects of a "class" or a "dataclass", or a "dictionary"."""

    def module(self, text: str, hint: str = "m") -> str:
        """Adds a submodule that the expression `text` constructs; gives the text that names it."""
        name = self.new(hint)
        self.init.append(f"self.{name} = {text}")
        return f"self.{name}"

    def linear(self, n: str = "D", k: str = "D") -> str:
        known = [line.split(" = ")[0] for line in self.init if line.endswith(f"= nn.Linear({k}, {n})")]
        if known and self.choose(3) == 0:
            return known[self.choose(len(known))]
        return self.module(f"nn.Linear({k}, {n})", "lin")

    def embedding(self) -> str:
        return self.module("nn.Embedding(7, D)", "emb")

    def constant(self) -> str:
        return str(self.choose(9) / 4 - 1)

    def method(self, parameters: str, lines: Lines, hint: str = "step") -> str:
        name = self.new(hint)
        self.methods += ["", f"def {name}(self, {parameters}):", *indented(lines)]
        return f"self.{name}"


Idiom: TypeAlias = Callable[[Maker], Lines]
"""Makes statements that replace `h`."""


def indented(lines: Lines) -> Lines:
    return ["    " + line if line else line for line in lines]


def block(m: Maker, least: int, most: int, depth: int = 1) -> Lines:
    """A few idioms, and sometimes branches, loops, methods and submodules with idioms in them."""
    from backends.acrobat.tests.random_idioms import IDIOMS

    out: Lines = []
    for _ in range(least + m.choose(most - least + 1)):
        if depth > 0 and m.choose(4) == 0:
            out += NESTS[m.choose(len(NESTS))](m, depth - 1)
        else:
            names = list(IDIOMS)
            name = names[m.choose(len(names))]
            m.idioms.append(name)
            out += IDIOMS[name](m)
    return out


def condition(m: Maker) -> str:
    """A condition on numbers of the instance, or on a number from a tensor that is far from the number it is compared with."""
    return [
        lambda: f"{m.of('n')} {m.pick('<', '>=', '==')} {m.choose(4)}",
        lambda: m.of("flag"),
        lambda: f"{m.of('op')} == {m.pick('add', 'mul')!r}",
        lambda: f"{m.of('scale')} > 0.1",
        lambda: f"len({m.of('ids')}) > {1 + m.choose(3)} and not {m.of('flag')}",
        lambda: f"h.sum().item() > {m.of('n')} * 40 - 20",
        lambda: f"(h > {m.pick('2', '-2')}).any() or {m.of('n')} > 2",
        lambda: f"torch.mean(h) < 2 * {m.of('n')} - 3",
    ][m.choose(8)]()


def branch(m: Maker, depth: int) -> Lines:
    m.idioms.append("branch")
    out = [f"if {condition(m)}:", *indented(block(m, 1, 1, depth))]
    if m.choose(3) == 0:
        out += [f"elif {condition(m)}:", *indented(block(m, 1, 1, depth))]
    if m.choose(2):
        out += ["else:", *indented(block(m, 1, 2, depth))]
    return out


def loop(m: Maker, depth: int) -> Lines:
    m.idioms.append("loop")
    i = m.new("i")
    inner = block(m, 1, 1, depth)
    match m.pick("range", "while", "tokens", "break"):
        case "range":
            return [f"for {i} in range({m.of('n')}):", *indented(inner)]
        case "while":
            return [f"{i} = {m.of('n')}", f"while {i} > 0:", *indented([*inner, f"{i} -= 1"])]
        case "tokens":
            return [
                f"for {i}, token{i} in enumerate({m.of('ids')}):",
                f"    if token{i} == {i}:",
                "        continue",
                *indented(inner),
            ]
    return [
        f"for {i} in {m.of('ids')}:",
        f"    if {i} > 4:",
        "        break",
        *indented(inner),
    ]


def method(m: Maker, depth: int) -> Lines:
    """A call of a new method of the model, or of a submodule of a new class; either may call itself."""
    m.idioms.append("method")
    if m.choose(2):
        inner = block(m, 1, 2, depth)
        if m.choose(2):
            m.idioms.append("a method that calls itself")
            name = m.new("again")
            m.methods += ["", f"def {name}(self, g, h, k):", "    if k <= 0:", "        return h", *indented(inner)]
            m.methods += [f"    return self.{name}(g, h, k - 1)"]
            return [f"h = self.{name}({m.given}, h, {m.of('n')})"]
        return [f"h = {m.method('g, h', [*inner, 'return h'])}({m.given}, h)"]
    m.idioms.append("a module in a module")
    below = Maker(m.choose, m.d, m.fields, m.top, idioms=m.idioms, numbers=m.numbers + 1000, form=m.form)
    inner = block(below, 1, 2, depth)
    m.numbers = below.numbers
    fields = dict(below.fields)
    prune(below, "\n".join([*below.methods, *inner]))
    below.fields = fields
    cls = m.new("Part")
    head, end, arguments = "def forward(self, g, h):", "return h", ""
    if m.choose(2):
        m.idioms.append("a forward that calls itself")
        head, arguments = "def forward(self, g, h, k):", f", {m.of('n')}"
        inner = ["if k <= 0:", "    return h", *inner]
        end = m.pick("return self(g, h, k - 1)", "return self.forward(g, h, k - 1)")
    lines = [
        f"class {cls}(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        *indented(indented(below.init)),
    ]
    m.top += ["", *lines, *indented([*below.methods, "", head, *indented([*inner, end])]), ""]
    return [f"h = {m.module(f'{cls}()', 'part')}({m.given}, h{arguments})"]


NESTS: tuple[Callable[[Maker, int], Lines], ...] = (branch, branch, loop, method)


def written(choose: Choose) -> Written:
    """Draws a model; equal choices give an equal text."""
    m = Maker(choose, (2, 3, 4)[choose(3)], form=("class", "dataclass", "dictionary")[choose(3)])
    start = m.pick("x", "ids", "rows")
    match start:
        case "x":
            body = [f"h = {m.of('x')}"]
        case "ids":
            body = [f"h = torch.tanh(sum([{m.embedding()}.weight[w] for w in {m.of('ids')}], torch.zeros(D)))"]
        case _:
            body = [f"h = torch.tanh({m.of('rows')}.sum(0))"]
    body += block(m, 2, 4, 2)
    results = [m.pick("h", "h", f"h, {m.of('n')} + 1", f"[h, h * {m.of('scale')}]", "{'state': h, 'size': len(h)}")]
    prune(m, "\n".join([*m.top, *m.methods, *body, *results]))
    parts = [HEAD.format(d=m.d)]
    parts += [TREE] if m.fields.keys() & {"tree", "graph"} else []
    parts += [SHAPES] if "shapes" in m.fields else []
    parts += [KINDS] if m.fields.keys() & {"kind", "level"} else []
    parts += ["\n".join(["", *given(m), "", *m.top, "", "class Model(nn.Module):", "    def __init__(self):"])]
    parts += ["\n".join(indented(indented(["super().__init__()", *m.init])))]
    parts += [
        "\n".join(indented([*m.methods, "", f"def forward(self, {m.given}):", *indented([*body, f"return {results[0]}"])])),
        "",
    ]
    return Written("\n".join(parts), (f"starts with {start}", f"instances: {m.form}", *m.idioms))


UNNAMED = ("register_buffer", "# found by its name")
"""What marks the lines of submodules and buffers that stay although no text names them."""


def prune(m: Maker, text: str) -> None:
    """Removes submodules and fields that `text` does not use: idioms make them for all forms they choose from."""
    m.init = [line for line in m.init if any(x in line for x in UNNAMED) or re.search(rf"{line.split(' = ')[0]}\b", text)]
    m.fields = {name: None for name in m.fields if re.search(rf"\bg(\.{name}\b|\[.{name}.\])", text)}


def given(m: Maker) -> Lines:
    """The lines of the class of instances, if there is one, and of the function that draws an instance."""
    names = list(m.fields)
    values = ", ".join(FIELDS[name] for name in names)
    match m.form:
        case "dictionary":
            made = "{" + ", ".join(f"{name!r}: {FIELDS[name]}" for name in names) + "}"
            return ["def instance(rng):", f"    return {made}"]
        case "dataclass":
            head = ["@dataclass", "class Given:", *(f"    {name}: object" for name in names)]
        case _:
            head = ["class Given:", f"    def __init__(self, {', '.join(names)}):", *(f"        self.{n} = {n}" for n in names)]
    return [*head, "", "", "def instance(rng):", f"    return Given({values})"]


def drawn(seed: int) -> Written:
    """The model of a seed."""
    return written(Random(seed).randrange)
