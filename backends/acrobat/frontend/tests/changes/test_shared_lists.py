"""Lists, sets and dictionaries that are changed while several names refer to them (`evaluator/containers/shared_lists.py`)."""

# mypy: ignore-errors

from __future__ import annotations

import copy
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

LISTS = [[1, 2, 3, 0, 4, 5], [3], [7, 7, 0, 0, 2], [4, 1, 8, 2, 1, 5, 5], []]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(20, 4)
        self.lin = nn.Linear(4, 4)

    def e(self, w):
        return self.emb(torch.tensor(w))


class Clusters(Base):
    def forward(self, ws):
        cluster_of = {}
        for m, w in enumerate(ws):
            ante = w % 3
            cluster = cluster_of.setdefault(ante, {ante})
            cluster.add(m)
            cluster_of[m] = cluster
        return [sorted(c) for c in cluster_of.values()]


class Segments(Base):
    def forward(self, ws):
        out = []
        cur = []
        out.append(cur)
        for w in ws:
            if w == 0:
                cur = []
                out.append(cur)
            else:
                cur.append(self.emb(torch.tensor(w)))
        return [torch.stack(c).sum(0) for c in out if c]


class Groups(Base):
    def forward(self, ws):
        groups = {}
        for i, w in enumerate(ws):
            g = groups.get(w)
            if g is None:
                g = []
                groups[w] = g
            g.append(i)
        return groups


class TwoNames(Base):
    def forward(self, ws):
        a = []
        b = a
        for w in ws:
            a.append(w)
            if w % 2:
                b.append(-w)
        return a, b


class Holder:
    def __init__(self, xs):
        self.xs = xs


class InAnObject(Base):
    def forward(self, ws):
        xs = [0]
        h = Holder(xs)
        for w in ws:
            xs.append(w + 1)
        return h.xs, sum(xs)


class Unions(Base):
    def forward(self, ws):
        par = list(range(20))
        groups = {i: [i] for i in par}
        for a, b in pairwise(ws):
            ga, gb = groups[a], groups[b]
            if ga is gb:
                continue
            ga.extend(gb)
            for x in gb:
                groups[x] = ga
        return [groups[w] for w in ws]


class RepeatedRow(Base):
    def forward(self, ws):
        rows = [[0] * 3] * 2
        for w in ws:
            rows[0][w % 3] += w
        return rows


class GivenToAFunction(Base):
    def walk(self, i, ws, acc):
        if i < len(ws):
            acc.append(ws[i])
            self.walk(i + 2, ws, acc)

    def forward(self, ws):
        acc = []
        keep = [acc]
        self.walk(0, ws, acc)
        self.walk(1, ws, keep[0])
        return acc, keep


class ByDefault(Base):
    def forward(self, ws):
        levels = defaultdict(list)
        order = []
        for w in ws:
            level = levels[w % 5]
            if not level:
                order.append(level)
            level.append(self.emb(torch.tensor(w)))
        return [torch.stack(x).mean(0) for x in order]


class Annotated(Base):
    def forward(self, ws: list[int]):
        segs: list[list[torch.Tensor]] = []
        cur: list[torch.Tensor] = []
        segs.append(cur)
        for w in ws:
            if w == 0:
                cur = []
                segs.append(cur)
            cur.append(self.e(w))
        return [torch.stack(s).mean(0) for s in segs if len(s) > 0]


@dataclass
class Gen:
    tokens: list[int]
    score: torch.Tensor
    extra: list[int] = field(default_factory=list)


class KeptByADataclass(Base):
    def forward(self, ws):
        toks = [1]
        g = Gen(toks, torch.zeros(4))
        for w in ws:
            toks.append(w)
            g.score = g.score + self.e(w)
        return g.tokens, g.score, len(toks)


class RowsAndFirstRows(Base):
    def forward(self, ws):
        class_rows = [[] for _ in range(3)]
        flat = []
        for w in ws:
            row = class_rows[w % 3]
            row.append(w)
            if len(row) == 1:
                flat.append(row)
        return flat, class_rows


