"""Procedures that change lists and raise errors, dictionaries made of others, tables that are filled."""

# mypy: ignore-errors

from __future__ import annotations

from collections import defaultdict

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees


class Machine(nn.Module):
    """A procedure that changes a list that it is given, and raises an error in one of its branches."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def step(self, stack, op):
        if op >= 0:
            stack.append(self.table.weight[op])
        elif op == -1:
            stack.append(torch.tanh(stack.pop()))
        else:
            raise ValueError(f"unknown instruction {op}")

    def forward(self, ops):
        stack = []
        for op in ops:
            self.step(stack, op)
        return stack[-1], len(stack)


def test_a_procedure_that_raises_in_a_branch():
    program = agrees(Machine(), [[3, -1, 2], [0], [1, 2, -1]])
    with pytest.raises(InstanceError, match="unknown instruction -7"):
        Interpreter(program).run([1, -7])


class Merged(nn.Module):
    """Dict displays with others in them: of names, and with keys of run time."""

    def forward(self, xs):
        first = {"a": xs[0], "b": 1}
        second = {**first, "b": 2, "c": xs[0] + 1.0}
        counts = {}
        for i in range(len(xs)):
            counts = {**counts, i % 2: i}
        return second, counts, {1: 2, 3: 4}


def test_dict_displays_with_others_in_them():
    agrees(Merged(), [[torch.ones(2)] * n for n in (1, 2, 5)])


class Table(nn.Module):
    """A table of lists that starts with one tensor everywhere, and whose entries are assigned to."""

    def forward(self, xs):
        none = torch.tensor(1.0)
        table = [[none] * (len(xs) + 1) for _ in range(2)]
        for i in range(len(xs)):
            table[1][i + 1] = table[1][i] + table[0][i] * xs[i].sum()
        return table[1][len(xs)]


def test_tables_of_one_tensor():
    agrees(Table(), [[torch.ones(2) * k for k in range(n)] for n in (1, 2, 5)])


class Clusters(nn.Module):
    """Lists in a list that are changed under the name of a loop, by the loop itself and by a method."""

    def put(self, cluster, x):
        cluster.append(x)

    def forward(self, xs):
        clusters = [[0]]
        for i in range(len(xs)):
            if xs[i].sum() > 1.0:
                clusters.append([i])
                continue
            for c in clusters:
                if c[-1] < i:
                    c.append(i)
        caches = [[] for _ in range(2)]
        for x in xs:
            for k, cache in enumerate(caches):
                self.put(cache, x * float(k))
        for c in clusters:
            c[0] = -1
        return clusters, [torch.stack(cache).sum(0) for cache in caches]


def test_items_changed_under_the_name_of_a_loop():
    agrees(Clusters(), [[torch.full((2,), 0.3 * k) for k in range(n)] for n in (1, 2, 5)])


class Blocks(nn.Module):
    """Lists of a known length, made by loops and by another function; blocks of a tensor by a `slice`."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 3)
        self.ids = nn.Embedding(5, 2)

    def features(self, xs):
        found = []
        for i in range(2):
            found.append(i if len(xs) > i else 4)
        for i in (2, 3):
            found.append(i)  # noqa: PERF402
        return found

    def forward(self, xs):
        total = torch.zeros(6)
        for x in xs:
            total = total + x
        parts = []
        for h in range(3):
            block = slice(h * 2, (h + 1) * 2)
            parts.append(torch.softmax(total[block], dim=0))
        halves = [total[k : k + 3].sum() for k in range(4)]
        flat = self.ids(torch.tensor(self.features(xs))).view(-1)
        return self.out(torch.cat(parts)), torch.stack(halves), self.out(flat[:6]), xs[0][slice(1, None, 2)]


def test_lists_of_a_known_length():
    agrees(Blocks(), [[torch.arange(6.0) + k for k in range(n)] for n in (1, 2, 5)])


