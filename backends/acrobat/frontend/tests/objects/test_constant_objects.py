"""Constant objects of the source as values of the program: productions of a grammar in lists in a dictionary, of which one is
chosen at run time, with fields that are tuples of several lengths."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1], [2, 1], [0], [2]]


@dataclass(frozen=True)
class RuleOfGrammar:
    name: str
    kind: str
    parts: tuple[str, ...] = ()


@dataclass
class NodeOfRule:
    rule: RuleOfGrammar
    below: list = field(default_factory=list)
    word: str | None = None

    def written(self):
        if self.word is not None:
            return self.word
        return f"({self.rule.name} {' '.join(n.written() for n in self.below)})"


class KnownOperator:
    def __init__(self, name, arity):
        self.name = name
        self.arity = arity

    def apply(self, a, b):
        return a + b if self.name == "+" else a * b


@dataclass
class OperatorAtWork:
    operator: KnownOperator
    hits: list = field(default_factory=list)


RULES = [
    RuleOfGrammar("pair", "s", ("s", "w")),
    RuleOfGrammar("empty", "s"),
    RuleOfGrammar("triple", "s", ("w", "s", "w")),
    RuleOfGrammar("one", "w", ("x",)),
    RuleOfGrammar("none", "w"),
]
GRAMMAR: dict[str, list[RuleOfGrammar]] = {"s": RULES[:3], "w": RULES[3:], "u": []}
OPERATORS = [KnownOperator("+", 2), KnownOperator("*", 3)]
WORD = RuleOfGrammar("word", "x")


def expanded(self, xs):
    def expand(kind, i):
        if kind == "x":
            return NodeOfRule(WORD, word="xyz"[xs[i % len(xs)] % 3]), i + 1
        rules = GRAMMAR[kind]
        rule = rules[xs[i] % len(rules)] if i < len(xs) else rules[[len(r.parts) == 0 for r in rules].index(True)]
        node = NodeOfRule(rule)
        i += 1
        for part in rule.parts:
            child, i = expand(part, i)
            node.below.append(child)
        return node, i

    tree, size = expand("s", 0)
    return tree.written(), size


def looked_at(self, xs):
    rule = RULES[xs[0] % 5]
    places = [(i, part) for i, part in enumerate(rule.parts)]
    match rule:
        case RuleOfGrammar("pair", _, parts):
            size = len(parts)
        case RuleOfGrammar(kind="w"):
            size = 10
        case _:
            size = 20
    several = GRAMMAR["s" if xs[0] > 2 else "u"]
    return rule.name, "-".join(rule.parts), places, size, "w" in rule.parts, [r.name for r in several], len(several)


def of_plain_classes(self, xs):
    operator = OPERATORS[xs[0] % 2]
    work = OperatorAtWork(operator)
    work.hits.append(work.operator.arity)
    work.operator = OPERATORS[1]
    return operator.apply(xs[0], xs[-1]), work.operator.name, work.hits, [OPERATORS[x % 2].arity for x in xs]


class NamedRule(NamedTuple):
    left: str
    right: tuple[str, ...]
    weight: int

    def written(self):
        return f"{self.left} -> {' '.join(self.right)}"


NAMED = [NamedRule("S", ("S", "+", "T"), 1), NamedRule("S", ("T",), 2), NamedRule("T", ("x",), 3)]
MOVES = [NamedRule("up", ("y",), 1), NamedRule("down", ("y",), -1)]


def of_named_tuples(self, xs):
    def applicable(left, size):
        for i, rule in enumerate(NAMED):
            if rule.left == left and (size < 3 or len(rule.right) == 1):
                yield i

    rule = NAMED[xs[0] % 3]
    left, right, weight = rule
    best = max(NAMED, key=lambda r: r.weight * (len(xs) - 2))
    of_one = (
        [r.weight for r in NAMED if r.left == left],
        any(r.weight == len(xs) for r in NAMED),
        list(applicable("S", len(xs))),
    )
    return rule.left + "".join(rule.right), list(right), weight + rule[2], best.left, of_one, rule.written()


def named_tuple_given_out(self, xs):
    return MOVES[xs[0] % 2], MOVES[xs[-1] % 2].weight, list(NAMED), [(r, r.left, x) for r, x in zip(NAMED, xs, strict=False)]


def given_out(self, xs):
    return RULES[xs[0] % 5]


MODELS = [expanded, looked_at, of_plain_classes, given_out, of_named_tuples, named_tuple_given_out]


@pytest.mark.parametrize("function", MODELS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Linear(1, 1), function), LISTS)


def test_as_in_python_natively(codegen: str, tmp_path: Path) -> None:
    def all_of_them(self: nn.Module, xs: Any) -> Any:
        objects = expanded(self, xs), looked_at(self, xs), of_plain_classes(self, xs), given_out(self, xs)
        return objects, of_named_tuples(self, xs)

    agrees_natively(with_forward(nn.Linear(1, 1), all_of_them), LISTS, codegen, tmp_path)


def changed_where_chosen(self, xs):
    operator = OPERATORS[xs[0] % 2]
    operator.arity += 1
    return operator.arity


def changed_in_a_field(self, xs):
    work = OperatorAtWork(OPERATORS[1])
    work.operator.arity += 1
    return work.operator.arity


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (changed_where_chosen, "of the source stands beside such that the model makes and changes"),
        (changed_in_a_field, "an object here that was made outside of the model, and is changed"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_refused(function: Any, message: str) -> None:
    """A change of a constant would be there in the next call, too."""
    with pytest.raises(CompileError, match=message):
        build(with_forward(nn.Linear(1, 1), function), sample=LISTS)
