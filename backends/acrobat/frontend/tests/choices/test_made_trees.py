"""Trees of tuples and lists that the model makes by recursion or in a loop, reads again and gives back."""

# mypy: ignore-errors

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Grower(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.down = nn.Linear(4, 4)
        self.stop = nn.Linear(4, 1)
        self.zero = nn.Parameter(torch.zeros(4))

    def below(self, h, i):
        return torch.tanh(self.down(h) + i)


class ListsOfChildren(Grower):
    """`(state, [children])`; the list ends the recursion."""

    def grow(self, h, depth):
        return h, [self.grow(self.below(h, i), depth - 1) for i in range(2)] if depth > 0 else []

    def total(self, tree):
        h, children = tree
        return h + sum([self.total(child) for child in children], self.zero)

    def forward(self, h):
        tree = self.grow(h, 2)
        return self.total(tree), tree, len(tree[1][0][1])


class Steps(nn.Module):
    """Keeps a state, which has no value before the instance comes to `start`."""

    def start(self, n):
        self.steps = n

    def forward(self, h):
        return h * self.steps


class BesideState(ListsOfChildren):
    """Returns at two places, at one of them before the other module has its state."""

    def __init__(self):
        super().__init__()
        self.steps = Steps()

    def counted(self, h, n):
        if n <= 1:
            return h
        self.steps.start(n)
        return self.steps(h) + self.total(self.grow(h, n))

    def forward(self, given):
        h, n = given
        return self.counted(h, n)


class ListsOfTrees(Grower):
    """A list of trees that a loop fills; each branch of a tree ends where the tensors say."""

    def expand(self, h, depth):
        out = []
        while len(out) < 2:
            h = self.below(h, 1)
            out.append((len(out), self.expand(h, depth + 1) if depth < 2 and h[0].item() > 0 else []))
        return out

    def count(self, trees):
        return sum(1 + self.count(below) for _, below in trees)

    def forward(self, h):
        trees = self.expand(h, 0)
        return trees, self.count(trees)


class TwoBranches(Grower):
    """`(state, left, right)`, with None where there is nothing more."""

    def grow(self, h, depth):
        if depth == 0 or self.stop(h).item() > 0.2:
            return (h, None, None)
        return (h, self.grow(self.below(h, 0), depth - 1), self.grow(self.below(h, 1), depth - 1))

    def total(self, tree):
        if tree is None:
            return self.zero
        h, left, right = tree
        return h + self.total(left) * 2 + self.total(right)

    def forward(self, h):
        tree = self.grow(h, 2)
        return self.total(tree), tree


class FromATree(Grower):
    """A tree of the instance gives one of states."""

    def encode(self, tree):
        x, children = tree
        if not children:
            return x, []
        below = [self.encode(child) for child in children]
        return (self.down(x) + sum([b[0] for b in below], self.zero), below)

    def forward(self, tree):
        return self.encode(tree)


VECTORS = list(torch.randn(6, 4, generator=torch.Generator().manual_seed(2)))
TREES = [(VECTORS[0], [(VECTORS[1], []), (VECTORS[2], [(VECTORS[3], [])])]), (VECTORS[4], []), (VECTORS[5], [(VECTORS[0], [])])]
COUNTED = [(h, n) for n, h in enumerate(VECTORS)]
CASES = [
    (ListsOfChildren, VECTORS),
    (ListsOfTrees, VECTORS),
    (TwoBranches, VECTORS),
    (FromATree, TREES),
    (BesideState, COUNTED),
]


@pytest.mark.parametrize(("model", "instances"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_interpreter(model: Any, instances: Any) -> None:
    agrees(model(), instances)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(TwoBranches().eval(), VECTORS, codegen, tmp_path)


class NoEnd(Grower):
    def grow(self, h, depth):
        return (h, self.grow(self.below(h, 0), depth - 1))

    def forward(self, h):
        return self.grow(h, 2)[0]


class OtherLeaves(Grower):
    def grow(self, h, depth):
        return h if self.stop(h).item() > 0.2 else (h, [self.grow(self.below(h, 0), depth - 1)])

    def forward(self, h):
        return self.grow(h, 2)


@pytest.mark.parametrize("model", [NoEnd, OtherLeaves], ids=lambda m: m.__name__)
def test_what_is_no_such_tree_is_refused(model: Any) -> None:
    with pytest.raises(CompileError, match=r"differ in type|needs a case that ends without it"):
        build(model(), sample=VECTORS)


@dataclass
class Span:
    label: str
    word: str
    parts: list[Span]


def spans_as_objects(self, words):
    chart = {}
    for i, word in enumerate(words):
        chart[i] = [Span("word", word, [])], self.w[0]
    for i in range(1, len(words)):
        parts = chart[i - 1][0] + chart[i][0]
        if (self.w[i] * len(words)).item() > 1:
            parts = [Span("phrase", "", parts)]
        chart[i] = parts, chart[i - 1][1] * self.w[i]
    return chart[len(words) - 1]


def spans_as_tuples(self, words):
    chart = {}
    for i, word in enumerate(words):
        chart[i] = [("word", word)], self.w[0]
    for i in range(1, len(words)):
        parts = chart[i - 1][0] + chart[i][0]
        if (self.w[i] * len(words)).item() > 1:
            parts = [("phrase", parts)]
        chart[i] = parts, chart[i - 1][1] * self.w[i]
    tops, score = chart[len(words) - 1]
    return tops, score, " ".join(map(shown, tops))


def shown(tree):
    label, rest = tree
    if isinstance(rest, str):
        return f"({label} {rest})"
    return f"({label} {' '.join(shown(part) for part in rest)})"


def spans_of_tensors(self, words):
    parts = [("word", self.w[0])]
    for i in range(1, len(words)):
        parts = [("phrase", parts if self.w[i].item() > 0.4 else self.w[i])]
    return parts


SENTENCES = [["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]


def of_words() -> nn.Module:
    module = nn.Module()
    module.w = nn.Parameter(torch.tensor([0.5, 0.4, 0.2, 0.9]))
    return module


@pytest.mark.parametrize("function", [spans_as_objects, spans_as_tuples])
def test_trees_that_grow_in_a_loop(function: Any) -> None:
    agrees(with_forward(of_words(), function), SENTENCES)


def test_those_with_tensors_as_leaves_are_refused() -> None:
    with pytest.raises(CompileError, match=r"make the parts objects of one class, as `Node\(label, word, children\)`"):
        build(with_forward(of_words(), spans_of_tensors), sample=SENTENCES)


def split(back, i, j):
    """The tree that the back pointers of a chart tell."""
    if j - i == 1:
        return i
    k = back[i, j]
    return (split(back, i, k), split(back, k, j))


def from_back_pointers(self, words):
    back = {(i, j): (i + j) // 2 for i in range(len(words)) for j in range(i + 2, len(words) + 1)}
    return split(back, 0, len(words))


def lists_in_a_dictionary(self, words):
    """What a recursion gives is a leaf, as far as the round knows that meets the dictionary first."""
    back = {(i, j): (i + j) // 2 for i in range(len(words)) for j in range(i + 2, len(words) + 1)}

    def tree(i, j):
        if j - i == 1:
            return i
        return [tree(i, back[i, j]), tree(back[i, j], j)]

    return {"tree": tree(0, len(words)), "size": len(words)}


def parsed(words, i):
    """Nested lists, by recursive descent: `b` opens a list, and `c` closes it."""
    if words[i] == "b":
        i, parts = i + 1, []
        while i < len(words) and words[i] != "c":
            part, i = parsed(words, i)
            parts.append(part)
        return parts, i + 1
    return words[i], i + 1


def by_recursive_descent(self, words):
    tree, _ = parsed(words, 0)
    return tree


def derived(words, depth):
    """A list with its label and other such lists after it."""
    if depth == len(words):
        return words[-1]
    below = [derived(words, depth + 1 + i) for i in range(len(words) - depth)]
    label = [f"n{len(below)}"]
    return [*label, *below] if depth % 2 else label + below


def by_levels(self, words):
    return derived(words, 0)


class Open:
    """A part of a tree that gets its name and its parts later, if at all."""

    def __init__(self):
        self.name, self.parts = None, []

    def to_list(self):
        if not self.parts:
            return self.name
        return [self.name] + [p.to_list() for p in self.parts]


def with_names_that_may_be_none(self, words):
    root = Open()
    agenda = [root]
    for i, word in enumerate(words):
        if not agenda:
            break
        node = agenda.pop()
        if word != "b":
            node.name = word
        node.parts = [Open() for _ in range(2 if i < 3 and word != "c" else 0)]
        agenda.extend(node.parts)
    return root.to_list()


def put_together(self, words):
    """The trees with the lowest weights go together, as in a Huffman code; of equal weights the number decides."""
    heap = [(self.w[i].item(), i, word) for i, word in enumerate(words)]
    heapq.heapify(heap)
    number = len(heap)
    while len(heap) > 1:
        a, _, left = heapq.heappop(heap)
        b, _, right = heapq.heappop(heap)
        heapq.heappush(heap, (a + b, number, (left, right)))
        number += 1
    return heap[0]


class Merged:
    """A node of which the word, the parts, or both are left out."""

    def __init__(self, size=1, left=None, right=None, word=None):
        self.size = size
        self.left = left
        self.right = right
        self.word = word

    def to_tuple(self):
        if self.left is None:
            return self.word
        return self.left.to_tuple(), self.right.to_tuple()

    def to_list(self):
        return self.word if self.left is None else [self.left.to_list(), self.right.to_list()]


def of_nodes_that_may_lack_a_word(self, words):
    """Beside leaves that are ints there are such that are None, in tuples and in lists."""
    nodes = [Merged(word=i if word != "c" else None) for i, word in enumerate(words)]
    while len(nodes) > 1:
        nodes[-2:] = [Merged(nodes[-2].size + nodes[-1].size, nodes[-2], nodes[-1])]
    return nodes[0].to_tuple(), nodes[0].size, nodes[0].to_list()


LEAVES = [
    of_nodes_that_may_lack_a_word,
    from_back_pointers,
    lists_in_a_dictionary,
    by_recursive_descent,
    by_levels,
    with_names_that_may_be_none,
    put_together,
]


@pytest.mark.parametrize("function", LEAVES)
def test_trees_whose_leaves_are_numbers_or_strings(function: Any) -> None:
    agrees(with_forward(of_words(), function), SENTENCES)


def by_a_stack(self, words):
    """Tuples of any lengths: `b` and `c` open them, `d` closes one; a later loop walks through the tree with a stack."""
    open_lists = [[]]
    for i, word in enumerate(words):
        if word in ("b", "c"):
            open_lists.append([str(i)])
        elif word == "d" and len(open_lists) > 1:
            node = tuple(open_lists.pop())
            open_lists[-1].append(node)
        else:
            open_lists[-1].append(word)
    trees, total, pending = open_lists[0], 0, [*open_lists[0]]
    while pending:
        tree = pending.pop()
        if isinstance(tree, str):
            total += len(tree)
            continue
        total += 10 * int(tree[0])
        pending.extend(tree[1:])
    return trees, total


def test_tuples_of_any_lengths_on_a_stack() -> None:
    agrees(with_forward(nn.Module(), by_a_stack), [*SENTENCES, list("abcadadbd")])


def test_lists_of_them_in_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(with_forward(of_words(), spans_as_tuples), SENTENCES, codegen, tmp_path)


class Split(nn.Module):
    """The best tree over rows, by a recursion that keeps what it has found in a dictionary around it."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(2, 2)

    def scores(self, rows):
        found = {}
        for width in range(2, len(rows) + 1):
            for i in range(len(rows) - width + 1):
                for k in range(i + 1, i + width):
                    found[i, k, i + width] = (rows[i] * self.score(rows[k])).sum()
        return found

    def tree(self, scores, n):
        best = {}

        def spans(i, j):
            if j - i == 1:
                return 0.0, i
            if (i, j) not in best:
                options = []
                for k in range(i + 1, j):
                    (a, left), (b, right) = spans(i, k), spans(k, j)
                    options.append((scores[i, k, j].item() + a + b, [left, right]))
                best[i, j] = max(options, key=lambda o: o[0])
            return best[i, j]

        return spans(0, n)

    def forward(self, rows):
        score, tree = self.tree(self.scores(rows), len(rows))
        return {"tree": tree, "score": score}


def test_a_tree_of_a_recursion_that_also_changes_what_is_around_it():
    torch.manual_seed(0)
    rows = torch.randn(5, 2)
    agrees(Split(), [[*rows[:n]] for n in (1, 2, 3, 5)])


class BesideLists(Grower):
    """A tree whose type closes only once it is known that a list has several names, and an object, too."""

    def grow(self, h, k):
        if k <= 0:
            return (h, None, None)
        return (h, self.grow(self.below(h, k), k - 1), self.grow(h * 0.5, k - 2))

    def total(self, tree):
        return self.zero if tree is None else tree[0] + self.total(tree[1]) - 0.5 * self.total(tree[2])


class Count:
    def __init__(self, word):
        self.word = word
        self.times = 0


def beside_a_list_with_two_names(self, words):
    groups = defaultdict(list)
    for word in words:
        group = groups[word % 3]
        group.append(word)
    return self.total(self.grow(self.zero + sum(len(g) * k for k, g in groups.items()), len(words) % 4)), dict(groups)


def beside_an_object_with_two_names(self, words):
    counts = [Count(word) for word in words]
    best = counts[0]
    best.times += 3
    groups = defaultdict(list)
    for count in counts:
        group = groups[count.word % 2]
        group.append(count)
        count.times += 1
    weight = sum(len(g) * k for k, g in groups.items()) + groups[words[0] % 2][0].times
    return self.total(self.grow(self.zero + best.word, len(words) % 4)) * weight


@pytest.mark.parametrize("function", [beside_a_list_with_two_names, beside_an_object_with_two_names])
def test_trees_beside_lists_and_objects_with_several_names(function):
    words = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [2, 2], [7, 7, 1, 0, 3, 3], [0]]
    agrees(with_forward(BesideLists(), function), words)


class GrownBesideLists(nn.Module):
    """Makes a tree of tuples with None at its ends, and changes a list that was put into another one: each of them needs an
    attempt of its own."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def grow(self, h, k):
        if k <= 0:
            return (h, None, None)
        return (h, self.grow(torch.tanh(self.linear(h)), k - 1), self.grow(h * 0.5, k - 2))

    def total(self, tree):
        if tree is None:
            return torch.zeros(3)
        return tree[0] + self.total(tree[1]) - 0.5 * self.total(tree[2])

    def changed(self, given, h):
        outer = [list(given["ids"]), [given["n"]]]
        inner = [x[:] for x in outer]
        outer[0].append(4)
        return torch.tanh(h * (sum(outer[0]) - len(inner[0])))

    def forward(self, given):
        h = torch.tanh(self.linear.weight[given["n"] % 3])
        if given["n"] >= 3:
            return torch.tanh(h)
        h = torch.tanh(self.total(self.grow(h, given["n"] % 4)))
        return self.changed(given, h)


def test_trees_where_parts_of_lists_are_changed() -> None:
    torch.manual_seed(0)
    agrees(GrownBesideLists(), [{"ids": [1, 2, 3], "n": 1}, {"ids": [4], "n": 2}, {"ids": [], "n": 3}])
