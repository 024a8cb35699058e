"""One small model, with instances, for each feature of the language. Eager PyTorch says what each must give."""
# mypy: ignore-errors

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any, ClassVar, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from backends import acrobat
from backends.acrobat import parallel, phase

WIDTH = 4
SCALE = 0.5


@dataclass(frozen=True, slots=True)
class Sample:
    x: Annotated[Tensor, "width"]
    n: int


@dataclass(frozen=True, slots=True)
class Leaf:
    word: int


@dataclass(frozen=True, slots=True)
class Pair:
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Many:
    children: list[Tree]
    weight: float


Tree: TypeAlias = Leaf | Pair | Many


@dataclass(frozen=True)
class Link:
    value: int
    next: Link | None


@dataclass(frozen=True)
class Chain:
    first: Link | None
    limit: int | None


def samples(*ns: int) -> list[Sample]:
    generator = torch.Generator().manual_seed(7)
    return [Sample(torch.randn(WIDTH, generator=generator, dtype=torch.float64), n) for n in ns]


def links(*values: int) -> Link | None:
    return Link(values[0], links(*values[1:])) if values else None


TREES: list[Tree] = [
    Leaf(1),
    Pair(Leaf(2), Leaf(3)),
    Pair(Pair(Leaf(1), Leaf(2)), Many([Leaf(3), Pair(Leaf(1), Leaf(0)), Leaf(4)], 2.0)),
    Many([], 1.5),
    Many([Leaf(5)], 0.0),
    Pair(Leaf(0), Pair(Leaf(0), Many([], 3.0))),
]
CHAINS = [Chain(links(), None), Chain(links(3), 1), Chain(links(1, 2, 3, 4), None), Chain(links(5, 0, 5), 0)]


class Base(nn.Module):
    """The weights and instances that most models here use."""

    instances: ClassVar[Sequence[Any]] = samples(0, 1, 2, 3, 5)

    def __init__(self) -> None:
        super().__init__()
        self.width = WIDTH
        self.a = nn.Linear(WIDTH, WIDTH)
        self.b = nn.Linear(WIDTH, WIDTH, bias=False)
        self.table = nn.Embedding(10, WIDTH)
        self.start = nn.Parameter(torch.randn(WIDTH))


# ---- numbers


class Arithmetic(Base):
    instances = samples(-7, -1, 1, 2, 3, 10)

    def forward(self, s: Sample) -> tuple[int, int, float, int, float, int, int]:
        a = -7 // s.n + s.n % -3
        b = (s.n << 2) ^ (s.n & 6) | (s.n >> 1)
        return a, b, 1 / s.n, s.n**2, float(s.n) // 2.0, min(s.n, 2, a), max(abs(-s.n), 3)


class Conversions(Base):
    def forward(self, s: Sample) -> tuple[int, float, bool, float]:
        ratio = s.n / 3
        return int(-ratio * 7), float(s.n), bool(s.n), max(ratio, 1)


class Logic(Base):
    def forward(self, s: Sample) -> tuple[bool, int, int, bool]:
        between = 1 < s.n <= 3
        chosen = s.n or 5
        both = s.n and s.n + 10
        return between and not (s.n + 1) % 3, chosen, both, s.n > 4 or between


class ShortCircuit(Base):
    def forward(self, s: Sample) -> list[int]:
        xs = list(range(s.n))
        return [1] if s.n > 2 and xs[2] == 2 or not xs else [0]


class Global(Base):
    def forward(self, s: Sample) -> Tensor:
        return s.x * SCALE * self.width


# ---- branches


class Branches(Base):
    def forward(self, s: Sample) -> Tensor:
        y = s.x
        if s.n > 3:
            y = self.a(y)
            z = y * 2
        elif s.n > 1:
            z = self.b(y)
        else:
            z = y - 1
        return y + z


