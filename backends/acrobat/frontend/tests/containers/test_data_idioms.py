"""How models read their data: dictionaries and named tuples as they come from files, look-ups with defaults, tensors made of
numbers, copying from the input. Each in the interpreter against eager PyTorch."""

from __future__ import annotations

from collections import defaultdict, namedtuple
from enum import Enum
from random import Random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same

D = 4


class TreeOfDictionaries(nn.Module):
    """Leaves have no key `children`, and only some nodes have a weight."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, D)
        self.lin = nn.Linear(D, D)

    def encode(self, node):
        h = self.emb.weight[node["word"]]
        children = node.get("children", [])
        if "weight" in node:
            h = h * node["weight"]
        if not children:
            return h
        return torch.tanh(self.lin(h) + sum(self.encode(c) for c in children))

    def forward(self, tree):
        return self.encode(tree)


def tree(r: Random, depth: int = 2) -> dict[str, Any]:
    node: dict[str, Any] = {"word": r.randrange(9)}
    if depth and r.random() < 0.7:
        node["children"] = [tree(r, depth - 1) for _ in range(r.randrange(1, 3))]
    if r.random() < 0.3:
        node["weight"] = r.random()
    return node


class Expressions(nn.Module):
    """A key of each node says which others it has."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(D, D)

    def value(self, e):
        if e["op"] == "leaf":
            return torch.tanh(e["x"])
        if e["op"] == "neg":
            return -self.value(e["arg"])
        return self.lin(self.value(e["left"])) * self.value(e["right"]) * e.get("scale", 2.0)

    def forward(self, e):
        return self.value(e)


def expression(r: Random, depth: int = 2) -> dict[str, Any]:
    op = r.choice(["leaf", "neg", "mul"]) if depth else "leaf"
    if op == "leaf":
        return {"op": op, "x": torch.randn(D)}
    if op == "neg":
        return {"op": op, "arg": expression(r, depth - 1)}
    found = {"op": op, "left": expression(r, depth - 1), "right": expression(r, depth - 1)}
    return {**found, "scale": r.random()} if r.random() < 0.5 else found


class OptionalKeys(nn.Module):
    def forward(self, s):
        h = s["x"]
        y = s.get("y")
        if y is not None:
            h = h + y
        return h if s.get("flag", True) else -h


def optional_keys(r: Random) -> dict[str, Any]:
    s: dict[str, Any] = {"x": torch.randn(D)}
    if r.random() < 0.5:
        s["y"] = torch.randn(D)
    if r.random() < 0.5:
        s["flag"] = r.random() < 0.5
    return s


class Neighbours(nn.Module):
    """An empty list as the default of a look-up; words counted, and looked up in a vocabulary that the model holds."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(4, D)
        self.vocabulary = {"the": 1, "cat": 2, "dog": 3}

    def forward(self, s):
        total = torch.zeros(D)
        for i in range(s["x"].size(0)):
            for j in [*s["near"].get(i, []), i]:
                total = total + s["x"][j]
        counts: Any = defaultdict(int)
        for w in s["words"]:
            counts[w] += 1
        held = dict(s["near"])
        found = held.pop(0, [])
        words = [n * self.emb(torch.tensor(self.vocabulary.get(w, 0))) for w, n in counts.items()]
        return total + torch.stack(words).sum(0), len(found), [self.vocabulary.get(w) is None for w in s["words"]]


def neighbours(r: Random) -> dict[str, Any]:
    n = r.randrange(1, 4)
    near = {i: [j for j in range(n) if j != i] for i in range(n) if r.random() < 0.5}
    words = [r.choice(["the", "cat", "dog", "bird"]) for _ in range(r.randrange(1, 5))]
    return {"x": torch.randn(n, D), "near": {7: [0], **near}, "words": words}


class SetDefault(nn.Module):
    def forward(self, xs):
        by_parity: Any = {}
        counts: Any = {}
        pairs: Any = {}
        for i, x in enumerate(xs):
            by_parity.setdefault(x % 2, []).append(i)
            counts.setdefault(x, 0)
            counts[x] += 1
            pairs.setdefault((x, i % 2), []).extend([i, x])
        rest = list(xs)
        taken = [rest.pop() for x in xs if x > 1]
        return by_parity, sorted(counts.items()), len(pairs), taken, rest


class Memo(nn.Module):
    """A nested function with a memo, called in conditional expressions and in comprehensions with conditions."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(D, D)

    def forward(self, dag):
        memo: Any = {}

        def visit(i):
            if i in memo:
                return memo[i]
            before = dag["before"][i]
            h = torch.stack([visit(p) for p in before]).mean(0) if before else dag["x"][i]
            memo[i] = torch.tanh(self.lin(h))
            return memo[i]

        last = [visit(i) for i in range(len(dag["before"])) if i not in {p for b in dag["before"] for p in b}]
        return torch.stack(last).sum(0), len(memo)


