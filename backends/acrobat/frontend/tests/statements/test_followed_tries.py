"""`try`s that catch exceptions of Python's own which a `raise` raises, and lookups that stand anywhere in them."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]
TEXTS = ["1 2 x 3", "a", "", "4 5", "-3 7 999"]


class ParseError(Exception):
    pass


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.n = 0

    def checked(self, n):
        if n > 4:
            raise ValueError("too large")
        return n

    def number(self, word):
        n = int(word)
        if n > 100:
            raise ValueError(word)
        return n

    def place(self, xs, x):
        return xs.index(x)

    def state(self, n):
        if n > 3:
            raise RuntimeError(f"no state {n}")
        return self.e.weight[n]

    def depth(self, n, d):
        if d > 2:
            raise LookupError
        return d if n % 2 else self.depth(n // 2, d + 1)

    def counted(self, x):
        self.n = self.n + 1
        return x


def of_a_call(self, ns):
    t = 0
    for n in ns:
        try:
            t += self.checked(n)
        except ValueError:
            t -= 1
    return t


def of_the_body(self, ns):
    t = 0
    for n in ns:
        try:
            if n > 4:
                raise ValueError("large")
            t += n
        except ValueError:
            t -= 1
        else:
            t += 100
    return t


def beside_a_lookup(self, text):
    out = []
    for w in text.split():
        try:
            v = int(w)
            if v < 0:
                raise ValueError("negative")
            out.append(v)
        except ValueError:
            out.append(-1)
    return out


def lookup_in_the_call(self, text):
    out = []
    for w in text.split():
        try:
            out.append(self.number(w))
        except ValueError:
            continue
    return out


def behind_other_statements(self, ns):
    names = {1: "x", 3: "y", 4: "z"}
    out = []
    for n in ns:
        try:
            m = n * 2 - n
            k = names[m]
            out.append(k)
        except KeyError:
            out.append("none")
    return out


def one_by_one(self, ns):
    stack, bad = [], 0
    for n in ns:
        try:
            if n % 2 == 0:
                stack.append(n)
            else:
                a = stack.pop()
                b = stack.pop()
                stack.append(a - b)
        except IndexError:
            bad += 1
    return stack, bad


def every_exception(self, ns):
    out = []
    for n in ns:
        try:
            h = self.state(n)
        except Exception:
            h = self.e.weight[0]
        out.append(h)
    return out


def its_text(self, ns):
    out = []
    for n in ns:
        try:
            self.state(n)
            out.append(f"{n}")
        except RuntimeError as e:
            out.append(str(e))
    return out


def through_a_recursion(self, ns):
    out = []
    for n in ns:
        try:
            out.append(self.depth(n, 0))
        except (LookupError, RuntimeError):
            out.append(-1)
    return out


def beside_the_models_own(self, text):
    stack = []
    try:
        for w in text.split():
            if w.lstrip("-").isdigit():
                stack.append(int(w))
            elif w == "x":
                b = stack.pop()
                a = stack.pop()
                stack.append(a * b)
            else:
                raise ParseError(w)
    except (ParseError, IndexError):
        return -1
    return sum(stack)


def two_in_a_row(self, ns):
    try:
        i = ns.index(4)
        j = self.place(ns, 2)
        return i * 10 + j
    except ValueError:
        return -1


def by_zero(self, ns):
    out = []
    for n in ns:
        try:
            out.append(10 // (n - 1))
        except ZeroDivisionError:
            out.append(0)
    return out


def sometimes(self, xs):
    try:
        a = xs[1] if xs[0] > 3 else 3
    except IndexError:
        a = 7
    return a


def any_division(self, xs):
    try:
        n = xs[2] / xs[3]
    except:  # noqa: E722
        n = 0.0
    return n


def argument_of_a_call(self, xs):
    self.n = 0
    try:
        n = self.counted(xs[2])
    except:  # noqa: E722
        n = 0
    return n, self.n


CASES = [
    (of_a_call, NUMBERS),
    (of_the_body, NUMBERS),
    (beside_a_lookup, TEXTS),
    (lookup_in_the_call, TEXTS),
    (behind_other_statements, NUMBERS),
    (one_by_one, NUMBERS),
    (every_exception, NUMBERS),
    (its_text, NUMBERS),
    (through_a_recursion, NUMBERS),
    (beside_the_models_own, TEXTS),
    (two_in_a_row, NUMBERS),
    (by_zero, NUMBERS),
    (sometimes, NUMBERS),
    (any_division, NUMBERS),
    (argument_of_a_call, NUMBERS),
]


@pytest.mark.parametrize(("function", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(function, sample) -> None:
    agrees(with_forward(Words(), function), sample)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Words(), every_exception), NUMBERS, codegen, tmp_path)


def of_torch(self, ns):
    try:
        return self.e(torch.tensor(ns)).sum()
    except RuntimeError:
        return self.e.weight[0].sum()


def read_of_python(self, text):
    out = ""
    for w in text.split():
        try:
            out += f"{self.number(w)}"
        except ValueError as e:
            out += str(e)
    return out


@pytest.mark.parametrize(
    ("function", "sample", "words"),
    [
        (of_torch, NUMBERS, "a `RuntimeError` is not caught"),
        (read_of_python, TEXTS, "an exception of Python's own is read here"),
    ],
)
def test_what_is_refused(function, sample, words) -> None:
    with pytest.raises(CompileError, match=words):
        build(with_forward(Words(), function), sample=sample)