class ChangesWhatItWalksOver(Base):
    def forward(self, ws):
        a = [0]
        b = a
        for x in a:
            if len(b) < 4:
                b.append(x + 1)
        return a


class Dictionaries(Base):
    def forward(self, ws):
        a = {}
        b = a
        for w in ws:
            a[w] = w
            b[w + 1] = 0
        return b, len(a), 3 in b


class Sets(Base):
    def forward(self, ws):
        s = set()
        t = s
        for w in ws:
            if w not in t:
                s.add(w)
        return sorted(t), len(s)


class GivenBack(Base):
    def push(self, st, x):
        st.append(x)
        return st

    def forward(self, ws):
        a = []
        b = self.push(a, 1)
        hist = []
        for w in ws:
            b = self.push(b, w)
            hist.append(b)
        return a, hist


class AddedIsNew(Base):
    def forward(self, ws):
        a = [1, 2]
        b = a
        a = [*a, 3]
        b.append(4)
        for w in ws:
            a.append(w)
        return a, b


class Augmented(Base):
    def forward(self, ws):
        a = [1]
        b = a
        b += [2]
        d = {"x": a}
        d["x"] += [3]
        for w in ws:
            d["x"].append(w)
        return a, b


class Tables(Base):
    def forward(self, ws):
        rows = [[0] * 4 for _ in range(3)]
        cols = rows
        for i, w in enumerate(ws):
            cols[i % 3][w % 4] += w
        rows[0] = rows[1]
        rows[0][0] = 99
        return rows, cols


class Queues(Base):
    def forward(self, ws):
        q = deque([0])
        alias = q
        seen = []
        while q and len(seen) < 10:
            x = q.popleft()
            seen.append(x)
            for w in ws:
                if w == x + 1:
                    alias.append(w)
        return seen, list(q)


class Remembered(Base):
    def forward(self, ws):
        memo = {}

        def rec(i):
            if i <= 0:
                return []
            if i in memo:
                return memo[i]
            r = rec(i - 2)
            out = r if i % 2 else list(r)
            out.append(i)
            memo[i] = out
            return out

        return rec(len(ws)), memo


class ReadByDefault(Base):
    def forward(self, ws):
        groups = defaultdict(list)
        for w in ws:
            groups[w % 3].append(w)
        best = groups[0]
        best.append(100)
        return dict(groups), best


class SetsByDefault(Base):
    def forward(self, ws):
        groups = defaultdict(set)
        for i, w in enumerate(ws):
            g = groups[w]
            g.add(i)
            g.add(-1)
        return {k: sorted(v) for k, v in groups.items()}


class ChosenLists(Base):
    def forward(self, ws):
        parts = []
        left = []
        right = []
        for _i, w in enumerate(ws):
            target = left if w % 2 else right
            target.append(self.e(w))
            parts.append(target)
        return [torch.stack(p).sum(0) for p in parts], len(left)


class Methods(Base):
    def forward(self, ws):
        x = [3, 1, 2]
        y = x
        x.sort()
        x.reverse()
        x.insert(0, 7)
        x.pop()
        y.remove(7)
        x.extend(ws)
        return x, y, x == y, x is y, [1] in [x], y.index(3), y.count(1), y[::-1], y[-1], max(y), sum(y)


class Tuples(Base):
    def forward(self, ws):
        table = [[] for _ in ws] or [[]]
        ptr = table[0]
        for i, w in enumerate(ws):
            ptr.append((w, self.e(w)))
            if w > 3:
                ptr = table[i]
        return [[p[0] for p in t] for t in table], sum((p[1] for t in table for p in t), torch.zeros(4))


class Node:
    def __init__(self, w):
        self.w = w
        self.kids = []


class ListsOfObjects(Base):
    def forward(self, ws):
        root = Node(0)
        cur = root.kids
        nodes = [root]
        for w in ws:
            n = Node(w)
            cur.append(n)
            nodes.append(n)
            if w % 2:
                cur = n.kids

        def total(n):
            return n.w + sum(total(k) for k in n.kids)

        return total(root), [len(n.kids) for n in nodes]