class EarlyReturns(Base):
    def forward(self, s: Sample) -> Tensor:
        if s.n == 0:
            return s.x
        y = self.a(s.x)
        if s.n < 3:
            if s.n == 1:
                return y
            y = self.b(y)
        return torch.tanh(y)


class Conditional(Base):
    def forward(self, s: Sample) -> Tensor:
        return self.a(s.x) if s.n % 2 == 0 else self.b(s.x if s.n > 1 else -s.x)


class Folded(Base):
    """The branch that is not taken would not compile."""

    def __init__(self) -> None:
        super().__init__()
        self.real = False
        self.mode = "fast"
        self.extra: nn.Linear | None = None

    def forward(self, s: Sample) -> Tensor:
        if self.real:
            return torch.fft.rfft(s.x)
        if self.mode == "fast" and self.extra is None and not self.training:
            return self.a(s.x)
        return self.extra(s.x)


class IntOrFloat(Base):
    def forward(self, s: Sample) -> float:
        best = 0
        for i in range(s.n):
            best = max(best, i / 2)
        return best if s.n > 1 else 7


# ---- match


class Depth(Base):
    instances = TREES

    def forward(self, tree: Tree) -> int:
        match tree:
            case Leaf():
                return 0
            case Pair(left, right):
                return 1 + max(self.forward(left), self.forward(right))
            case Many(children=children):
                return 1 + max([0] + [self.forward(c) for c in children])


class NestedPatterns(Base):
    instances = TREES

    def forward(self, tree: Tree) -> int:
        match tree:
            case Pair(Leaf(0), _):
                return 1
            case Pair(Leaf(word), Leaf(other)) if word < other:
                return word * 10 + other
            case Pair(Pair() as inner, Many(weight=w)):
                return self.forward(inner) + int(w)
            case Many(children, 0.0) if len(children) == 1:
                return -1
            case Leaf(word=1 | 2 as word):
                return 100 + word
            case Leaf(_) | Many():
                return 4
        return 5


class MatchStatement(Base):
    instances = TREES

    def forward(self, tree: Tree) -> Tensor:
        x = self.start
        count = 1
        match tree:
            case Leaf(word):
                x = self.table.weight[word]
            case Many(children, weight):
                x = self.start * weight
                count = len(children)
        return x * count


class OnlyCase(Base):
    """A value that the only case of a `match` computes is used after it, also inside a tuple."""

    def forward(self, s: Sample) -> tuple[Tensor, int]:
        match s:
            case Sample(x, n):
                pair = (torch.tanh(x), n + 1)
        return pair


class MatchNumber(Base):
    def forward(self, s: Sample) -> int:
        match s.n, s.n % 2:
            case 0, _:
                return 10
            case n, 1 if n > 2:
                return n
            case n, odd:
                return 20 + n + odd


class Optionals(Base):
    instances = CHAINS

    def forward(self, c: Chain) -> tuple[int, int, int, bool]:
        bound = 10 if c.limit is None else c.limit
        last = 0
        node = c.first
        while node is not None and node.value != 0:
            last = node.value
            node = node.next
        truth = 1 if c.limit else 0
        return self.total(c.first) + bound, last, truth, node is None

    def total(self, node: Link | None) -> int:
        if node is None:
            return 0
        return node.value + self.total(node.next)


class Reassigned(Base):
    """What a test has shown about a field is forgotten when the object's name gets another value."""

    instances = CHAINS

    def forward(self, c: Chain) -> int:
        if c.limit is None:
            return -1
        known = c.limit
        c = Chain(c.first, None if known == 0 else known + 1)
        return known if c.limit is None else c.limit * 10


class MatchNone(Base):
    instances = CHAINS

    def forward(self, c: Chain) -> tuple[int, Link | None]:
        match c.first:
            case None:
                return -1, None
            case Link(value, None):
                return value, Link(value + 1, None)
            case Link(value, Link(second, rest)):
                return value * 10 + second, rest