def dag(r: Random) -> dict[str, Any]:
    n = r.randrange(1, 6)
    before = [sorted({r.randrange(i) for _ in range(2)}) if i and r.random() < 0.7 else [] for i in range(n)]
    return {"before": before, "x": torch.randn(n, D)}


Operation = Enum("Operation", ["ADD", "SIN"])
Instruction = namedtuple("Instruction", ["op", "a", "b"])


class Machine(nn.Module):
    """Instructions are named tuples without annotations, each with a member of an Enum in it."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.randn(2, D))

    def forward(self, program):
        registers = [self.start[i] for i in range(2)]
        for i in program:
            if i.op is Operation.ADD:
                registers.append(registers[i.a] + registers[i.b])
            else:
                registers.append(torch.sin(registers[i.a]))
        return registers[-1]


def instructions(r: Random) -> list[Any]:
    return [Instruction(r.choice(list(Operation)), r.randrange(2 + i), r.randrange(2 + i)) for i in range(r.randrange(4))]


class CausalMask(nn.Module):
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(len(x))
        return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)[0], mask


class Number:
    def __init__(self, value):
        self.value = value


class Sum:
    def __init__(self, terms):
        self.terms = terms


class Visitor(nn.Module):
    """Methods found by the names of classes that are joined to other text."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(1, D)

    def visit(self, node):
        return getattr(self, "visit_" + type(node).__name__)(node)

    def visit_Number(self, node):
        return self.lin(torch.tensor([float(node.value)]))

    def visit_Sum(self, node):
        return torch.tanh(sum(getattr(self, "visit_" + t.__class__.__name__)(t) for t in node.terms))

    def forward(self, node):
        return self.visit(node)


def terms(r: Random, depth: int = 2) -> Any:
    return (
        Sum([terms(r, depth - 1) for _ in range(r.randrange(1, 3))]) if depth and r.random() < 0.6 else Number(r.randrange(9))
    )


class TargetsOfLoops(nn.Module):
    """The target of an inner loop has the name of a variable from before the outer loop, as in beam search."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(D, D)

    def forward(self, n):
        h = torch.ones(D)
        for _ in range(n):
            h = self.lin(h)
        beams = [(0.0, h), (1.0, -h)]
        for _ in range(n):
            new = []
            for score, h in beams:
                new.append((score + h.sum().item(), self.lin(h)))
            beams = sorted(new, key=lambda b: -b[0])
        i = 5
        for _ in range(n):
            for i in range(2):
                beams = beams[i:] + beams[:i]
        return beams[0][1], i


class Copying(nn.Module):
    """A decoder that copies words of its input, and feeds back the word with the highest probability."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, D)
        self.cell = nn.GRUCell(D, D)
        self.out = nn.Linear(D, 7)

    def forward(self, source):
        word, h, words = torch.zeros(1, dtype=torch.long), torch.zeros(1, D), []
        for _ in range(3):
            h = self.cell(self.emb(word), h)
            attention = torch.softmax(self.emb(source) @ h[0], 0)
            p = torch.softmax(self.out(h), dim=-1).scatter_add(1, source.unsqueeze(0), 2 * attention.unsqueeze(0))
            word = p.argmax(dim=-1)
            words.append(word.item())
        return words, p, torch.zeros(7).scatter_add(0, source, attention)