class DeepCopy(Base):
    def forward(self, ws):
        a = [[1]]
        b = a[0]
        c = list(a)
        d = copy.deepcopy(a)
        e = a.copy()
        f = a[:]
        for w in ws:
            b.append(w)
        return a, b, c, d, e, f


class DeepCopies(Base):
    """Deep copies of lists with several names: a list that is there twice is there once in the copy, and twice."""

    def forward(self, ws):
        one = [0]
        same = one
        rows = [one, [1], one]
        by_number = {len(ws): one, -1: rows[1], -2: one}
        sets = {}
        seen = sets.setdefault("seen", {0})
        for w in ws:
            same.append(w)
            rows[1].append(-w)
            seen.add(w)
        copies = copy.deepcopy(rows)
        copies[0].append(100)
        numbered = copy.deepcopy(by_number)
        numbered[len(ws)].append(200)
        alone = copy.deepcopy(one)
        alone.append(300)
        others = copy.deepcopy(sets)
        others["seen"].add(400)
        return rows, copies, by_number, numbered, alone, sorted(seen), sorted(others["seen"])


class DeeperCopies(Base):
    def forward(self, ws):
        one = [0]
        rows = [one, one]
        tables = [rows, rows]
        for w in ws:
            one.append(w)
            rows.append(one)
        copies = copy.deepcopy(tables)
        copies[0][0].append(5)
        return tables, copies


class MergedByAMethod(Base):
    def merge(self, groups, i, j):
        gi, gj = groups[i], groups[j]
        if gi is gj:
            return
        gi.extend(gj)
        for k in list(gj):
            groups[k] = gi

    def forward(self, ws):
        groups = {i: [i] for i in range(9)}
        for a, b in pairwise(ws):
            self.merge(groups, a, b)
        seen = []
        out = []
        for g in groups.values():
            if not any(g is s for s in seen):
                seen.append(g)
                out.append(sorted(g))
        return out


class Vocab:
    def __init__(self):
        self.by_len = {}
        self.all = []

    def add(self, w):
        bucket = self.by_len.get(w % 4)
        if bucket is None:
            bucket = []
            self.by_len[w % 4] = bucket
            self.all.append(bucket)
        bucket.append(w)


class Buckets(Base):
    def forward(self, ws):
        v = Vocab()
        for w in ws:
            v.add(w)
        return v.all, sorted(v.by_len)


class Chart(Base):
    def forward(self, ws):
        n = len(ws)
        chart = [[[] for _ in range(n + 1)] for _ in range(n + 1)]
        for i, w in enumerate(ws):
            cell = chart[i][i + 1]
            cell.append(self.e(w))
            cell.append(self.e(w) * 2)
        for span in range(2, n + 1):
            for i in range(n - span + 1):
                cell = chart[i][i + span]
                for k in range(i + 1, i + span):
                    for left in chart[i][k][:1]:
                        for r in chart[k][i + span][:1]:
                            if len(cell) < 2:
                                cell.append(torch.tanh(left + self.lin(r)))
        return [[len(c) for c in row] for row in chart], (chart[0][n][0] if n else torch.zeros(4))


class InDictionaries(Base):
    def forward(self, ws):
        beams = [{"toks": [1], "score": torch.zeros(())}]
        for w in ws[:3]:
            new = []
            for b in beams:
                for c in (w, w + 1):
                    toks = b["toks"] + [c]
                    new.append({"toks": toks, "score": b["score"] + self.e(c).sum()})
            beams = sorted(new, key=lambda b: float(b["score"]), reverse=True)[:2]
            for b in beams:
                b["toks"].append(0)
        return [b["toks"] for b in beams]


class ActiveStack(Base):
    def forward(self, ws):
        stacks = [[], [], []]
        act = stacks[0]
        for w in ws:
            act.append(self.e(w))
            act = stacks[w % 3]
            if len(act) > 2:
                act.pop()
        return [torch.stack(s) if s else torch.zeros(1, 4) for s in stacks]