class MatchKnown(Base):
    """`case None` is never taken where an earlier test has shown that there is a value, and always where it has shown None."""

    instances = [*CHAINS, None]  # noqa: RUF012

    def forward(self, c: Chain | None) -> tuple[int, int]:
        if c is None:
            match c:
                case Chain():
                    return 1, 1
                case None:
                    return -2, self.limit(c)
        match c:
            case None:
                return 0, 0
            case Chain(first, _):
                return self.length(first), self.limit(c)

    def length(self, link: Link | None) -> int:
        if link is None:
            return 0
        match link, link.value:
            case None, _:
                return -1
            case Link(_, None), 3:
                return 30
            case Link(_, rest), value:
                return value + self.length(rest)

    def limit(self, c: Chain | None) -> int:
        match c:
            case Chain(_, limit):
                if limit is not None:
                    match limit:
                        case None:
                            return -3
                        case 1:
                            return 100
                        case n:
                            return n
        return -4


class MatchCall(Base):
    """Names that cases assign where the subject is a call of the function itself, of whose type nothing is known at first."""

    instances = CHAINS

    def forward(self, c: Chain) -> tuple[Link | None, int]:
        return self.doubled(c.first), self.depth(c.first)

    def doubled(self, link: Link | None) -> Link | None:
        if link is None:
            return None
        match self.doubled(link.next):
            case None:
                ahead = (1, link.value)
            case Link(value, rest):
                ahead = (2 if rest is None else 3, value)
        total = 0
        for i in range(link.value):
            total = total + ahead[0] * i
        return Link(total + ahead[1], link)

    def depth(self, link: Link | None) -> int:
        if link is None:
            return 0
        if self.depth(link.next) > 1:
            deep, step = True, 1
        else:
            deep, step = False, 2
        while step < 5 and not deep:
            step = step + 2
        return self.depth(link.next) + step


# ---- loops


class Recurrence(Base):
    def forward(self, s: Sample) -> list[Tensor]:
        states = []
        h = self.start
        for i in range(s.n):
            h = torch.tanh(self.a(h) + s.x * i)
            states.append(h)
        return states


class While(Base):
    def forward(self, s: Sample) -> tuple[Tensor, int]:
        h, left = s.x, s.n
        while left > 0:
            h = self.a(h)
            left -= 2
        return h, left


class BreakAndContinue(Base):
    instances = samples(0, 1, 4, 9)

    def forward(self, s: Sample) -> tuple[int, int]:
        total = 0
        last = -1
        for i in range(s.n):
            if i % 2 == 1:
                continue
            total += i
            last = i
            if total > 5:
                break
        k = 0
        while True:
            k += 1
            if k * k > s.n:
                break
        return total * 100 + last, k


class ReturnInLoops(Base):
    instances = samples(0, 1, 3, 8)

    def forward(self, s: Sample) -> Tensor:
        h = s.x
        for i in range(s.n):
            if i == 5:
                return h
            j = 0
            while j < 3:
                if i + j == 4:
                    return self.b(h)
                j += 1
            h = self.a(h)
        return h * 2


class NestedLoops(Base):
    def forward(self, s: Sample) -> list[list[int]]:
        rows = []
        for i in range(s.n):
            row = []
            for j in range(i):
                if j == i - 1 and i > 2:
                    break
                row.append(i * j)
            rows.append(row)
        return rows


class Iterators(Base):
    def forward(self, s: Sample) -> list[int]:
        xs = [i * i for i in range(s.n)]
        ys = xs[1:]
        out = [0]
        for i, (x, y) in enumerate(zip(xs, reversed(ys))):  # noqa: B905
            out.append(i * 100 + x * 10 + y)
        for x in range(s.n, 0, -2):
            out.append(x + 1)
        for x in list(reversed(xs)) + xs[::-1] + xs[-2:]:
            out = out + [x]  # noqa: RUF005
        return out