class Parties(nn.Module):
    """Dictionaries whose missing keys get what a lambda makes; tests of all elements of a tensor of one element."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.ones(3))

    def forward(self, turns):
        states = defaultdict(lambda: self.start * 2.0)
        counts = defaultdict(lambda: 7)
        for who, x in turns:
            states[who] = torch.tanh(states[who] + x)
            counts[who] += 1
        first = turns[0][1].sum(0, keepdim=True)
        sign = 1 if (first > 0.0).all() and not (first > 100.0).any() else -1
        return states["a"], counts["b"], sign


def test_defaults_made_by_a_function():
    torch.manual_seed(0)
    agrees(Parties(), [[(w, torch.randn(3)) for w in text] for text in ("a", "ab", "bcbb")])


class Held(nn.Module):
    def forward(self, xs):
        start = xs[0] + 1.0
        states = defaultdict(lambda: start)
        return states[1]


def test_defaults_made_of_values_of_the_instance_are_refused():
    with pytest.raises(CompileError, match="a function without values of run time"):
        build(Held(), sample=[[torch.ones(2)]])


class Copied(nn.Module):
    """`type_as` of the same type gives the tensor itself, which a change in place then changes under both names."""

    def forward(self, xs):
        y = torch.zeros(2)
        z = y.type_as(xs[0])
        y += 1.0
        return z


def test_type_as_is_the_tensor_itself():
    agrees(Copied(), [[torch.ones(2)]])


class Passed(nn.Module):
    """A loop that appends once itself, and again by a method: the number of elements is not that of the rounds."""

    def put(self, found, x):
        found.append(x)

    def forward(self, xs):
        found = []
        for i in range(2):
            found.append(xs[0] + float(i))
            self.put(found, xs[0])
        return torch.stack(found).sum(0), len(found)


def test_a_list_that_a_call_changes_too_has_no_known_length():
    agrees(Passed(), [[torch.arange(3.0)]])


class Beside(nn.Module):
    """A tensor or a string in one place, compared with a number before its type is asked for."""

    def forward(self, pair):
        x, count = pair
        return count if x == 1.0 else -count


def test_comparison_of_a_tensor_beside_strings():
    agrees(Beside(), [(torch.tensor(1.0), 3), ("a", 2), (torch.tensor(2.5), 1)])


class Kind(nn.Module):
    def forward(self, x):
        return x.type(torch.DoubleTensor)


class Name(nn.Module):
    def forward(self, x):
        return x.type()


@pytest.mark.parametrize(("cls", "message"), [(Kind, "`type` takes a dtype here"), (Name, "without an argument")])
def test_other_types_of_tensors_are_refused(cls, message):
    with pytest.raises(CompileError, match=message):
        build(cls(), sample=[torch.ones(2)])


class Left(nn.Module):
    """Procedures that a `return` leaves inside of a loop: on the value of a tensor, out of two loops, and in a recursion."""

    def take(self, stack, amount):
        while stack and amount > 0:
            value, strength = stack.pop()
            if strength > amount:
                stack.append((value, strength - amount))
                return
            amount = amount - strength

    def note(self, counts, xs, n):
        for i in range(len(xs)):
            for k in range(i):
                if k + i == n:
                    counts[i] = counts.get(i, 0) + k
                    return
        counts[-1] = n

    def walk(self, n, out):
        for i in range(n):
            if len(out) > 4:
                return
            out.append(10 * n + i)
            self.walk(n - 1, out)

    def forward(self, xs):
        stack, counts, out = [], {}, []
        for i, x in enumerate(xs):
            self.take(stack, 0.6 * x.sum())
            stack.append((x, x.sum()))
            self.note(counts, xs, i)
        return stack, counts, self.walk(len(xs), out), out


def test_procedures_that_return_inside_of_a_loop():
    agrees(Left(), [[torch.tensor([k * 0.7 % 1.1, 0.2]) for k in range(n)] for n in (0, 1, 2, 5)])
