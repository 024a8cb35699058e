"""Objects that are changed while several names refer to them: the program has them as numbers
(`evaluator/objects/referenced.py`)."""

# mypy: ignore-errors

from __future__ import annotations

import heapq
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [7, 7, 1, 0, 3, 3], [0]]


class Node:
    def __init__(self, label, h, children=None):
        self.label = label
        self.h = h
        self.children = children if children is not None else []
        self.parent = None
        self.count = 0

    def add(self, child):
        self.children.append(child)
        child.parent = self
        return self

    @property
    def size(self):
        return 1 + sum(c.size for c in self.children)

    def root(self):
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def __len__(self):
        return len(self.children)


class Pending:
    def __init__(self, index, vec):
        self.index = index
        self.vec = vec
        self.n_left = 0


@dataclass
class Item:
    word: int
    left: Item | None = None
    right: Item | None = None
    kids: list[Item] = field(default_factory=list)
    h: Tensor | None = None


class Leaf:
    def __init__(self, h):
        self.h = h
        self.count = 0


class Inner:
    def __init__(self, left, right):
        self.left = left
        self.right = right
        self.h = left.h + right.h
        self.count = 0


@dataclass
class Hyp:
    tokens: list
    score: float
    state: Tensor
    done: bool = False


@dataclass(eq=False)
class Cell:
    value: int
    best: Cell | None = None
    table: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)


class Var:
    def __init__(self, name, vec):
        self.name = name
        self.vec = vec
        self.uses = 0

    def touch(self, model):
        self.uses += 1
        self.vec = torch.tanh(model.lin(self.vec))
        return self.vec


class Queued:
    def __init__(self, cost, x):
        self.cost = cost
        self.x = x
        self.links = []

    def __lt__(self, other):
        return self.cost < other.cost

    def twice(self):
        return self.cost * 2


@dataclass
class Pair:
    a: int
    b: int = 0


Arc = namedtuple("Arc", "head child label")


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)
        self.cell = nn.Linear(8, 4)
        self.lin = nn.Linear(4, 4)
        self.seen = None


class Attach(Base):
    def forward(self, xs):
        stack = []
        nodes = []
        for x in xs:
            node = Node(x, self.emb.weight[x])
            nodes.append(node)
            if stack:
                parent = stack[-1]
                parent.children.append(node)
                node.parent = parent
                parent.h = torch.tanh(self.cell(torch.cat([parent.h, node.h])))
            stack.append(node)
            if x % 2:
                stack.pop()
        counts = [len(n.children) for n in nodes]
        return torch.stack([n.h for n in nodes]), counts, [n.label for n in nodes if n.parent is not None]


class Easy(Base):
    def forward(self, xs):
        pending = [Pending(i, self.emb.weight[x]) for i, x in enumerate(xs)]
        heads = [-1] * len(xs)
        while len(pending) > 1:
            scores = torch.stack([(pending[i].vec * pending[i + 1].vec).sum() for i in range(len(pending) - 1)])
            i = int(scores.argmax())
            left, right = pending[i], pending[i + 1]
            if left.vec[0] > right.vec[0]:
                head, child = right, left
            else:
                head, child = left, right
            head.vec = torch.tanh(self.cell(torch.cat([head.vec, child.vec])))
            head.n_left += 1
            heads[child.index] = head.index
            pending.remove(child)
        root = pending[0]
        return root.vec, heads, root.n_left


class Link(Base):
    def visit(self, item):
        for kid in item.kids:
            self.visit(kid)
        own = self.emb.weight[item.word]
        for kid in item.kids:
            own = own + kid.h
        item.h = torch.tanh(own)

    def add(self, root, item):
        if item.word % 2 and root.left is None:
            root.left = item
        elif item.word < root.word and root.left is not None:
            self.add(root.left, item)
        root.kids.append(item)

    def forward(self, xs):
        root = Item(xs[0])
        last = root
        for x in xs[1:]:
            item = Item(x)
            self.add(last if x % 3 else root, item)
            last = item
        self.visit(root)
        n = 0
        cur = root
        while cur.left is not None:
            cur = cur.left
            n += 1
        return root.h, last.h, n, len(root.kids)


