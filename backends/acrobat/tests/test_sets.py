"""Sets in instances, and what may be done with a set whose order is not known, in generated host code of both kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.options import Options


@dataclass
class User:
    likes: set[int]
    tags: frozenset[str]
    near: Any = None


USERS = [User({1, 2, 5, 33, 17}, frozenset("xy")), User(set(), frozenset("z"), {0.5}), User({2, 1}, frozenset())]


class Liked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.items = nn.Embedding(40, 4)

    def forward(self, user: User) -> tuple[Tensor, int]:
        total = sum([self.items.weight[i] for i in sorted(user.likes)], torch.zeros(4))
        return total, len(user.likes)


def all_of(user: User) -> Any:
    more = set(user.likes)
    more.add(3)
    near = user.near is not None and 0.5 in user.near
    by_rest = sorted(user.likes, key=lambda i: (i % 3, i))
    return more, user.likes & {1, 2}, "x" in user.tags, user.likes == {1, 2}, near, by_rest, sum(user.likes), max(more)


def test_sets_of_instances(codegen: Any, cache: Any) -> None:
    options = Options(codegen=codegen)
    executable = compile(module(all_of), sample=USERS, cache_folder=cache, options=options)
    assert executable(USERS) == [all_of(user) for user in USERS]
    with pytest.raises(InstanceError, match=r"\.likes: expected a set"):
        executable([User([1], frozenset())])  # type: ignore[arg-type]
    with pytest.raises(InstanceError, match=r"\.likes\{'a'\}: expected an int"):
        executable([User({"a"}, frozenset())])  # type: ignore[arg-type]


def in_order(xs: list[int]) -> Any:
    kept = [i for i, x in enumerate(xs) if x % 2]
    return list(set(xs)), list(set(range(len(xs))) - set(kept))


def test_sets_in_python_s_order(codegen: Any, cache: Any) -> None:
    instances = [[3, 1, 2], [], [64, 8, 33, 0, 9, 1, 32], list(range(100, 0, -1))]
    executable = compile(module(in_order), sample=instances, cache_folder=cache, options=Options(codegen=codegen))
    assert executable(instances) == list(map(in_order, instances))


def test_sets_of_instances_in_the_interpreter() -> None:
    eager = Liked().eval()
    interpreter = Interpreter(build(eager, sample=USERS))
    for user in USERS:
        total, size = interpreter.run(user)
        wanted, wanted_size = eager(user)
        assert size == wanted_size
        assert torch.allclose(torch.as_tensor(total, dtype=torch.float32), wanted)


def near(user):
    return 0 if user.near is None else len(user.near)


def test_a_set_beside_a_list_is_refused() -> None:
    with pytest.raises(CompileError, match="is a set in one place of the sample and no set in another"):
        build(module(near), sample=[*USERS, User(set(), frozenset(), [0.5])])


def walked(user):
    return [i + 1 for i in user.likes]


def taken_apart(user):
    first, second = user.likes
    return first - second


def matched(user):
    match user.likes:
        case [first, second]:
            return first - second
    return 0


@pytest.mark.parametrize("function", [walked, taken_apart])
def test_the_order_of_a_set_is_not_known(function: Any) -> None:
    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(module(function), sample=USERS)


def test_sets_and_dictionaries_are_no_sequences() -> None:
    with pytest.raises(CompileError, match="a pattern of 2 elements needs a tuple"):
        build(module(matched), sample=USERS)


def keys(pairs):
    first, second = dict(pairs)
    return first - second


def test_a_dictionary_is_taken_apart_into_its_keys() -> None:
    sample = [[(5, 1), (3, 0)]]
    assert Interpreter(build(module(keys), sample=sample)).run(sample[0]) == 2


def by_key(xs):
    return sorted(set(xs), key=lambda i: i // 3), max(set(xs), key=lambda i: i // 3), min(set(xs), key=lambda i: i // 3)


def highest(xs):
    return max(set(xs), key=lambda i: i // 3)


def test_elements_of_a_set_with_equal_keys() -> None:
    sample = [[9, 1, 3], [3]]
    interpreter = Interpreter(build(module(by_key), sample=sample))
    assert [interpreter.run(xs) for xs in sample] == [by_key(xs) for xs in sample]
    one = Interpreter(build(module(highest), sample=sample))
    assert one.run([1, 2, 9]) == 9
    for run, xs in ((interpreter, [2, 1, 9]), (one, [9, 11, 1])):
        with pytest.raises(InstanceError, match="two elements of a set have equal keys"):
            run.run(xs)
