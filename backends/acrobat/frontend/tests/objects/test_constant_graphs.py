"""Trees, tries, automata and other objects of the model that refer to each other, walked by decisions of run time."""

# mypy: ignore-errors

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

VECTORS = [torch.tensor(v) for v in ([1.0, -1.0, 0.5], [-0.3, 0.2, 0.1], [0.0, 0.0, 2.0], [-1.0, -2.0, -3.0], [2.0, 1.0, -1.0])]


class Split:
    """A node of a decision tree."""

    def __init__(self, name, feature=0, left=None, right=None):
        self.name, self.feature, self.left, self.right = name, feature, left, right

    @property
    def leaf(self):
        return self.left is None

    def goes_left(self, x):
        return x[self.feature].item() < 0.1 * self.feature


def splits():
    return Split(
        "a", 0, Split("b", 1, Split("c"), Split("d", 2, Split("e"), Split("f"))), Split("g", 2, Split("h"), Split("i"))
    )


class Decides(nn.Module):
    def __init__(self, root=None):
        super().__init__()
        torch.manual_seed(0)
        self.root = root or splits()
        self.out = nn.Linear(3, 3)

    def forward(self, x):
        node, path = self.root, []
        while not node.leaf:
            path.append(node.name)
            node = node.left if node.goes_left(x) else node.right
            x = torch.tanh(self.out(x))
        return x, node.name, path


class DecidesByCalls(Decides):
    def down(self, node, x, depth):
        if node.leaf:
            return x, node.name, depth
        below = node.left if node.goes_left(x) else node.right
        return self.down(below, torch.tanh(self.out(x)), depth + 1)

    def forward(self, x):
        return self.down(self.root, x, 0)


class DecidesByBranches(Decides):
    """The recursion is on two paths, each with the node below."""

    def down(self, node, x):
        if node.leaf:
            return x, node.name
        if node.goes_left(x):
            return self.down(node.left, torch.tanh(self.out(x)))
        return self.down(node.right, x)

    def forward(self, x):
        return self.down(self.root, x)


class DecidesByFor(Decides):
    """A loop with a bound, which is left at a leaf, and a name for the node before."""

    def forward(self, x):
        node = before = self.root
        for _ in range(4):
            if node.left is None:
                break
            before, node = node, node.left if x[node.feature].item() > 0 else node.right
            x = x * 0.5 - 0.1
        return node.name, before.name, node is before, before.left is node, before is self.root


class BestFirst(Decides):
    """A search with a heap of nodes, with their costs and a counter."""

    def forward(self, x):
        tie = itertools.count()
        heap, found = [(0.0, next(tie), self.root)], []
        while heap and len(found) < 3:
            cost, _, node = heapq.heappop(heap)
            if node.leaf:
                found.append((node.name, cost))
                continue
            p = torch.sigmoid(x[node.feature]).item()
            heapq.heappush(heap, (cost + p, next(tie), node.left))
            heapq.heappush(heap, (cost + 1 - p, next(tie), node.right))
        return found


class OnAStack(Decides):
    """A walk with a stack over the part of the tree that the scores choose; what was visited is in a list and a dictionary."""

    def forward(self, x):
        stack, order, seen, depth = [self.root], [], [], {self.root: 0}
        while stack:
            node = stack.pop()
            seen.append(node)
            order.append(node.name)
            for child in (node.left, node.right):
                if child is not None and x[child.feature].item() > -1.5:
                    stack.append(child)
                    depth[child] = depth[node] + 1
        return order, [depth[n] for n in seen], self.root.right in seen, seen.index(self.root)


class Letter:
    """A node of a trie."""

    def __init__(self):
        self.children = {}
        self.word = None
        self.count = 0


class Trie:
    def __init__(self, words):
        self.root = Letter()
        for i, word in enumerate(words):
            node = self.root
            for c in word:
                node = node.children.setdefault(c, Letter())
                node.count += 1
            node.word = i


class Spells(nn.Module):
    def __init__(self, words=("a", "at", "ate", "tea", "ten", "in", "inn")):
        super().__init__()
        torch.manual_seed(0)
        self.trie = Trie(words)
        self.embed = nn.Embedding(8, 3)

    def longest(self, text):
        node, best, length = self.trie.root, None, 0
        for i, c in enumerate(text):
            if c not in node.children:
                break
            node = node.children[c]
            if node.word is not None:
                best, length = node.word, i + 1
        return best, length

    def forward(self, text):
        h, pieces, counts = torch.zeros(3), [], []
        while text:
            word, length = self.longest(text)
            h = torch.tanh(h + self.embed.weight[7 if word is None else word])
            pieces.append(text[: max(length, 1)])
            node = self.trie.root
            for c in text[: max(length, 1)]:
                node = node.children.get(c)
                counts.append(0 if node is None else node.count)
                if node is None:
                    break
            text = text[max(length, 1) :]
        return h, pieces, counts, len(self.trie.root.children)