class Sorted(Base):
    def forward(self, xs):
        nodes = [Node(x, self.emb.weight[x]) for x in xs]
        best = max(nodes, key=lambda n: n.label)
        best.h = best.h * 2
        order = sorted(nodes, key=lambda n: n.label)
        order[0].label = 7
        for n in nodes:
            if n is best:
                n.label += 1
        total = sum(n.label for n in nodes)
        a = any(n.label > 6 for n in nodes)
        d = {n.label: n for n in nodes}
        d[max(d)].h = d[max(d)].h + 1
        return torch.stack([n.h for n in nodes]), total, a, nodes.index(best), best in nodes


class Methods(Base):
    def forward(self, xs):
        top = Node(-1, torch.zeros(4))
        last = top
        for x in xs:
            node = Node(x, self.emb.weight[x])
            (last if x % 2 else top).add(node)
            last = node
        r = last.root()
        r.count += 5
        return top.size, top.count, last.h, len(top), last.label, r is top


class Unions(Base):
    def forward(self, xs):
        stack = [Leaf(self.emb.weight[x]) for x in xs]
        every = list(stack)
        while len(stack) > 1:
            r = stack.pop()
            left = stack.pop()
            node = Inner(left, r)
            left.count += 1
            r.count += 2
            every.append(node)
            stack.append(node)
        last = every[-1]
        last.h = torch.tanh(last.h)
        n = sum(1 for e in every if isinstance(e, Inner))
        return [e.count for e in every], stack[0].h, n


class Told(Base):
    """Objects of two classes, each of which is the first one of its class, are not the same."""

    def forward(self, xs):
        every = [Leaf(self.emb.weight[x]) for x in xs]
        stack = list(every)
        while len(stack) > 1:
            node = Inner(stack.pop(), stack.pop())
            node.left.count += 1
            every.append(node)
            stack.append(node)
        same = [[a is b for b in every] for a in every]
        return same, every.index(stack[0]), [e.count for e in every]


class Deque(Base):
    def forward(self, xs):
        nodes = [Node(x, self.emb.weight[x]) for x in xs]
        for i in range(len(nodes) - 1):
            nodes[i].add(nodes[i + 1]) if xs[i] % 2 else nodes[0].add(nodes[i + 1])
        queue = [nodes[0]]
        order = []
        while queue:
            node = queue.pop(0)
            order.append(node.label)
            for child in node.children:
                child.h = torch.tanh(self.cell(torch.cat([node.h, child.h])))
                queue.append(child)
        seen = {}
        for n in nodes:
            seen[n.label] = n
            n.count = len(seen)
        return order, torch.stack([n.h for n in nodes]), [seen[x].count for x in xs]


class Cyclic(Base):
    def forward(self, xs):
        nodes = [Node(x, self.emb.weight[x]) for x in xs]
        for a, b in zip(nodes, nodes[1:] + nodes[:1], strict=True):
            a.parent = b
        cur = nodes[0]
        total = torch.zeros(4)
        for _ in range(2 * len(xs)):
            total = total * 0.5 + cur.h
            cur.count += 1
            cur = cur.parent
        return total, [n.count for n in nodes]


class Late(Base):
    def forward(self, xs):
        nodes = [Node(x, self.emb.weight[x]) for x in xs]
        best = nodes[0]
        for n in nodes:
            if n.label > best.label:
                best = n
        best.score = best.h.sum()
        best.mark = 3
        return best.score, nodes[0].mark if nodes[0] is best else -1


class InInit(Base):
    def forward(self, xs):
        class_nodes = []
        top = Node(0, torch.zeros(4), children=[Node(x, self.emb.weight[x]) for x in xs])
        for c in top.children:
            c.parent = top
        top.children[0].parent.count += 2
        for c in reversed(top.children):
            c.count = top.count
            class_nodes.append(c)
        return [c.count for c in class_nodes], top.size


