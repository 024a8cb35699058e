"""Loops that are unrolled, and whose rounds `continue` may end: code grows with the rounds, not with the ways through them."""

# mypy: ignore-errors

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.functions.body import FunctionBody
from backends.acrobat.frontend.functions.table import VERSIONS
from backends.acrobat.ir.visitor import walk
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1], [2, 1], [0], [12, 5]]
RULES = tuple((name, i * 7 % 5) for i, name in enumerate("abcdefghij"))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each statement has been compiled."""
    counts, statement = Counter[str](), Frame.statement

    def counted(self: Frame, s: ast.stmt) -> None:
        counts[ast.unparse(s)] += 1
        statement(self, s)

    monkeypatch.setattr(Frame, "statement", counted)
    return counts


def skipped(self, xs):
    found, last, hits = [], "", 0
    for name, need in RULES:
        if need not in xs:
            continue
        hits += 1
        if xs[0] % 2 and name != "c":
            continue
        found.append(name)
        last = name
    return found, last, hits


def modules(self, xs):
    h = self[0].weight[0] * xs[0]
    for i, layer in enumerate(self):
        if i not in xs:
            continue
        h = layer(h) + i
    return h


def in_a_loop(self, xs):
    best = {}
    for x in xs:
        for name, need in RULES:
            if x < need:
                continue
            if name not in best or x > best[name]:
                best[name] = x
    return best


def experts(self, xs):
    rows = torch.stack([self[0].weight[x % 3] * x for x in xs])
    out, load = torch.zeros_like(rows), []
    for i in range(4):
        chosen = torch.where(torch.tensor(xs) % 4 == i)[0]
        load.append(len(chosen))
        if len(chosen) == 0:
            continue
        if len(chosen) > 2:
            chosen = chosen[(-chosen).argsort()[:2]]
        out[chosen] = self[i](rows[chosen])
    return out, load


MODELS = [skipped, modules, in_a_loop, experts]


@pytest.mark.parametrize("function", MODELS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    program = agrees(with_forward(nn.Sequential(*(nn.Linear(3, 3) for _ in range(8))), function), LISTS)
    assert sum(1 for f in program.functions.values() for _ in walk(f.body)) < (1200 if function is experts else 4000)


def known_on_one_way(self, xs):
    h, last, name, parts, size = self[0].weight[0] * xs[0], None, "none", [], 3
    for i in range(3):
        if i not in xs:
            continue
        if last is not None:
            h = h + last
        last = self[i](h)
        name = f"of {i}"
        parts.append(h)
        h = h[: size - 1].repeat(2)[:size]
    return h, -1 if last is None else last.sum(), name, len(parts), torch.stack([*parts, h]).sum(0)


def narrowed_on_one_way(self, xs):
    h, first = self[0].weight[0], xs[0] if len(xs) > 2 else None
    found = []
    for i in range(3):
        if first is None or first == i:
            continue
        found.append(first + i)
        h = self[i](h) * first
    return h, found, first


@pytest.mark.parametrize("function", [known_on_one_way, narrowed_on_one_way], ids=lambda f: f.__name__)
def test_what_is_known_on_one_way_only_is_kept_in_few_rounds(function: Any) -> None:
    agrees(with_forward(nn.Sequential(*(nn.Linear(3, 3) for _ in range(4))), function), LISTS)


def beam_from_one_row(self, xs):
    h, scores, seen = self[0].weight[:1] * xs[0], torch.zeros(1), []
    for step in range(9):
        h = torch.tanh(self[1](h))
        total = (scores.unsqueeze(1) + torch.log_softmax(h, dim=1)).view(-1)
        best, at = total.topk(min(2 + len(xs) % 2, total.numel()))
        rows, kept = [], []
        for s, i in zip(best, at.tolist(), strict=True):
            if (i + step + len(xs)) % 4 != 0:
                rows.append(i // 3)
                kept.append(s)
        seen.append(len(rows))
        if not rows:
            break
        scores, h = torch.stack(kept), h[torch.tensor(rows)]
    return scores, h.sum(0), seen


def test_rounds_after_which_nobody_knows_the_shape_are_compiled_as_one() -> None:
    """To compile each of them with its number would not tell how many rows it begins with."""
    program = agrees(with_forward(nn.Sequential(*(nn.Linear(3, 3) for _ in range(2))), beam_from_one_row), LISTS)
    assert sum(1 for f in program.functions.values() for _ in walk(f.body)) < 1000


def in_comprehensions(self, xs):
    h = self[0].weight[0] * xs[0]
    turned = torch.stack([h.roll(k) for k in range(4)])
    return (
        sum(h[j] * h.roll(j - 1) for j in range(3)),
        turned,
        [h[: i + 1] for i in range(2)],
        [turned.sum(d) for d in range(2)],
    )


def test_comprehensions_whose_elements_need_to_know_the_round() -> None:
    agrees(with_forward(nn.Sequential(nn.Linear(5, 4)), in_comprehensions), LISTS)


def never_known(self, xs):
    return [self[0].weight.sum(len(xs)) for _ in range(3)], [self[0].weight.sum(len(xs) + i) for i in range(3)]


def test_what_no_round_knows_is_told_once_for_each_line() -> None:
    with pytest.raises(CompileError) as error:
        build(with_forward(nn.Sequential(nn.Linear(5, 4)), never_known), sample=LISTS)
    assert len(error.value.problems) == 2


def along_the_dimension_of_the_round(self, xs):
    h = self[0].weight[0] * xs[0]
    for i in range(2):
        h = h + self[0].weight.sum(i)
        h = torch.tanh(h)
    return h


def test_a_round_that_cannot_be_compiled_is_given_up_at_its_first_problem(compiled: Counter[str]) -> None:
    agrees(with_forward(nn.Sequential(*(nn.Linear(3, 3) for _ in range(4))), along_the_dimension_of_the_round), LISTS)
    rounds = compiled["h = self[0].weight[0] * xs[0]"]
    assert compiled["h = torch.tanh(h)"] == 3 * rounds  # none in the trial of a round of any number, one in that of the first


def counts_its_depth(self, xs):
    return descended(xs, 0)


def descended(xs, depth):
    label = "leaf" if xs[0] > 0 else depth
    if xs[0] > 1:
        return descended(xs[1:], depth + 1)
    return xs.nonsense(label)


def test_a_recursion_that_counts_without_an_end_is_compiled_for_each_number_in_one_build_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second build, which knows of the label's two types, has the same problem for every number."""
    compiled, compile = Counter[str](), FunctionBody.compile

    def counted(self: FunctionBody) -> None:
        compiled[self.definition.name] += 1
        compile(self)

    monkeypatch.setattr(FunctionBody, "compile", counted)
    with pytest.raises(CompileError, match="`nonsense`"):
        build(with_forward(nn.Module(), counts_its_depth), sample=LISTS)
    assert compiled["counts_its_depth"] >= 2
    assert VERSIONS < compiled["descended"] < 2 * VERSIONS


def fails_in_each_round(self, xs):
    y = 0
    for _ in range(40):
        y = y + len(xs)
        z = torch.nonsense(xs)
        if z > 3:
            continue
        y = y + 1
    return y


def test_a_loop_whose_first_round_has_the_same_problem_is_not_unrolled(compiled: Counter[str]) -> None:
    with pytest.raises(CompileError, match="torch has no `nonsense`"):
        build(with_forward(nn.Module(), fails_in_each_round), sample=LISTS)
    assert 0 < compiled["z = torch.nonsense(xs)"] < 40