class LeavesAnEntry(Base):
    def forward(self, ws):
        cfg = {"history": [], "buffer": list(ws)}
        hist = cfg["history"]
        while cfg["buffer"]:
            w = cfg["buffer"].pop(0)
            hist.append(w)
            if w == 0:
                cfg["history"] = []
        return hist, cfg["history"]


class Levels(Base):
    def forward(self, ws):
        out = []
        level = [[w] for w in ws]
        while len(level) > 1:
            nxt = []
            for i in range(0, len(level) - 1, 2):
                a = level[i]
                a.extend(level[i + 1])
                nxt.append(a)
            if len(level) % 2:
                nxt.append(level[-1])
            out.append([len(x) for x in nxt])
            level = nxt
        return out, level


class Neighbours(Base):
    def forward(self, ws):
        adj = [[] for _ in range(6)]
        for a, b in pairwise(ws):
            na, nb = adj[a % 6], adj[b % 6]
            na.append(b % 6)
            nb.append(a % 6)
        h = [self.e(i) for i in range(6)]
        for _ in range(2):
            h = [torch.tanh(h[i] + sum((h[j] for j in adj[i]), torch.zeros(4))) for i in range(6)]
        return torch.stack(h)


class Counters(Base):
    def forward(self, ws):
        counts = Counter()
        alias = counts
        for w in ws:
            alias[w] += 1
        return counts.most_common(2), sum(counts.values())


class NumbersAndTensors(Base):
    def forward(self, ws):
        a = [0.0]
        b = a
        t = [torch.zeros(4)]
        u = t
        for w in ws:
            a[0] += w * 0.5
            u.append(self.e(w))
            t[0] = t[0] + u[-1]
        return b[0], t[0], torch.stack(u), torch.cat(t), len(t)


class UniqueByIdentity(Base):
    def forward(self, ws: list[int]):
        cluster_of: dict[int, set[int]] = {}
        for m, w in enumerate(ws):
            ante = w % 3
            cluster = cluster_of.setdefault(ante, {ante})
            cluster.add(m)
            cluster_of[m] = cluster
        unique = {id(c): c for c in cluster_of.values()}.values()
        return sorted([sorted(c) for c in unique])


@dataclass
class Res:
    toks: list[int]
    groups: dict[int, list[int]]
    best: list[int] | None = None


class InTheResult(Base):
    def forward(self, ws: list[int]) -> Res:
        toks = [0]
        g: dict[int, list[int]] = {}
        r = Res(toks, g)
        for w in ws:
            cell = g.setdefault(w % 3, [])
            cell.append(w)
            toks.append(w)
            if r.best is None or len(cell) > len(r.best):
                r.best = cell
        return r


class Plain:
    def __init__(self):
        self.xs = []
        self.ys = self.xs

    def add(self, w):
        self.xs.append(w)
        return self


class Pl2:
    def __init__(self, a):
        self.xs = a
        self.ys = a


class Pl3:
    def __init__(self):
        self.xs = []
        self.ys = []


class TwoAttributes(Base):
    def forward(self, ws):
        p = Plain()
        for w in ws:
            p.xs.append(w)
        return p.ys, p.xs


class AttributeOfAnother(Base):
    def forward(self, ws):
        p = Pl3()
        p.ys = p.xs
        for w in ws:
            p.xs.append(w)
        return p.ys, p.xs


class ArgumentInTwoAttributes(Base):
    def forward(self, ws):
        p = Pl2([1])
        for w in ws:
            p.xs.append(w)
        return p.ys, p.xs


class TwoEntries(Base):
    def forward(self, ws):
        d = {}
        x = []
        d["a"] = x
        d["b"] = x
        for w in ws:
            d["a"].append(w)
        return d


class WrittenTwice(Base):
    def forward(self, ws):
        x = []
        d = {"a": x, "b": x}
        for w in ws:
            d["a"].append(w)
        return d


class InATuple(Base):
    def forward(self, ws):
        x = [0]
        t = (x, x)
        for w in ws:
            t[0].append(w)
        return t


