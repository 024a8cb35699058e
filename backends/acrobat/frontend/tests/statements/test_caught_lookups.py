"""Lookups whose failure is caught: `try` with KeyError, IndexError and ValueError. Against eager PyTorch."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1, 2, 3], [4], [2, 2], []]
FULL = [[1, 2, 3], [4], [2, 2]]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.vocabulary = {"a": 1, "b": 2, "c": 3}
        self.n = 0

    def number(self, word):
        try:
            return self.vocabulary[word.lower()]
        except KeyError:
            return 0

    def counted(self, x):
        self.n = self.n + 1
        return x


def constant_dictionary(self, words):
    return torch.stack([self.e.weight[self.number(w)] for w in words]).mean(0)


def inside_a_call(self, words):
    out = []
    for w in words:
        try:
            out.append(self.e(torch.tensor(self.vocabulary[w])))
        except KeyError:
            out.append(self.e.weight[0])
    return torch.stack(out)


def memo(self, xs):
    known: dict = {}
    out = []
    for x in xs:
        try:
            h = known[x]
        except KeyError:
            h = torch.tanh(self.e.weight[x])
            known[x] = h
        out.append(h)
    return torch.stack(out)


def index(self, xs):
    try:
        a = xs[-2]
        b = a + 1
    except (IndexError, KeyError):
        a, b = 7, 8
    return a, b


def two_of_them(self, xs):
    try:
        a = xs[0] + xs[1]
    except IndexError:
        a = 7
    return a


def one_in_the_other(self, xs):
    known = {x: x + 1 for x in xs}
    try:
        y = known[known[1]]
    except KeyError:
        y = -1
    return y


def popped(self, xs):
    stack, n, k = list(xs), 0, 0
    for _ in range(2):
        try:
            n += stack.pop()
        except IndexError:
            n -= 1
        else:
            k += 10
    return n, k, len(stack)


def until_it_fails(self, xs):
    n = i = 0
    while True:
        try:
            x = xs[i]
        except IndexError:
            break
        n, i = n + x, i + 1
    return n


def next_round(self, xs):
    known = {x: i for i, x in enumerate(xs)}
    for x in (1, 4, 7):
        try:
            i = known[x]
        except KeyError:
            continue
        return x, i
    return 0, 0


def never_fails(self, xs):
    known: dict = defaultdict(int)
    known[2] = 5
    n = 0
    for x in xs:
        try:
            n += known[x]
        except KeyError:
            n += 100
    return n


def place(self, xs):
    try:
        i = xs.index(4)
    except ValueError:
        i = -1
    return i


def missing_entry(self, record):
    try:
        kids = record["kids"]
    except KeyError:
        kids = []
    return record["w"], len(kids)


def number_of_text(self, xs):
    try:
        n = int(f"{xs[0]}")
    except ValueError:
        n = 0
    return n


def two_numbers(self, words):
    a, b = words
    try:
        a, b = float(a), float(b)
    except ValueError:
        return -1.0
    return a - b


def of_several_types(self, cells):
    found = []
    for one in cells:
        try:
            x, y = float(one), [int(cells[0]), float(cells[1])]
        except ValueError:
            continue
        found.append((x, y[1]))
    return found


def parted_by(self, xs):
    """As tokenisers look for the next pair to merge."""
    out: list[int] = []
    word, i = tuple(xs), 0
    while i < len(word):
        try:
            j = word.index(2, i)
            out.extend(word[i:j])
            i = j
        except:  # noqa: E722
            out.extend(word[i:])
            break
        out.append(-1)
        i += 1
    return out, len(tuple(out))


def from_the_end(self, xs):
    try:
        at = xs.index(2, -2)
    except ValueError:
        return -1
    return at, xs.index(xs[at], at)


def any_exception(self, xs):
    found = {1: 5}
    try:
        x = found[xs[0]]
    except Exception:
        x = 0
    return x


CASES: list[tuple[Any, list[Any]]] = [
    (two_numbers, [["1", "2.5"], ["1", "x"], ["x", "1"], ["", ""], ["4", "1e1"]]),
    (of_several_types, [["1", "2.5", "x"], ["1", "x"], ["7", "1", "", "3"]]),
    (number_of_text, FULL),
    (constant_dictionary, [["a", "B"], ["zz"], ["c", "a"]]),
    (inside_a_call, [["a", "b"], ["zz"], ["c", "a"]]),
    (memo, FULL),
    (index, LISTS),
    (two_of_them, LISTS),
    (one_in_the_other, LISTS),
    (popped, LISTS),
    (until_it_fails, LISTS),
    (next_round, LISTS),
    (never_fails, LISTS),
    (place, LISTS),
    (parted_by, [*LISTS, [2, 1, 2, 2, 3]]),
    (any_exception, [[1, 2], [2], [3, 1], []]),
    (missing_entry, [{"w": 1, "kids": [2]}, {"w": 3}]),
]


def test_an_index_from_a_place_on() -> None:
    agrees(with_forward(Words(), from_the_end), [[2, 2, 1, 2], [2, 3], [1, 2, 2]])


@pytest.mark.parametrize(("function", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(function: Any, sample: list[Any]) -> None:
    agrees(with_forward(Words(), function), sample)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Words(), memo), FULL, codegen, tmp_path)


def effect_before(self, xs):
    self.n = 0
    known = {1: 2}
    n = 0
    for x in xs:
        try:
            n += self.counted(x) + known[x]
        except KeyError:
            n -= 1
    return n, self.n


def two_pops(self, xs):
    stack = list(xs)
    try:
        a = stack.pop() + stack.pop()
    except IndexError:
        a = 0
    return a


def of_a_tensor(self, xs):
    try:
        h = self.e(torch.tensor(xs))[2]
    except IndexError:
        h = self.e.weight[0]
    return h


def number_of_a_call(self, xs):
    self.n = 0
    try:
        n = int(str(self.counted(xs[0])))
    except ValueError:
        n = 0
    return n


def index_from_what_is_computed(self, xs):
    self.n = 0
    try:
        n = xs.index(xs[0], self.counted(0))
    except ValueError:
        n = 0
    return n


REFUSED = [
    (index_from_what_is_computed, "is computed there"),
    (number_of_a_call, "is computed there"),
    (effect_before, "comes after something else"),
    (two_pops, "one of them changes a list"),
    (of_a_tensor, "it is not known how"),
]


@pytest.mark.parametrize(("function", "words"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_refused(function: Any, words: str) -> None:
    with pytest.raises(CompileError, match=words):
        build(with_forward(Words(), function), sample=FULL)


def used_up(self, xs):
    words, h, out = iter(xs), torch.zeros(4), []
    try:
        first = next(words)
    except StopIteration:
        first = -1
    while True:
        try:
            x = next(words)
        except StopIteration:
            break
        h = h * 2 + self.e.weight[x]
        try:
            out.append(next(words))
        except StopIteration:
            out.append(-x)
    return first, h, out


def test_an_iterator_that_is_used_up() -> None:
    agrees(with_forward(Words(), used_up), [*LISTS, [5, 1, 2, 3, 4], [1, 2]])


def two_at_once(self, xs):
    words, out = iter(xs), []
    while True:
        try:
            out.append((next(words), next(words)))
        except StopIteration:
            break
    return out


def test_two_values_of_an_iterator_in_one_try() -> None:
    with pytest.raises(CompileError, match="several lookups in it that may fail"):
        build(with_forward(Words(), two_at_once), sample=FULL)
