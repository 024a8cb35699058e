"""What beam searches are written with: `[tokens, score, state]` as a list, tuples that grow, queues, `round(score, 4)`, and
distinct elements by `dict.fromkeys`; dictionaries of prefixes that each round fills anew; losses that ignore a class. Against
eager PyTorch."""

# ruff: noqa: RUF005 (lists and tuples that are joined by `+` are what is tested)

from __future__ import annotations

import queue
import random
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from queue import PriorityQueue
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.library.rounding import nearest_decimal
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1, 2, 3], [4], [2, 2, 0, 1]]


@dataclass
class Hypothesis:
    tokens: tuple = ()
    score: float = 0.0
    state: Any = None

    def extended(self, token, logp, state):
        return replace(self, score=self.score + logp, tokens=self.tokens + (token,), state=state)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.cell = nn.RNNCell(4, 4)
        self.out = nn.Linear(4, 5)
        self.loss = nn.CrossEntropyLoss(ignore_index=0)

    def walk(self, xs, i, path=()):
        if i == len(xs):
            return self.e(torch.tensor(list(path))).sum(0), len(path)
        return self.walk(xs, i + 1, path + (xs[i],))

    def gather(self, xs, i, path=()):
        if i == len(xs):
            return path
        return self.gather(xs, i + 1, path + (xs[i],))


def lists_of_three(self, xs):
    sequences: Any = [[[1], 0.0, self.e.weight[xs[0]].unsqueeze(0)]]
    for _ in range(3):
        candidates: list = []
        for seq, score, h in sequences:
            if seq[-1] == 0:
                candidates.append([seq, score, h])
                continue
            h2 = self.cell(self.e(torch.tensor([seq[-1]])), h)
            logp = F.log_softmax(self.out(h2), -1)[0]
            for j in range(len(logp)):
                candidates.append([seq + [j], score - logp[j].item(), h2])
        sequences = sorted(candidates, key=lambda t: t[1])[:2]
    return [(s, round(score, 3)) for s, score, _ in sequences], sequences[0][2]


def lists_of_two(self, xs):
    sequences: Any = [[[], 1.0]]
    for x in xs:
        candidates = []
        for i in range(len(sequences)):
            seq, score = sequences[i]
            for j in range(3):
                candidates.append([seq + [j], score * (j + x)])
        sequences = sorted(candidates, key=lambda t: t[1], reverse=True)[:2]
    return [s[0] for s in sequences], [s[1] for s in sequences]


def growing_fields(self, xs):
    h = Hypothesis(state=self.e.weight[xs[0]].unsqueeze(0))
    for x in xs:
        state = self.cell(self.e(torch.tensor([x])), h.state)
        h = h.extended(x, state.sum().item(), state)
    return list(h.tokens), h.state, round(h.score, ndigits=4)


def growing_in_a_loop(self, xs):
    path: Any = ()
    for x in xs:
        path = path + (x,)
        path += (0,)
    return list(path), len(path)


def growing_in_a_recursion(self, xs):
    return self.walk(xs, 0)


def priority_queue(self, xs):
    q: Any = PriorityQueue()
    for x in xs:
        q.put((-x, x * 2))
    out = []
    while not q.empty():
        score, v = q.get()
        out.append((score, v))
    return out, q.qsize()


def queues(self, xs):
    first: Any = queue.Queue()
    last: Any = queue.LifoQueue()
    for x in xs:
        first.put(x)
        last.put(x)
    return [first.get() for _ in range(first.qsize())], [last.get() for _ in range(last.qsize())], first.empty()


def distinct(self, xs):
    parities = dict.fromkeys(x % 2 for x in xs)
    return list(dict.fromkeys(xs)), len(parities), dict.fromkeys(xs, 0), dict.fromkeys(xs), 2 in parities


def ignored(self, xs):
    scores = self.out(self.e(torch.tensor(xs)))
    classes = torch.tensor([(x * 3) % 4 + 1 for x in xs])
    losses = [F.cross_entropy(scores, classes, ignore_index=4, reduction=r) for r in ("sum", "none")]
    return losses, self.loss(scores, classes), F.cross_entropy(scores, classes, ignore_index=0)


def lists_as_results(self, xs):
    h = self.e.weight[xs[0]]
    if len(xs) > 2:
        return [h, [1.5, self.out(h)], "long"], [[x, self.e.weight[x]] for x in xs], [h, self.out(h)]
    return [h * 2, [2.5, self.out(h)], "short"], [[x, self.e.weight[x] + 1] for x in xs], [h, self.out(h)]