class Unrolled(Base):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, s: Sample) -> Tensor:
        h = s.x
        for cell in self.cells:
            h = torch.tanh(cell(h))
        for i in range(len(self.cells)):
            h = h + self.cells[i](h)
        for i, cell in enumerate(self.cells):
            h = cell(h) * i
            if i + s.n == 4:
                break
        return h + self.cells[-1](s.x)


class UnrolledReturn(Base):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(4)])

    def forward(self, s: Sample) -> Tensor:
        h = s.x
        for i, cell in enumerate(self.cells):
            if i == s.n:
                return h
            h = cell(h)
        return -h


class GRU(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.x = nn.Linear(hidden, 3 * hidden)
        self.h = nn.Linear(hidden, 3 * hidden)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        xr, xz, xn = self.x(x).split(self.hidden, dim=-1)
        hr, hz, hn = torch.chunk(self.h(h), 3, -1)
        z = torch.sigmoid(xz + hz)
        return (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h


class StackedRecurrence(Base):
    """Loops over layers and their states together, within each time step and layer by layer."""

    instances = samples(0, 1, 4)

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([GRU(WIDTH) for _ in range(2)])
        self.starts = nn.ParameterList([nn.Parameter(torch.randn(WIDTH)) for _ in range(2)])

    def forward(self, s: Sample) -> tuple[Tensor, list[Tensor]]:
        hs = [torch.zeros(WIDTH) for _ in self.layers]
        xs = [self.table.weight[i] for i in range(s.n)]
        for x in xs:
            new = []
            for layer, h in zip(self.layers, hs):  # noqa: B905
                x = layer(x, h)
                new.append(x)
            hs = new
        for layer, start in zip(self.layers, self.starts):  # noqa: B905
            h = start
            states = []
            for x in xs:
                h = layer(x, h)
                states.append(h)
            xs = states
        return hs[-1] + self.starts[-1], xs


class EarlyResult(Base):
    """`return` of a list inside the loop that fills it."""

    def forward(self, s: Sample) -> list[Tensor]:
        out = []
        h = s.x
        best = None
        for i in range(s.n):
            for j in range(2):
                h = torch.tanh(self.a(h)) + j
                if i + j == 4:
                    return out
            if best is None or i % 3 > best:
                best = i % 3
            out.append(h * best)
        return out


class Attention(Base):
    def __init__(self) -> None:
        super().__init__()
        self.heads = 2
        self.qkv = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, s: Sample) -> Tensor:
        x = self.a.weight * s.x
        n, _ = x.shape
        q, k, v = [f(x).view(n, self.heads, -1).transpose(0, 1) for f in self.qkv]
        attention = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(WIDTH // self.heads), dim=-1)
        return (attention @ v).transpose(0, 1).reshape(n, -1)[0]


class Accumulated(Base):
    """A list that is passed through a recursion, and a result that is an int in one case and a float in the other."""

    def forward(self, s: Sample) -> tuple[Tensor, list[int], float]:
        x, seen = self.walk(s.n, [])
        return x, seen, self.half(s.n)

    def walk(self, n: int, seen: list[int]) -> tuple[Tensor, list[int]]:
        if n <= 0:
            return self.table.weight[0], seen
        left, seen1 = self.walk(n - 1, seen + [n])  # noqa: RUF005
        right, seen2 = self.walk(n - 2, seen1 + [n * 10])  # noqa: RUF005
        return torch.tanh(self.a(left) + self.b(right)), seen2

    def half(self, n: int) -> float:
        if n == 0:
            return 0
        return self.half(n - 1) + 0.5


class GrownByItself(Base):
    """The type of the list is known only after a round of the loop that iterates over it."""

    def forward(self, s: Sample) -> list[int]:
        xs = []
        for i in range(s.n):
            t = i
            for x in xs:
                t += x
            xs.append(t)
        return xs


class OwnLists(Base):
    """Appending to lists that have a single name."""

    def forward(self, s: Sample) -> tuple[list[list[int]], list[int], int]:
        rows = []
        row = [0]
        for i in range(s.n):
            row.append(i)
            rows.append(row)
            row = [i]
        if s.n > 1:
            xs = [1]
        else:
            xs = [2, 3]
        xs.append(3)
        if s.n > 3:
            return rows, xs, 0
        ys = xs[:]
        ys.append(4)
        ys += [self.count(ys)]
        ys.append(5)
        return rows, ys, len(xs)

    def count(self, xs: list[int]) -> int:
        return len(xs)


# ---- lists


class Comprehensions(Base):
    def forward(self, s: Sample) -> tuple[list[Tensor], list[int], list[int], list[list[int]]]:
        tensors = [self.a(s.x) * i for i in range(s.n) if i % 2 == 0 if i != 2]
        pairs = [i * 10 + j for i in range(s.n) if i != 1 for j in range(i) if j % 2 == 0]
        fixed = [k for k in (1, 2, 3) if k > s.n]
        return tensors, pairs, fixed, [[i + j for j in range(i)] for i in range(s.n)]


class Sums(Base):
    instances = samples(1, 2, 5)

    def forward(self, s: Sample) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, int, int, int]:
        xs = [self.a(s.x) * (i + 1) for i in range(s.n)]
        zero = torch.zeros(self.width)
        return (
            sum(xs),
            sum(xs, start=zero),
            reduce(torch.add, xs),
            functools.reduce(operator.add, xs, self.start),
            torch.stack(xs).sum(0) + torch.stack(xs).mean(dim=0) + torch.sum(torch.stack(xs), dim=0),
            sum(i * i for i in range(s.n)),
            max([i % 3 for i in range(s.n)]),
            min(i - 3 for i in range(s.n)),
        )


class SumOfNone(Base):
    def forward(self, s: Sample) -> Tensor:
        return sum([self.a(s.x) for _ in range(s.n)], torch.zeros(self.width))


class Displays(Base):
    def forward(self, s: Sample) -> Tensor:
        xs = [s.x, self.a(s.x)]
        xs.append(self.b(s.x))
        return torch.cat(xs) + torch.stack(xs, dim=1).reshape(-1) * sum(xs).sum()


class Widened(Base):
    def forward(self, s: Sample) -> list[float]:
        xs: list[float] = [0, 1.5]
        ys = [i for i in range(s.n)]  # noqa: C416
        return xs + self.floats(ys)

    def floats(self, xs: list[float]) -> list[float]:
        return xs


# ---- tensors


class Shapes(Base):
    def forward(self, s: Sample) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        m = torch.cat([s.x, self.start]).view(2, -1)
        a, b = m.chunk(2, dim=1)
        c, d = torch.split(m, [1, 3], dim=-1)
        e = m.unsqueeze(0).transpose(0, 1).squeeze(1)[:, None].flatten()
        top, bottom = m
        return a @ b.T, c.permute(1, 0), d.t().contiguous(), e + m.reshape((8,)), top - bottom[..., -1] + m[-1, 1:2]


class Reductions(Base):
    def forward(self, s: Sample) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, int]:
        m = torch.stack([s.x, self.start, s.x * 2])
        best, where = m.max(dim=1)
        return (
            m.sum(dim=0, keepdim=True) + m.mean(),
            F.softmax(m, dim=-1).sum(1),
            best,
            where,
            m.argmax(0),
            torch.max(m, dim=0)[0] + m.amax(dim=0),
            int(torch.argmax(m[0])) + m.shape[0] * m.size(1) + len(m),
        )