class RepeatedList(Base):
    def forward(self, ws):
        r = [[0]] * 2
        for w in ws:
            r[0].append(w)
        return r


class TwoObjects(Base):
    def forward(self, ws):
        a = Pl3()
        b = Pl3()
        b.xs = a.xs
        for w in ws:
            a.xs.append(w)
        return a.xs, b.xs


class ListOfAttributes(Base):
    def forward(self, ws):
        p = Pl3()
        q = [p.xs, p.ys]
        for w in ws:
            p.xs.append(w)
        return q, p.xs


class InItself(Base):
    def forward(self, ws):
        r = [[0], [1]]
        r.append(r[0])
        for w in ws:
            r[0].append(w)
        return r


class Doubled(Base):
    def forward(self, ws):
        r = [[0], [1]]
        r = r + r
        for w in ws:
            r[0].append(w)
        return r


class Extended(Base):
    def forward(self, ws):
        r = [[0], [1]]
        r.extend(r)
        for w in ws:
            r[0].append(w)
        return r


class Copies(Base):
    def forward(self, ws):
        r = [[0], [1]]
        s = list(r)
        u = r[:1]
        v = sorted(r)
        for w in ws:
            r[0].append(w)
        return r, s, u, v


class CopiesOfDictionaries(Base):
    def forward(self, ws):
        r = {"k": [0]}
        s = dict(r)
        u = {**r}
        v = list(r.values())
        for w in ws:
            r["k"].append(w)
        return r, s, u, v


class Pending(Base):
    """Lists that are taken out of a `defaultdict` with an empty one as the default, and given to a function."""

    def total(self, rows):
        return torch.cat(rows, 0).sum(0) if len(rows) else torch.zeros(4)

    def forward(self, ws):
        pending = defaultdict(list)
        h = torch.zeros(4)
        for t, w in enumerate(ws):
            h = torch.tanh(self.lin(h + self.total(pending.pop(t, [])) + self.e(w)))
            pending[t + w % 3].append(h.unsqueeze(0))
        return h, self.total(pending.get(len(ws), [])), sorted(pending)


class ChangedDefault(Base):
    """What `get` gives in place of a missing list is changed: it is in no dictionary."""

    def forward(self, ws):
        seen = {0: [0]}
        found = []
        for w in ws:
            row = seen.get(w % 2, [])
            row.append(w)
            found.append(row)
        return found, seen[0], len(seen)


MODELS = [
    DeepCopies,
    Pending,
    ChangedDefault,
    WrittenTwice,
    Clusters,
    Segments,
    Groups,
    TwoNames,
    InAnObject,
    Unions,
    RepeatedRow,
    GivenToAFunction,
    ByDefault,
    Annotated,
    KeptByADataclass,
    RowsAndFirstRows,
    Dictionaries,
    Sets,
    GivenBack,
    AddedIsNew,
    Augmented,
    Tables,
    Queues,
    Remembered,
    ReadByDefault,
    SetsByDefault,
    ChosenLists,
    Methods,
    Tuples,
    ListsOfObjects,
    MergedByAMethod,
    Buckets,
    Chart,
    InDictionaries,
    ActiveStack,
    LeavesAnEntry,
    Levels,
    Neighbours,
    Counters,
    NumbersAndTensors,
    UniqueByIdentity,
    InTheResult,
    TwoAttributes,
    AttributeOfAnother,
    ArgumentInTwoAttributes,
    TwoEntries,
    InATuple,
    RepeatedList,
    TwoObjects,
    ListOfAttributes,
    InItself,
    Doubled,
    Extended,
    Copies,
    CopiesOfDictionaries,
    DeepCopy,
]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model: Any) -> None:
    agrees(model(), LISTS)


@pytest.mark.parametrize("model", [Segments, Unions, Chart, InTheResult, DeepCopies])
def test_natively(model: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(model(), LISTS, codegen, tmp_path)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ChangesWhatItWalksOver, "may be seen under another name"),
        (DeeperCopies, "may be seen under another name|may be seen elsewhere"),
    ],
)
def test_refused(model: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(model(), sample=LISTS)