class FloatsOfInts(nn.Module):
    """Ints of the instance that become tensors of floats by `dtype`."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 2)

    def forward(self, s):
        x, y = s["place"]
        for _ in range(2):
            x, y = (max(x - 1, 0), y) if x > y else (x, min(y + 1, 3))
        all_of_them = torch.tensor(s["numbers"], dtype=torch.float32)
        place = torch.tensor([x, y, 3, 4], dtype=torch.float32) / 4
        square = torch.tensor([[x, y], [y, x]], dtype=torch.float)
        return self.lin(place), torch.tensor(x, dtype=torch.float) * 2, torch.FloatTensor([x, 2.5]), all_of_them, square


class SeveralDimensions(nn.Module):
    def forward(self, s):
        x, y = s
        dense = x.mean(dim=(1, 2)), x.sum((0, -1), keepdim=True), x.amax(dim=[0, 1]), torch.mean(x, (2,), keepdim=True)
        ragged = y.mean(dim=(0, 1)), y.sum(dim=(0, 2), keepdim=True), y.amax(dim=(1, 2)), torch.amin(y, dim=(0, 2))
        return dense, ragged, F.relu(y).mean((-1, -2))


CASES: list[tuple[type[nn.Module], Any]] = [
    (TreeOfDictionaries, tree),
    (Expressions, expression),
    (OptionalKeys, optional_keys),
    (Neighbours, neighbours),
    (SetDefault, lambda r: [r.randrange(5) for _ in range(r.randrange(1, 6))]),
    (Memo, dag),
    (Machine, instructions),
    (Visitor, terms),
    (TargetsOfLoops, lambda r: r.randrange(4)),
    (Copying, lambda r: torch.tensor([r.randrange(7) for _ in range(r.randrange(1, 5))])),
    (
        FloatsOfInts,
        lambda r: {"place": (r.randrange(4), r.randrange(4)), "numbers": [r.randrange(9) for _ in range(r.randrange(1, 4))]},
    ),
    (CausalMask, lambda r: torch.randn(r.randrange(1, 5), D)),
    (SeveralDimensions, lambda r: (torch.randn(2, 3, 4), torch.randn(r.randrange(1, 4), 3, 4))),
]


def interpreter(module: nn.Module, sample: list[Any]) -> Interpreter:
    program = build(module, sample=sample)
    verify(program)
    return Interpreter(program)


@pytest.mark.parametrize(("cls", "make"), CASES, ids=[c[0].__name__ for c in CASES])
def test_idiom(cls: type[nn.Module], make: Any) -> None:
    torch.manual_seed(0)
    r = Random(0)
    agrees(cls(), [make(r) for _ in range(20)])


def test_a_key_that_an_instance_lacks_is_its_error() -> None:
    class Model(nn.Module):
        def forward(self, s):
            return s["x"] * s["scale"]

    x = torch.ones(D)
    run = interpreter(Model(), [{"x": x, "scale": 2.0}, {"x": x}]).run
    assert_same(as_tensors(run({"x": x, "scale": 3.0})), x * 3.0, "the key is there")
    with pytest.raises(InstanceError, match="KeyError: 'scale'"):
        run({"x": x})


def test_the_same_dimension_twice_is_refused() -> None:
    class Model(nn.Module):
        def forward(self, x):
            return x.sum(dim=(0, -2))

    with pytest.raises(CompileError, match=r"the dimensions \(0, -2\) are not different ones"):
        build(Model(), sample=[torch.ones(2, 3)])


class TruthOfDictionaries(nn.Module):
    """Dictionaries that have keys are true, and an empty one is not."""

    def forward(self, items):
        made = {"n": len(items)}
        return [1 if item else 2 for item in items], 3 if not made else 4, [x["n"] for x in items if x and "n" in x]


def test_truth_of_dictionaries() -> None:
    some = [{"n": 1}, {"n": 2}]
    for items in (some, [*some, None], [*some, {"n": 3, "m": 4}], [*some, {"m": 4}, {}]):
        agrees(TruthOfDictionaries(), [items, items[1:]])


class KeyOfRunTime(nn.Module):
    """An entry under a key that is known at run time only may make a new key."""

    def forward(self, word):
        counts = {"z": 1, "a": 2}
        counts[word] = len(word)
        return counts


def test_an_entry_under_a_key_of_run_time() -> None:
    agrees(KeyOfRunTime(), ["a", "z"], ["a", "other"])
