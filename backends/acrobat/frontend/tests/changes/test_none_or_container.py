"""Lists, sets and dictionaries under names that are None at first, and that are changed where None is excluded, or would be an
error. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


def best_gets_more_keys(self, rows):
    best = None
    for i, x in enumerate(rows):
        score = x.sum()
        if best is None or score > best["score"]:
            best = {"score": score, "at": i}
    best["of"] = len(rows)
    best["score"] = best["score"] * 2.0
    return best


def a_list_in_one_arm(self, rows):
    found = None
    if len(rows) > 1:
        found = [1]
    if found is not None:
        found.append(len(rows))
    return found


def sets_and_dictionaries(self, rows):
    seen, table = None, None
    for x in rows:
        if x[0].item() > 0:
            if seen is None:
                seen = set()
            seen.add(int(x[1].item()))
        elif x[0].item() < -0.5:
            if table is None:
                table = {}
            table[len(table)] = x
    if seen is None:
        return len(rows), table
    seen.add(9)
    seen.update([1, 2])
    if table is not None:
        table.update({7: rows[0]})
        table[8] = rows[0]
        table.pop(7)
    return sorted(seen), table


def under_two_names(self, rows):
    first, other = None, [5]
    second = None
    if len(rows) > 2:
        first = other
        second = [2]
    third = second
    if first is not None:
        first.append(2)
        second.append(3)
    return first, other, second, third


def begun_in_a_loop(self, rows):
    first, other = None, None
    for x in rows:
        if first is None:
            first = []
            other = first
        first.append(x)
    other.append(rows[0])
    return first, other


FORWARDS = [best_gets_more_keys, a_list_in_one_arm, sets_and_dictionaries, under_two_names, begun_in_a_loop]


def instances():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, 3, generator=generator) for n in (1, 2, 5, 3, 1, 7, 4)]


@pytest.mark.parametrize("forward", FORWARDS)
def test_agrees(forward):
    agrees(with_forward(nn.Module(), forward), instances())


def test_agrees_in_generated_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(nn.Module(), sets_and_dictionaries), instances(), codegen, tmp_path)


def test_none_is_an_error_of_the_instance():
    program = agrees(with_forward(nn.Module(), best_gets_more_keys), instances())
    with pytest.raises(InstanceError, match="TypeError: `best` needs a value, which is None"):
        Interpreter(program).run(torch.zeros(0, 3))


def kept_elsewhere(self, rows):
    best, history = None, []
    for i, x in enumerate(rows):
        if best is None or x.sum() > best["score"]:
            best = {"score": x.sum(), "at": i}
            history.append(best)
    best["of"] = 2
    return best, len(history)


def test_a_dictionary_that_a_list_holds_gets_no_more_keys():
    with pytest.raises(CompileError, match="gets other keys than it was made with, while other names may refer to it"):
        build(with_forward(nn.Module(), kept_elsewhere), sample=instances())
