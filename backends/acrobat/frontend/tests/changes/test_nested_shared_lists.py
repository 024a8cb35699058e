"""Lists that are changed while several names refer to them, and have others like them in them beside strings or numbers: trees
that a decoder makes from its frontier. And the lists that fields of dataclasses begin with. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [2, 2], [7, 7, 1, 0, 3, 3], [0], [6, 3, 9, 2, 4, 4, 1]]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)


@dataclass
class Result:
    ast: list[Any]
    actions: list[str] = field(default_factory=list)
    score: Any = 0.0


@dataclass
class Open:
    depth: int
    into: list[Any]


@dataclass
class Two:
    names: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)


def tree_decoder(self, xs):
    result = Result(ast=[])
    frontier = [Open(0, result.ast)]
    for x in xs:
        if not frontier:
            break
        item = frontier.pop()
        result.score = result.score + float(x)
        if x % 3 == 0 and item.depth > 0:
            item.into.append(f"w{x}")
            result.actions.append("word")
            continue
        node = [f"n{x}"]
        item.into.append(node)
        result.actions.append("node")
        for _ in range(x % 3 + 1):
            frontier.append(Open(item.depth + 1, node))
    return result


def tree_only(self, xs):
    top = []
    stack = [top]
    for x in xs:
        if x % 3 == 0:
            stack[-1].append(str(x))
        elif x % 3 == 1:
            node = [str(x)]
            stack[-1].append(node)
            stack.append(node)
        elif len(stack) > 1:
            stack.pop()
    return top, len(stack)


def tree_of_ints(self, xs):
    top = []
    stack = [top]
    for x in xs:
        if x % 2:
            stack[-1].append(x)
        else:
            node = [x]
            stack[-1].append(node)
            stack.append(node)
    return top


def pure_lists(self, xs):
    top = []
    stack = [top]
    for x in xs:
        if x % 2:
            node = []
            stack[-1].append(node)
            stack.append(node)
        elif len(stack) > 1:
            stack.pop()
    return top


def read_afterwards(self, xs):
    top = ["top"]
    stack = [top]
    for x in xs:
        if x % 3 == 0:
            stack[-1].append(str(x))
        else:
            node = [str(x)]
            stack[-1].append(node)
            stack.append(node)

    def size(t):
        if isinstance(t, str):
            return 1
        return 1 + sum(size(c) for c in t)

    def flat(t):
        if isinstance(t, str):
            return [t]
        out = []
        for c in t:
            out.extend(flat(c))
        return out

    return size(top), flat(top), len(top)


def compared(self, xs):
    top = ["a"]
    other = ["a"]
    stack = [top, other]
    for x in xs:
        node = [str(x)]
        stack[0].append(node)
        stack[1].append([str(x)] if x != 4 else ["q"])
        if x % 3 == 0:
            node.append("z")
    return top == other, top[-1] == other[-1], top[-1] in other, "a" in top, top[0] == other[0]


def identity(self, xs):
    top = ["a"]
    node = ["b"]
    top.append(node)
    for x in xs:
        node.append(str(x))
        top.append(node if x % 2 else [str(x)])
    return [t is node for t in top if isinstance(t, list)], [t is node for t in top]


def augmented_narrowed(self, xs):
    top = []
    row = ["r"]
    seen = [row]
    for x in xs:
        row.append(str(x))
        top.append(row if x % 2 else "s")
        t = top[-1]
        if isinstance(t, list):
            t += ["x"]
    return row, seen, top


def copied(self, xs):
    top = ["a"]
    row = ["r"]
    top.append(row)
    for x in xs:
        row.append(str(x))
    c = list(top)
    d = top[1:]
    row.append("later")
    top.append("end")
    return c, top, d


def unpacked(self, xs):
    top = ["op"]
    args = ["x"]
    top.append(args)
    for x in xs:
        args.append(str(x))
    name, *rest = top
    first, second = top
    second.append("s")
    return name, rest, first


def twice(self, xs):
    a = []
    b = ["b"]
    for x in xs:
        b.append(str(x))
        a.append(b)
        a.append(str(x))
    return a, b


def nested_tuple(self, xs):
    top = []
    stack = [top]
    for x in xs:
        kids = []
        stack[-1].append((f"n{x}", kids))
        if x % 2:
            stack.append(kids)
    return top


def none_in(self, xs):
    top = []
    stack = [top]
    for x in xs:
        if x % 3 == 0:
            stack[-1].append(None)
        elif x % 3 == 1:
            stack[-1].append(str(x))
        else:
            node = [str(x)]
            stack[-1].append(node)
            stack.append(node)
    return top


def frames_of_lists(self, xs):
    results = []
    stack = [("main", results)]
    for x in xs:
        name, out = stack[-1]
        if x % 3 == 2 and len(stack) > 1:
            stack.pop()
        elif x % 3 == 1:
            inner = [f"{name}{x}"]
            out.append(inner)
            stack.append((f"{name}{x}", inner))
        else:
            out.append(f"{x}")
    return results


def build_tree(xs):
    top = ["top"]
    stack = [top]
    for x in xs:
        if x % 3 == 0:
            stack[-1].append(str(x))
        else:
            node = [f"n{x}"]
            stack[-1].append(node)
            stack.append(node)
    return top, stack


def slices(self, xs):
    top, stack = build_tree(xs)
    stack[-1].append("z")
    return [t[:1] for t in top if isinstance(t, list)], top[1:], top[::-1]


def sums(self, xs):
    top, stack = build_tree(xs)
    both = top + stack[-1]
    stack[-1].append("z")
    return both, [t for t in top if not isinstance(t, str)]


def extended(self, xs):
    top, stack = build_tree(xs)
    stack[-1].extend(["a", ["b"]])
    stack[-1][-1].append("deep")
    stack[0].insert(0, "first")
    stack[-1].extend(stack[0][:1])
    return top


def popped(self, xs):
    top, stack = build_tree(xs)
    last = stack[-1]
    while len(last) > 1:
        last.pop()
    x = top.pop()
    return top, x, isinstance(x, str)


def replaced(self, xs):
    top, stack = build_tree(xs)
    old = stack[-1]
    old[0] = ["changed", "twice"]
    old[0][1] = "x"
    top[0] = "TOP"
    return top, stack[0]


def replaced_by_string(self, xs):
    top, stack = build_tree(xs)
    top[-1] = "gone"
    stack[-1].append("z")
    return top, stack[-1]


def memo(self, xs):
    memo = {}
    for x in xs:
        top = memo.setdefault(x % 3, ["k"])
        top.append(str(x))
        if x % 2:
            top.append(memo.setdefault((x + 1) % 3, ["k"]))
    return [len(memo[k]) for k in memo], {k: [isinstance(t, str) for t in v] for k, v in memo.items()}


def parent_links(self, xs):
    cur = ["root"]
    root = cur
    parents = {0: cur}
    for _i, x in enumerate(xs):
        if x % 3 == 0 and len(parents) > 1:
            cur = parents[len(parents) - 2]
        else:
            new = [str(x)]
            cur.append(new)
            parents[len(parents)] = new
            cur = new
        cur.append("e")
    return root


def evaluated(self, xs):
    top, stack = build_tree(xs)
    stack[-1].append("m")

    def enc(t):
        if isinstance(t, str):
            return self.emb.weight[len(t)]
        return torch.tanh(sum((enc(c) for c in t), torch.zeros(4)))

    return enc(top)


def count_index(self, xs):
    top, stack = build_tree(xs)
    stack[-1].append("m")
    return top.count("m"), top.index(top[-1]), top.count(top[-1])


def chosen(self, xs):
    a, b = ["a"], ["b"]
    hold = [a, "s", b]
    for x in xs:
        t = hold[x % 3]
        if not isinstance(t, str):
            t.append(str(x))
            hold.append(t)
        else:
            hold.append(t + "!")
    return a, b, hold


def swap(self, xs):
    top, stack = build_tree(xs)
    if len(top) > 2:
        top[1], top[2] = top[2], top[1]
    stack[-1].append("end")
    return top


def in_place_sum(self, xs):
    top, stack = build_tree(xs)
    last = stack[-1]
    last += ["p", ["q"]]
    stack[0] += ["end"]
    return top, last


def optional_list(self, xs):
    held = []
    cur = None
    for x in xs:
        if x % 3 == 0:
            cur = [str(x)]
            held.append(cur)
        elif x % 3 == 1:
            held.append(cur)
            held.append(str(x))
        elif cur is not None:
            cur.append(str(x))
    return held, cur


def lengths(self, xs):
    top, stack = build_tree(xs)
    stack[0].append("end")
    return [len(t) for t in top], [bool(t) for t in top], sorted(len(t) for t in top), max(top, key=len)


TREES = [
    lengths,
    tree_decoder,
    tree_only,
    tree_of_ints,
    pure_lists,
    read_afterwards,
    compared,
    identity,
    augmented_narrowed,
    copied,
    unpacked,
    twice,
    nested_tuple,
    none_in,
    frames_of_lists,
    slices,
    sums,
    extended,
    popped,
    replaced,
    replaced_by_string,
    memo,
    evaluated,
    count_index,
    chosen,
    swap,
    in_place_sum,
    optional_list,
    parent_links,
]


@pytest.mark.parametrize("function", TREES, ids=lambda f: f.__name__)
def test_lists_with_others_in_them(function: Any) -> None:
    agrees(with_forward(Base(), function), LISTS)


@pytest.mark.parametrize("function", [tree_decoder, none_in, memo])
def test_natively(function: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Base(), function), LISTS, codegen, tmp_path)


def narrowed_change(self, xs):
    top = []
    row = [0]
    seen = [row]
    for x in xs:
        top.append(str(x) if x % 2 else row)
        for t in top:
            if isinstance(t, list):
                t.append(x)
    return row, seen


def augmented(self, xs):
    top = []
    row = ["r"]
    seen = [row]
    for x in xs:
        row.append(str(x))
        top.append(row if x % 2 else "s")
        t = top[-1]
        t += ["x"] if x % 2 else "y"
    return row, seen, top


def augmented_item(self, xs):
    top = []
    row = ["r"]
    seen = [row]
    for x in xs:
        row.append(str(x))
        top.append(row if x % 2 else "s")
        top[-1] += "y"
    return row, seen, top


def walks_and_changes(self, xs):
    top = []
    row = ["r"]
    for x in xs:
        row.append(str(x))
        top.append(row if x % 2 else "s")
    n = 0
    for _c in top[0] if top else []:
        n += 1
        if n < 6:
            row.append("more")
    return row, n


def deep_copied(self, xs):
    top = ["a"]
    row = ["r"]
    top.append(row)
    for x in xs:
        row.append(str(x))
    c = copy.deepcopy(top)
    row.append("later")
    return c, top


def texts(self, xs):
    top, stack = build_tree(xs)
    stack[-1].append("end")
    return [str(t) for t in top], f"{top[-1]}"


def walked_while_changed(self, xs):
    top, _stack = build_tree(xs)
    x = top[-1]
    n = 0
    for _c in x:
        n += 1
        if isinstance(x, list) and n < 4:
            x.append("w")
    return n, top


def walked_by_iter(self, xs):
    _top, stack = build_tree(xs)
    it = iter(stack[-1])
    stack[-1].append("late")
    return list(it)


NOT_FOLLOWED = [
    narrowed_change,
    augmented,
    augmented_item,
    walks_and_changes,
    deep_copied,
    texts,
    walked_while_changed,
    walked_by_iter,
]


@pytest.mark.parametrize("function", NOT_FOLLOWED, ids=lambda f: f.__name__)
def test_what_is_refused_or_right(function: Any) -> None:
    agrees_unless_refused(with_forward(Base(), function), LISTS, "seen elsewhere|under another name")


def as_result_cycle(self, xs):
    a = ["a"]
    b = ["b"]
    a.append(b)
    for x in xs:
        b.append(str(x))
    if len(xs) == 2:
        b.append(a)
    return a


def test_a_list_that_leads_back_to_itself() -> None:
    """It is no result; others of the same program are."""
    program = build(with_forward(Base(), as_result_cycle), sample=LISTS)
    assert Interpreter(program).run([7]) == ["a", ["b", "7"]]
    with pytest.raises(InstanceError, match="leads back to itself"):
        Interpreter(program).run([7, 8])


def two_defaults(self, xs):
    r = Two()
    names = r.names
    todo = [r.counts]
    for x in xs:
        names.append(str(x))
        todo[0].append(x)
        r.seen[x] = r.seen.get(x, 0) + 1
        r.last.append("l")
    return r


def two_defaults_of_two(self, xs):
    a, b = Two(), Two()
    both = [a, b]
    for x in xs:
        c = both[x % 2].counts
        c.append(x)
        both[0].names.append(str(x))
    return a, b, a.last


def results_in_stack(self, xs):
    done = []
    stack = [Two()]
    for x in xs:
        frame = stack[-1]
        frame.counts.append(x)
        if x % 3 == 0:
            new = Two()
            new.names = frame.names
            stack.append(new)
        frame.names.append(str(x))
        if x % 4 == 1 and len(stack) > 1:
            done.append(stack.pop())
    return done, stack


def given_list(self, xs):
    shared = ["s"]
    a = Two(names=shared)
    b = Two(shared, [1])
    for x in xs:
        a.names.append(str(x))
        b.counts.append(x)
    return a, b, shared


@pytest.mark.parametrize(
    "function", [two_defaults, two_defaults_of_two, results_in_stack, given_list], ids=lambda f: f.__name__
)
def test_lists_that_fields_begin_with(function: Any) -> None:
    agrees(with_forward(Base(), function), LISTS)


class Links:
    def __init__(self):
        self.nodes = []
        self.near = defaultdict(list)
        self.index = {}

    def add(self, name):
        if name not in self.index:
            self.index[name] = len(self.nodes)
            self.nodes.append(name)
        return self.index[name]

    def link(self, a, b):
        i, j = self.add(a), self.add(b)
        self.near[i].append(j)


class OfOneOfTwoObjects(nn.Module):
    def forward(self, xs):
        first = Links()
        both = [first, Links()]
        for i, (a, b) in enumerate(pairwise(xs)):
            both[i % 2].link(a, b)
        return [[j for k in range(len(x.nodes)) for j in x.near[k]] for x in both], dict(first.index)


def test_lists_of_a_defaultdict_that_several_names_refer_to() -> None:
    agrees_unless_refused(OfOneOfTwoObjects(), [[1, 2, 3], [4], [2, 2, 0, 1]], "may be seen elsewhere")