def tuples_as_results(self, xs):
    path: Any = ()
    for x in xs:
        path = path + (x,)
    return path, [path, path], self.e.weight[0]


def words_in_a_path(self, xs):
    path: Any = ()
    for x in xs:
        path = path + (x,)
    return path + (1, "a")


def tuple_of_a_recursion(self, xs):
    return self.gather(xs, 0)


def prefixes(self, xs):
    beam: Any = {(): (1.0, 0.0, 0.0)}  # the probabilities to end in a blank and in a symbol, and the score of the symbols
    for frame in self.out(self.e(torch.tensor(xs))).softmax(-1).tolist():
        ending: Any = defaultdict(lambda: [0.0, 0.0])
        scores = {prefix: score for prefix, (_, _, score) in beam.items()}
        for prefix, (blank, symbol, score) in beam.items():
            here = ending[prefix]
            here[0] += (blank + symbol) * frame[0]
            last = prefix[-1] if prefix else 0
            for k in range(1, len(frame)):
                longer = prefix + (k,)
                scores.setdefault(longer, score + 0.01 * k)
                if k == last:
                    here[1] += symbol * frame[k]
                ending[longer][1] += (blank if k == last else blank + symbol) * frame[k]
        ranked = sorted(ending.items(), key=lambda item: sum(item[1]) + scores[item[0]], reverse=True)
        beam = {prefix: (b, s, scores[prefix]) for prefix, (b, s) in ranked[:3]}
    return [(list(prefix), b + s) for prefix, (b, s, _) in beam.items()]


def keys_of_other_lengths(self, xs):
    counts: Any = {(0, 1): 1.0, (1, 2): 2.0}
    pairs: Any = [(i, x) for i, x in enumerate(xs)]
    missing = counts.pop((1,), 7.0), counts.get((0, 1, 2)) is None, (0,) in counts, () in counts
    counts.setdefault((len(xs),), 3.0)
    seen: Any = {(0, 1)}
    seen.discard((0,))
    return missing, counts, (1, 2, 3) in seen, sorted(seen), [x for p in pairs if p for x in p], [p for p in pairs if not p]


def entered_where_missing(self, xs):
    beams: Any = {0: [0.0]}
    for x in xs:
        new: Any = {}
        for state in beams:
            stays, moves = new.setdefault(state, [0.0]), new.setdefault(state + x, [0.5])
            stays[0] += x
            moves[0] += beams[state][0]
        beams = new
    return list(beams.items())


def taken_out_or_new(self, xs):
    beams: Any = {0: [0.0]}
    for x in xs:
        new: Any = {}
        for state in beams:
            scores = new.pop(state, [0.0])
            scores[0] += x
            new[state] = scores
        beams = new
    return list(beams.items())


CASES = [
    prefixes,
    keys_of_other_lengths,
    entered_where_missing,
    taken_out_or_new,
    tuple_of_a_recursion,
    tuples_as_results,
    words_in_a_path,
    lists_as_results,
    lists_of_three,
    lists_of_two,
    growing_fields,
    growing_in_a_loop,
    growing_in_a_recursion,
    priority_queue,
    queues,
    distinct,
    ignored,
]


@pytest.mark.parametrize("function", CASES)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Decoder(), function), LISTS)


@pytest.mark.parametrize("function", [lists_of_three, priority_queue, lists_as_results, tuples_as_results])
def test_natively(function: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Decoder(), function), LISTS, codegen, tmp_path)


def rounds(self, x):
    return round(x, 2), round(x, 0), round(x * 3, 3), f"{round(x, 2)}", 7, round(torch.tensor([x]).item(), 4)


def test_round() -> None:
    agrees(with_forward(Decoder(), rounds), [0.125, 2.675, -0.001, 1.115, 1e20, -2.5, 0.0])


def test_nearest_decimal() -> None:
    draw = random.Random(0)
    for _ in range(20_000):
        digits = draw.choice([0, 1, 2, 3, 4, 6, 10])
        half = draw.randrange(-(10**7), 10**7) / 10 ** (digits + 1)
        for x in (half, draw.uniform(-10, 10), draw.uniform(-1, 1) * 10 ** draw.randint(-8, 16)):
            assert repr(nearest_decimal(x, 10.0**digits)) == repr(round(x, digits))


def rows_and_numbers(self, xs):
    return [self.e(torch.tensor(0)), self.e.weight[:2]] + list(xs)


def test_items_of_several_types_beside_a_list() -> None:
    agrees(with_forward(Decoder(), rows_and_numbers), LISTS)