class Env(Base):
    def forward(self, xs):
        env = {}
        trace = []
        for x in xs:
            if x not in env:
                env[x] = Var(x, self.emb.weight[x])
            v = env[x]
            trace.append(v)
            out = v.touch(self)
            if bool(out[0] > 0.3):
                env[x + 10] = v
                v.name = v.name + 100
        return torch.stack([t.vec for t in trace]), [t.uses for t in trace], sorted(v.name for v in env.values())


class Hyps(Base):
    def forward(self, xs):
        hyps = [Hyp([x], 0.0, self.emb.weight[x]) for x in xs]
        best = hyps[0]
        for h in hyps:
            h.score = h.score + h.state.sum().item()
            h.tokens.append(len(hyps))
            if h.score > best.score:
                best = h
        best.done = True
        best.tokens.append(-1)
        first = next((h for h in hyps if h.done), None)
        return best.tokens, [h.done for h in hyps], first.tokens if first is not None else []


class Arcs(Base):
    def forward(self, xs):
        vs = [Var(x, self.emb.weight[x]) for x in xs]
        arcs = [Arc(a, b, i) for i, (a, b) in enumerate(pairwise(vs))]
        for arc in arcs:
            arc.head.vec = arc.head.vec + arc.child.vec * 0.5
            arc.child.uses += arc.label
        pairs = {(a.head.name, a.child.name): a.child for a in arcs}
        n = 0
        for v in pairs.values():
            v.uses += 10
            n += v.uses
        return torch.stack([v.vec for v in vs]), [v.uses for v in vs], n


class Rec(Base):
    def build(self, xs, i, j):
        if j - i == 1:
            c = Cell(xs[i])
            self.all.append(c)
            return c
        m = (i + j) // 2
        left = self.build(xs, i, m)
        r = self.build(xs, m, j)
        c = Cell(left.value + r.value, best=left if left.value > r.value else r)
        left.rows.append(r.value)
        r.rows.append(c.value)
        c.table[left.value] = len(left.rows)
        self.all.append(c)
        return c

    def forward(self, xs):
        self.all = []
        top = self.build(xs, 0, len(xs))
        depth = 0
        cur = top
        while cur.best is not None:
            cur = cur.best
            depth += 1
        top.table[0] = depth
        return depth, [len(c.rows) for c in self.all], sum(top.table.values()), [sum(c.rows) for c in self.all]


class Heap(Base):
    def forward(self, xs):
        heap = []
        every = []
        for x in xs:
            q = Queued(x * 1.0, self.emb.weight[x])
            for e in every:
                if e.cost < q.cost:
                    e.links.append(q)
            every.append(q)
            heapq.heappush(heap, q)
        order = []
        while heap:
            q = heapq.heappop(heap)
            order.append(q.cost)
            for link in q.links:
                link.x = link.x + 0.1 * q.x
            q.cost = -1.0
        return order, torch.stack([e.x for e in every]), [e.cost for e in every]


class Early(Base):
    def find(self, vs, name):
        for v in vs:
            if v.name == name:
                v.uses += 1
                return v
            v.vec = v.vec * 0.5
        return None

    def forward(self, xs):
        vs = [Var(x, self.emb.weight[x]) for x in xs]
        alias = vs[:]
        hits = 0
        for x in (3, 1, 9, 2):
            v = self.find(vs, x)
            if v is None:
                continue
            hits += 1
            if v.uses > 1:
                break
            v.touch(self)

        def bump(k):
            alias[k % len(alias)].uses += 100

        bump(hits)
        bump(1)
        return torch.stack([v.vec for v in alias]), [v.uses for v in vs], hits


class State(Base):
    def forward(self, xs):
        self.seen = Var(0, torch.zeros(4))
        other = self.seen
        for x in xs:
            other.vec = other.vec + self.emb.weight[x]
            self.seen.uses += 1
            if x == 3:
                self.seen = Var(x, other.vec)
        return self.seen.vec, other.vec, other.uses, self.seen.uses