class Functions(Base):
    def forward(self, s: Sample) -> Tensor:
        x = torch.exp(-s.x.square()) + F.relu(s.x) * torch.sigmoid(s.x).log() - F.gelu(s.x).tanh()
        y = torch.maximum(x, s.x).sqrt() if s.n > 100 else torch.minimum(x, s.x)
        w = torch.rsqrt(torch.exp(y)) / (2 + torch.ones_like(x)) + torch.full((1,), 0.5) - torch.ones(self.width)
        return F.linear(w, self.a.weight, self.a.bias) + torch.mv(self.b.weight, w) + 2**0.5 - w**2 + s.n * w


class MoreMoves(Base):
    def forward(self, s: Sample) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        m = torch.stack([s.x, self.start])
        first, second = m.unbind(0)
        with torch.no_grad():
            third = torch.select(m, 1, -1) + m.narrow(1, 1, 2).sum(dim=1)
        made = m.new_zeros(2) + m.new_ones((2,)) + torch.zeros(2, dtype=m.dtype, device=m.device) + torch.tensor(1.5)
        rows = [row * 2 for row in m]
        columns = [c[0] for c in m.T]
        square = torch.mm(m, m.t()) + torch.bmm(m[None], m.mT[None])[0].detach().clone()
        tail = torch.cat((first, second), dim=0)[None, ..., 3:5, None]
        return third + made * torch.dot(first, second), square @ third, rows[1] + columns[-1], tail[0, :, 0] * m.numel()