TEXTS = ["ate", "teainn", "xyz", "", "tenat", "a", "innn at"]


class State:
    """Of an automaton with circles."""

    def __init__(self, name, accepting=False):
        self.name, self.accepting, self.on = name, accepting, {}


def automaton():
    even, odd, dead = State("even", True), State("odd"), State("dead")
    even.on |= {"a": odd, "b": even}
    odd.on |= {"a": even, "b": odd, "c": dead}
    dead.on |= {"a": dead}
    return even


class Runs(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.start = automaton()
        self.vectors = nn.ParameterDict({k: nn.Parameter(torch.randn(3)) for k in ("even", "odd", "dead")})

    def forward(self, word):
        state, h, names = self.start, torch.zeros(3), [self.start.name]
        for c in word:
            if c in state.on:
                state = state.on[c]
            h = torch.tanh(h + self.vectors[state.name])
            names.append(state.name)
        return h, state.accepting, names, state is self.start, sorted(state.on)


WORDS = ["", "a", "abba", "aac", "acab", "bbbb"]


class Expression:
    def __init__(self, *below):
        self.below = list(below)


class Constant(Expression):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def cost(self, x):
        return self.value


class Sum(Expression):
    sign = 1

    def cost(self, x):
        return self.sign * sum([b.cost(x) for b in self.below], 0.0)


class Product(Expression):
    def __init__(self, *below, scale=2):
        super().__init__(*below)
        self.scale = scale

    def cost(self, x):
        result = 1.0
        for b in self.below:
            result = result * b.cost(x)
        return result * self.scale + x.sum().item()


class Evaluates(nn.Module):
    """Objects of several classes, whose methods are found by the class."""

    def __init__(self):
        super().__init__()
        two, three = Constant(2.0), Constant(3.0)
        self.root = Sum(Product(two, Sum(two, three, Constant(0.5))), three, Product(Constant(-1.0), Sum(), scale=3))
        self.out = nn.Linear(3, 3)

    def forward(self, x):
        node, kinds = self.root, []
        while node.below:
            kinds.append(type(node).__name__)
            if isinstance(node, Product) and node.scale == 3:
                kinds.append("three")
            node = node.below[0 if x[len(kinds) % 3].item() > 0 else -1]
        return self.out(x), node.cost(x), kinds, node.value if isinstance(node, Constant) else 0.0


@dataclass(eq=False)
class Kind:
    """Of a taxonomy whose kinds know the one above and those below."""

    name: str
    weight: float
    above: Kind | None = None
    below: list[Kind] = field(default_factory=list)
    tags: tuple = ()

    def add(self, *kinds):
        for kind in kinds:
            kind.above = self
        self.below.extend(kinds)
        return self

    @property
    def depth(self):
        return 0 if self.above is None else 1 + self.above.depth


def taxonomy():
    mammal = Kind("mammal", 1.0, tags=("warm",)).add(Kind("dog", 0.5, tags=("barks", "warm")), Kind("cat", 0.25))
    return Kind("animal", 2.0).add(mammal, Kind("fish", -1.0, tags=("wet",)))


class Classifies(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.root = taxonomy()
        self.by_name = {}
        pending = [self.root]
        while pending:
            kind = pending.pop()
            self.by_name[kind.name] = kind
            pending += kind.below
        self.ids = {name: i for i, name in enumerate(self.by_name)}
        self.embed = nn.Embedding(len(self.ids), 4)

    def ancestors(self, kind):
        while kind is not None:
            yield kind
            kind = kind.above

    def common(self, a, b):
        ways = [list(self.ancestors(x)) for x in (a, b)]
        for x in ways[0]:
            if any(x is y for y in ways[1]):
                return x
        return self.root

    def forward(self, names):
        h, total = torch.zeros(4), 0.0
        for name in names:
            for kind in self.ancestors(self.by_name[name]):
                h = torch.tanh(h + self.embed.weight[self.ids[kind.name]])
                total += kind.weight * len(kind.tags) + kind.depth
        above = self.common(self.by_name[names[0]], self.by_name[names[-1]])
        widest = max(self.by_name.values(), key=lambda k: len(k.below) if k is above else 0)
        return h, total, above.name, [k.name for k in above.below], widest.name, "warm" in above.tags


NAMES = [["dog"], ["cat", "dog"], ["fish", "cat"], ["animal"], ["dog", "fish", "mammal"]]


class Expert:
    """Of a routing tree: inner nodes have a gate, leaves a module of the model."""

    def __init__(self, gate=None, cell=None, below=()):
        self.gate, self.cell, self.below = gate, cell, list(below)


class Routes(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cells = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.gates = nn.ParameterList([nn.Parameter(torch.randn(3)) for _ in range(2)])
        a, b, c = (Expert(cell=cell) for cell in self.cells)
        self.root = Expert(self.gates[0], below=[a, Expert(self.gates[1], below=[b, c])])

    def forward(self, x):
        node, path = self.root, []
        while node.below:
            which = int(torch.dot(node.gate, x).item() > 0)
            path.append(which)
            node = node.below[which]
        return node.cell(x), path


class Ring:
    def __init__(self, value):
        self.value, self.next, self.last = value, self, False


class Turns(nn.Module):
    """A ring, of one object too, which only some objects have an attribute of."""

    def __init__(self, size=3):
        super().__init__()
        ring = [Ring(i * 10) for i in range(size)]
        for one, other in zip(ring, ring[1:] + ring[:1], strict=True):
            one.next = other
        ring[-1].end = "end"
        self.place, self.linear = ring[0], nn.Linear(1, 1)

    def forward(self, steps):
        at, seen = self.place, []
        for _ in range(steps):
            seen.append(at.value)
            at = at.next
        return seen, at is self.place, at.next is at, at.value


class Lazy:
    """A trie whose nodes are made when they are first asked for, with counts of what is below."""

    def __init__(self):
        self.below, self.weight, self.counts = defaultdict(Lazy), 0, Counter()

    def add(self, word, weight):
        node = self
        for c in word:
            node.counts[c] += 1
            node = node.below[c]
        node.weight = weight


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.root, self.linear = Lazy(), nn.Linear(1, 1)
        for i, word in enumerate(("ab", "ac", "b", "abc")):
            self.root.add(word, i + 1)

    def forward(self, text):
        node, found = self.root, []
        for c in text:
            if c in node.below:
                node = node.below[c]
            found.append((node.weight, node.counts["c"], len(node.below)))
        return found, sorted(node.counts.most_common())


ALL = [
    (Counts, ["", "ab", "abc", "bxa", "zz"]),
    (Decides, VECTORS),
    (DecidesByCalls, VECTORS),
    (DecidesByBranches, VECTORS),
    (DecidesByFor, VECTORS),
    (BestFirst, VECTORS),
    (OnAStack, VECTORS),
    (Spells, TEXTS),
    (Runs, WORDS),
    (Evaluates, VECTORS),
    (Classifies, NAMES),
    (Routes, VECTORS),
    (Turns, [0, 1, 2, 5, 9]),
]


@pytest.mark.parametrize(("cls", "sample"), ALL, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(cls, sample) -> None:
    agrees(cls(), sample)


@pytest.mark.parametrize("at", [1, 7, 8, 10, 11], ids=lambda at: ALL[at][0].__name__)
def test_natively(at, codegen, tmp_path: Path) -> None:
    agrees_natively(ALL[at][0]().eval(), ALL[at][1], codegen, tmp_path)


@pytest.mark.parametrize(
    "model", [Decides(Split("only")), Spells(words=()), Turns(1)], ids=["a leaf", "an empty trie", "a ring"]
)
def test_of_one_node(model, tmp_path: Path) -> None:
    sample = {Decides: VECTORS, Spells: TEXTS, Turns: [0, 3]}[type(model)]
    agrees(model, sample)
    for instance in sample[:2]:
        agrees_natively(model.eval(), [instance], "vm", tmp_path)


class Keeps(Decides):
    """Constant nodes in objects that the model makes, and as results of functions and in lists."""

    def leaves(self, node):
        if node.leaf:
            return [node]
        return [*self.leaves(node.left), *self.leaves(node.right)]

    def best(self, x):
        best = None
        for node in self.leaves(self.root):
            if best is None or x[node.feature].item() > 0.3 and node.name > best.name:
                best = node
        return best

    def forward(self, x):
        hypotheses = [Hypothesis(self.root, 0.0)]
        for _ in range(3):
            longer = []
            for h in hypotheses:
                if h.node.leaf:
                    longer.append(h)
                else:
                    longer.append(Hypothesis(h.node.left, h.score + x[0].item()))
                    longer.append(Hypothesis(h.node.right, h.score - x[1].item()))
            hypotheses = sorted(longer, key=lambda h: -h.score)[:3]
        return [(h.node.name, h.score) for h in hypotheses], self.best(x).name


@dataclass
class Hypothesis:
    node: Split
    score: float


class GivesOut(Classifies):
    def forward(self, names):
        kind = self.by_name[names[0]]
        while kind.above is not None and len(names) > 1:
            kind = kind.above
        return kind


class WritesTo(Decides):
    def forward(self, x):
        node = self.root
        while not node.leaf:
            node.feature = 1
            node = node.left if node.goes_left(x) else node.right
        return node.name


class PutsInto(Classifies):
    def forward(self, names):
        kind = self.by_name[names[0]]
        while kind.above is not None:
            kind.below.append(self.root)
            kind = kind.above
        return kind.name


class ChangesAList(Classifies):
    """A list of an object of the model, under another name."""

    def forward(self, names):
        kind, below = self.by_name[names[0]], []
        while kind.above is not None:
            kind = kind.above
            below = kind.below
            below.append(kind)
        return len(below)


class Meets(Decides):
    """The instance has one of the model's own nodes in it, which the program has in another form."""

    def forward(self, pair):
        node, other = self.root, pair[0]
        while not node.leaf:
            node = node.left if node.goes_left(pair[1]) else node.right
        return node is other


class MatchesNodes(Decides):
    def forward(self, x):
        node = self.root
        while not node.leaf:
            match node:
                case Split(name="a"):
                    node = node.left
                case _:
                    node = node.right
        return node.name


@pytest.mark.parametrize(
    ("cls", "sample", "message"),
    [
        (GivesOut, NAMES, "the result has a `Kind` in it that was made outside of `forward`, and leads back to itself"),
        (WritesTo, VECTORS, "`feature` of a `Split` that was made outside of `forward` is assigned to"),
        (PutsInto, NAMES, "`append` changes an object that may be seen under another name than `kind`"),
        (ChangesAList, NAMES, "`append` changes a list that may be seen under another name than `below`"),
        (Meets, [(splits(), x) for x in VECTORS], "`is` only compares with None, bools, and objects of the instance"),
        (MatchesNodes, VECTORS, "a `Split` that was made outside of `forward` is not taken apart by `match`"),
    ],
)
def test_refused(cls, sample, message) -> None:
    with pytest.raises(CompileError, match=message):
        build(cls(), sample=sample)


class Misses(Turns):
    def forward(self, steps):
        at = self.place
        for _ in range(steps):
            at = at.next
        return at.end


def test_an_attribute_that_only_some_have(tmp_path: Path) -> None:
    executable = compile(Misses().eval(), sample=[2, 0], cache_folder=tmp_path)
    assert executable([2, 5]) == ["end", "end"]
    with pytest.raises(InstanceError, match="a Ring has no `end`"):
        executable([0])


def test_a_change_of_the_objects_is_noticed(tmp_path: Path) -> None:
    model = Decides().eval()
    executable = compile(model, sample=VECTORS, cache_folder=tmp_path)
    executable(VECTORS)
    model.root.left.right.feature = 0
    with pytest.raises(ModuleChanged):
        executable(VECTORS)


class GivesOutTrees(Decides):
    """A tree that leads back to nothing is a result with all that is in it."""

    def __init__(self):
        super().__init__()
        self.root = Whole(1, Whole(2), Whole(3, Whole(4), None))

    def forward(self, x):
        node = self.root
        while node.left is not None:
            node = node.left if x[0].item() > 0 or node.right is None else node.right
        return node, node.word


@dataclass
class Whole:
    word: int
    left: Whole | None = None
    right: Whole | None = None


class Grows(GivesOutTrees):
    """Nodes of the model's own beside new ones."""

    def forward(self, x):
        node = self.root
        for k in range(3):
            if x[k].item() > 0:
                node = Whole(k, node, None)
            elif node.right is not None:
                node = node.right
        return node.word, node


def grown(depth, number=1):
    below = [grown(depth - 1, 2 * number + k) for k in range(2)] if depth else [None, None]
    return Split(f"n{number}", number % 3, *below)


@pytest.mark.parametrize("cls", [DecidesByCalls, DecidesByBranches, Evaluates])
def test_of_many_nodes(cls) -> None:
    """Functions that call themselves for each node are compiled once, however large the tree is."""
    model = cls()
    chain = Sum(Constant(1.0))
    for k in range(90):
        chain = Sum(chain) if k % 2 else Product(chain, scale=1)
    model.root = chain if cls is Evaluates else grown(7)
    program = agrees(model, VECTORS)
    assert len(program.functions) < 20


@pytest.mark.parametrize("cls", [Keeps, GivesOutTrees, Grows])
def test_beside_others(cls) -> None:
    agrees(cls(), VECTORS)