class Swap(Base):
    def forward(self, xs):
        vs = [Var(x, self.emb.weight[x]) for x in xs]
        a, b = vs[0], vs[-1]
        a.vec, b.vec = b.vec, a.vec
        a.name, b.name = b.name + 1, a.name
        c = a if xs[0] > 2 else b
        c.uses = len(vs)
        d = {"x": a, "y": b}
        d["x"].uses += 1
        t = (a, b, c)
        t[2].uses += 10
        vs.insert(0, c)
        vs.reverse()
        del vs[0]
        return [v.uses for v in vs], a.uses, b.uses, [v.name for v in vs], a is c, b is c, a == b


class Groups(Base):
    def forward(self, xs):
        groups = defaultdict(list)
        vs = []
        for x in xs:
            v = Var(x, self.emb.weight[x])
            groups[x % 3].append(v)
            vs.append(v)
        for k in sorted(groups):
            lead = groups[k][0]
            for v in groups[k]:
                if v is not lead:
                    lead.vec = lead.vec + v.vec
                v.uses = k
        q = deque(vs)
        n = 0
        while q:
            v = q.popleft()
            if v.uses == 1 and n < 4:
                v.uses = 2
                q.append(v)
            n += 1
        return torch.stack([v.vec for v in vs]), [v.uses for v in vs], n, {k: len(g) for k, g in groups.items()}


@dataclass(order=True)
class Span:
    start: int
    end: int
    vec: Tensor = field(compare=False)
    children: list[Span] = field(default_factory=list, compare=False)

    def contains(self, other):
        return self.start <= other.start and other.end <= self.end


class Nested(Base):
    """Spans, made from pairs, are put below the shortest one around them."""

    def forward(self, xs):
        pairs = [(x, x + y) for x, y in pairwise(xs)]
        spans = [(Span(*pair, self.emb.weight[pair[0]]), k) for k, pair in enumerate(pairs)]
        roots = []
        for span, _ in spans:
            parent = None
            for other, _ in spans:
                if other is not span and other.contains(span) and not span.contains(other):
                    if parent is None or other.end - other.start < parent.end - parent.start:
                        parent = other
            if parent is None:
                roots.append(span)
            else:
                parent.children.append(span)
        for span, _ in spans:
            span.children.sort()
        return [(s.start, s.end, [c.end for c in s.children]) for s in sorted(roots)]


class Below(Base):
    """Something is kept for each node, and asked for by the node above, if there is one."""

    def forward(self, xs):
        nodes, seen = [], {}
        for x in xs:
            node = Node(x, self.emb.weight[x])
            if nodes and x % 2:
                nodes[-1].add(node)
            nodes.append(node)
            seen[id(node)] = x
        return [seen.get(id(n.parent), -7) for n in nodes], id(nodes[0].parent) in seen


class Eq(Base):
    def forward(self, xs):
        ps = [Pair(x) for x in xs]
        q = ps[0]
        q.b += 1
        n = 0
        for p in ps:
            if p == q:
                n += 1
            if p in ps[1:]:
                n += 10
        ps.remove(Pair(xs[-1], 1 if len(xs) == 1 else 0))
        return n, len(ps), ps.index(q) if q in ps else -1, q != Pair(3, 1), sorted(p.a for p in ps)


class SortObj(Base):
    def forward(self, xs):
        qs = [Queued(x * 1.0, self.emb.weight[x]) for x in xs]
        first = qs[0]
        first.cost += 2.5
        qs.sort()
        top = max(qs)
        top.cost = 0.0
        low = min(qs, key=lambda q: (q.cost, -len(q.links)))
        low.links.append(top)
        f = list(filter(lambda q: q.cost > 1, qs))
        m = list(map(Queued.twice, f))
        return [q.cost for q in qs], len(low.links), m, all(q.cost >= 0 for q in qs), sum(len(q.links) for q in qs)


class Graph:
    class Node:
        def __init__(self, x):
            self.x = x
            self.links = []


class SameName(Base):
    """Two classes of one name: each has its own list of objects."""

    def forward(self, xs):
        inner = [Graph.Node(x) for x in xs]
        outer = [Node(x, self.emb.weight[x]) for x in xs]
        first, last = inner[0], outer[-1]
        for p, q in zip(inner, outer, strict=True):
            first.links.append(p)
            last.count += p.x
            q.h = q.h * 2
        return len(inner[0].links), outer[-1].count, outer[0].h, last.h