class MoreModules(Base):
    def __init__(self) -> None:
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Sigmoid(), nn.Identity(), nn.ReLU(), nn.Dropout(0.5))

    def forward(self, s: Sample) -> Tensor:
        h = s.x
        for layer in self.seq:
            h = layer(h)
        return F.relu(h) + self.seq[0](h) * len(self.seq) - torch.subtract(h, 1.0).mul(h).div(2) + h.add(s.n)


class TensorTruth(Base):
    def forward(self, s: Sample) -> int:
        score = torch.relu(self.a(s.x)[:1])
        if score:
            return 1 if bool(s.x[0]) else 2
        return 3 if not score and float(score) == 0.0 else 4


class LogSoftmax(Base):
    def __init__(self) -> None:
        super().__init__()
        self.last = nn.LogSoftmax(dim=0)

    def forward(self, s: Sample) -> Tensor:
        return F.log_softmax(s.x * 100 / math.sqrt(s.x.numel()), dim=-1) + self.last(s.x)


class Norm(Base):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH, eps=0.1)

    def forward(self, s: Sample) -> Tensor:
        return self.norm(s.x) + F.layer_norm(s.x, (self.width,), self.norm.weight, self.norm.bias)


class Rows(Base):
    def forward(self, s: Sample) -> Tensor:
        best = torch.argmax(self.table.weight[s.n])
        return self.table.weight[s.n] + self.table(torch.tensor(s.n)) + self.a.weight[best] + self.table.weight[int(best) + 1]


class ReadValues(Base):
    def forward(self, s: Sample) -> tuple[float, int, Tensor]:
        score = torch.sigmoid(s.x[:1])
        steps = 0
        h = s.x
        while h.sum() < 5 and steps < 20:
            h = h + torch.sigmoid(h)
            steps += 1
        if score > 0.5:
            h = -h
        return score.item() * 2, steps + int(score * 10), h * float(s.x[0])


# ---- modules and functions


class Block(nn.Module):
    def __init__(self, act: nn.Module, eps: float, bias: bool) -> None:
        super().__init__()
        self.act = act
        self.norm = nn.LayerNorm(WIDTH, eps=eps)
        self.proj = nn.Linear(WIDTH, WIDTH, bias=bias)
        self.rows = nn.Embedding(6, WIDTH)

    def forward(self, x: Tensor, i: int = 1) -> Tensor:
        return self.act(self.norm(self.proj(x))) + self.rows.weight[i]