MODELS = [Attach, Easy, Link, Sorted, Methods, Unions, Deque, Cyclic, Late, InInit, Env, Hyps, Arcs, Rec, Heap, Early, State]
MODELS += [Swap, Groups, Nested, Below, Eq, SortObj, SameName, Told]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model: Any) -> None:
    agrees(model(), LISTS)


@pytest.mark.parametrize("model", [Attach, Unions, Rec, Heap])
def test_natively(model: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(model(), LISTS, codegen, tmp_path)


class WalkChange(Base):
    def forward(self, xs):
        top = Node(0, torch.zeros(4))
        for x in xs:
            n = Node(x, self.emb.weight[x])
            top.add(n)
        other = top
        other.label += 1
        for c in top.children:
            if c.label == 3 and len(top.children) < 8:
                top.children.append(Node(1, c.h))
        return len(top.children)


class AliasList(Base):
    def forward(self, xs):
        top = Node(0, torch.zeros(4))
        other = top
        kids = top.children
        for x in xs:
            other.children.append(Node(x, self.emb.weight[x]))
        return len(kids)


class TensorInPlace(Base):
    def forward(self, xs):
        top = Node(0, torch.zeros(4))
        other = top
        h = top.h
        for x in xs:
            other.h += self.emb.weight[x]
            other.label += 1
        top.add(other)
        return top.h, h, other.label


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WalkChange, "which is walked over"),
        (AliasList, "`append` changes what `other.children` has, which may be seen under another name"),
        (TensorInPlace, "changes a tensor in place that may be seen under other names"),
    ],
)
def test_refused(model: Any, message: str) -> None:
    agrees_unless_refused(model(), LISTS, message)


class Pad:
    def __init__(self, width):
        self.rows = [[0] * width for _ in range(2)]
        self.places = [0, 0]

    def write(self, row, number):
        self.rows[row][self.places[row]] = number

    def move(self, row, by):
        self.places[row] = max(self.places[row] + by, 0)

    def read(self):
        return [self.rows[row][self.places[row]] for row in range(2)]


class Interpreted(Base):
    """A recursion for which it is found only while it is compiled that it changes objects of which others are told apart."""

    def act(self, pad, arguments):
        if arguments[0] > 0:
            pad.write(arguments[0] % 2, arguments[1])
        else:
            pad.move(arguments[0] % 2, -1)

    def run_program(self, pad, program, arguments, depth, trace):
        done = False
        while not done and len(trace) < 6:
            h = self.emb.weight[program] + self.emb.weight[arguments[0]] + pad.read()[0]
            best = h.argmax().item()
            arguments = [best for _ in range(2)]
            trace.append({"depth": depth, "h": h, "arguments": arguments})
            if best > 2:
                self.act(pad, arguments)
            elif depth < 3:
                self.run_program(pad, best, arguments, depth + 1, trace)
            done = h.sum().item() > 1

    def forward(self, xs):
        pad, trace = Pad(len(xs)), []
        self.run_program(pad, 0, [0, 0], 0, trace)
        return trace, pad.rows[1], pad.places


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_changes_that_are_found_while_the_function_is_compiled(codegen: str, tmp_path: Path) -> None:
    agrees_natively(Interpreted(), LISTS, codegen, tmp_path)


@dataclass
class Held:
    n: int
    items: list


def by_map(xs, items):
    return list(map(Held, xs, [items] * len(xs)))


def by_partial(xs, items):
    make = partial(Held, 1)
    return [make(items) for _ in xs]


@pytest.mark.parametrize("make", [by_map, by_partial])
def test_a_list_given_to_several_objects_by_another_call_than_that_of_the_class(make: Any) -> None:
    def forward(self, xs):
        items = [7]
        held = make(xs, items)
        first = held[0]
        first.n += 1
        first.items.append(3)
        return len(items), [len(h.items) for h in held], [h.n for h in held]

    agrees(with_forward(nn.Module(), forward), LISTS)