class Scaled(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class Submodules(Base):
    """Modules of one class that differ in weights, in configuration and in their submodules."""

    def __init__(self) -> None:
        super().__init__()
        self.one = Block(nn.Tanh(), 1e-5, True)
        self.two = Block(nn.Tanh(), 1e-5, True)
        self.three = Block(nn.ReLU(), 0.5, False)
        self.four = Block(nn.ReLU(), 1e-5, True)
        self.by_half, self.by_third = Scaled(1 / 2), Scaled(1 / 3)
        self.layers = nn.Sequential(nn.Linear(WIDTH, 8), nn.GELU(), nn.Dropout(), nn.Linear(8, WIDTH), nn.Softmax(dim=-1))

    def forward(self, s: Sample) -> Tensor:
        x = self.by_half(self.four(s.x)) + self.by_third(s.x)
        return self.layers(self.one(x) + self.two(s.x, s.n) + self.twice(self.three, s.x))

    def twice(self, block: Block, x: Tensor) -> Tensor:
        return block(block.forward(x), i=2)


class Recursive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(2 * WIDTH, WIDTH)

    def encode(self, tree: Tree, table: nn.Embedding) -> Tensor:
        match tree:
            case Leaf(word):
                return table.weight[word]
            case Pair(left, right):
                return torch.tanh(self.cell(torch.cat((self.encode(left, table), self.encode(right, table)))))
            case Many(children, weight):
                return sum([self.encode(c, table) for c in children], torch.zeros(WIDTH)) * weight


class TwoEncoders(Base):
    instances = TREES

    def __init__(self) -> None:
        super().__init__()
        self.first = Recursive()
        self.second = Recursive()

    def forward(self, tree: Tree) -> Tensor:
        return self.first.encode(tree, self.table) - self.second.encode(tree, self.table)


class Arguments(Base):
    """Functions, methods, strings, tuples and None as arguments; tuples of constants; a sum of a tuple."""

    sizes = (1, 3)

    def forward(self, s: Sample) -> Tensor:
        x = self.apply_twice(torch.tanh, s.x) + self.apply_twice(self.scaled, s.x) + self.apply_twice(self.a, s.x)
        left, right = x.split(self.sizes)
        both = sum((self.pair((left, s.n), "sum"), self.pair((left, 2), "difference"), left))
        return both + right.squeeze().sum() + self.shifted(x, None) + self.shifted(x[3:], left) + self.sizes[::-1][0]

    def apply_twice(self, f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return f(f(x))

    def scaled(self, x: Tensor) -> Tensor:
        return x * 3

    def pair(self, p: tuple[Tensor, int], how: str) -> Tensor:
        x, n = p
        return x + n if how == "sum" else x - n

    def shifted(self, x: Tensor, by: Tensor | None) -> Tensor:
        return x if by is None else x + by


class Overridden(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return super_of(x) + self.bias


def super_of(x: Tensor, factor: float = 2.0, *, shift: int = 1) -> Tensor:
    return x * factor + shift


class OwnForward(Base):
    def __init__(self) -> None:
        super().__init__()
        self.own = Overridden(WIDTH, WIDTH)

    def forward(self, s: Sample) -> Tensor:
        return self.own(s.x) + super_of(s.x, shift=s.n) + self.static(s.x, 3)

    @staticmethod
    def static(x: Tensor, n: int) -> Tensor:
        return x / n


class Inherited(OwnForward):
    @torch.no_grad()
    def forward(self, s: Sample) -> Tensor:
        return self.static(s.x, s.n + 1)


class Tied(Base):
    """One parameter under two names, and a buffer that is a view of it with other strides."""

    def __init__(self) -> None:
        super().__init__()
        self.b.weight = self.a.weight
        self.register_buffer("turned", self.a.weight.detach().T)

    def forward(self, s: Sample) -> Tensor:
        return self.a(s.x) + self.b(s.x) + self.turned @ s.x


class Mutual(Base):
    def forward(self, s: Sample) -> Tensor:
        return self.even(s.x, s.n)

    def even(self, x: Tensor, n: int) -> Tensor:
        return x if n <= 0 else self.odd(self.a(x), n - 1)

    def odd(self, x: Tensor, n: int) -> Tensor:
        if n > 0:
            return self.even(self.b(x), n - 1)
        return -x


class ManyShapes(Base):
    """One function that is called with two shapes."""

    def forward(self, s: Sample) -> tuple[Tensor, Tensor]:
        return self.double(s.x), self.double(s.x[:2])

    def double(self, x: Tensor) -> Tensor:
        return x + x


class ListOfLists(Base):
    """The type of `[]` follows from the recursion's result, and that from the type of `[]`."""

    def forward(self, s: Sample) -> list[Tensor]:
        return self.grow(s.x, s.n)

    def grow(self, x: Tensor, n: int) -> list[Tensor]:
        if n == 0:
            return []
        return [x] + self.grow(self.a(x), n - 1)  # noqa: RUF005


# ---- structures


@dataclass(frozen=True)
class Empty:
    pass


@dataclass(frozen=True)
class Push:
    value: Tensor
    size: int
    below: Stack


Stack: TypeAlias = Empty | Push


@dataclass(frozen=True)
class Point:
    x: Tensor
    label: int = 3


class Stacks(Base):
    def forward(self, s: Sample) -> tuple[Stack, Point]:
        stack: Stack = Empty()
        for i in range(s.n):
            stack = Push(self.a(s.x), i, stack)
        match stack:
            case Push(_, _, Push() as below):
                stack = below
        point = Point(s.x[:2])
        return stack, Point(x=point.x * point.label, label=s.n)


@dataclass(frozen=True)
class Plain:
    rows: list[Annotated[Tensor, 2, "width"]]
    pair: tuple[int, float]
    flags: list[bool]


class Nested(Base):
    instances = [  # noqa: RUF012
        Plain([], (1, 2.0), []),
        Plain([torch.ones(2, WIDTH).double(), torch.zeros(2, WIDTH).double()], (3, 4.5), [True, False, True]),
    ]

    def forward(self, p: Plain) -> tuple[list[Tensor], float, list[int]]:
        n, f = p.pair
        return [r @ self.start for r in p.rows], n * f, [1 if flag else 0 for flag in p.flags]


class Gaps(Base):
    """Lists of optional ints, joined with lists of ints."""

    instances = [[], [None], [3], [1, None, 2]]  # noqa: RUF012

    def forward(self, xs: list[int | None]) -> tuple[list[int | None], list[tuple[int | None, int]], int]:
        pairs: list[tuple[int | None, int]] = []
        total = 0
        for i, x in enumerate(xs):
            if x is None:
                pairs = pairs + [(x, i)]  # noqa: RUF005
            else:
                xs = xs + [x]  # noqa: RUF005
                pairs = pairs + [(x + 1, x)]  # noqa: RUF005
                total = total + x
        return xs, pairs, total


class Annotations(Base):
    instances = samples(0, 1, 4)

    def forward(self, s: Sample) -> tuple[list[Tensor], Tensor, tuple[Tensor, Tensor], int]:
        rows = parallel([self.a(s.x * i) for i in range(s.n)])
        a, b = parallel(self.a(s.x), self.step(s.x))
        parallel(rows, a)
        (rows, c), n = phase((rows, a + b), s.n)
        both = acrobat.phase([a, c])
        for row in rows:
            c = c + row
        return rows, torch.cat(both), (both[1], c), n

    def step(self, x: Tensor) -> Tensor:
        return torch.tanh(phase(self.a(x)))


class BareTensor(Base):
    instances = [torch.ones(WIDTH).double()]  # noqa: RUF012

    def forward(self, x: Annotated[Tensor, WIDTH]) -> Tensor:
        return self.a(x)


MODELS = [m for m in vars().values() if isinstance(m, type) and issubclass(m, Base) and m is not Base]
