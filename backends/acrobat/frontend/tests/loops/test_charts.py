"""Charts that a loop fills and reads: what it puts in first tells a part of the type, and what it reads of that the rest."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

LABELS = ["", "S", "NP", "VP"]


class Leaf:
    def __init__(self, word):
        self.word = word

    def __str__(self):
        return f"({self.word})"


class Node:
    def __init__(self, label, children):
        self.label = label
        self.children = children

    def __str__(self):
        return f"({self.label} {' '.join(str(c) for c in self.children)})"


def parsed(self, words):
    n = len(words)
    chart = {}
    for length in range(1, n + 1):
        for left in range(n - length + 1):
            right = left + length
            score, label = (self.a.weight[left % 4] * right + self.a.bias).max(dim=0)
            if length == 1:
                chart[left, right] = (score, label.item(), None)
                continue
            splits = torch.stack([chart[left, k][0] + chart[k, right][0] * k for k in range(left + 1, right)])
            best = splits.argmax().item()
            chart[left, right] = (score + splits[best], label.item(), left + 1 + best)

    def build(left, right):
        _, label, split = chart[left, right]
        if split is None:
            children = [Leaf(words[left])]
        else:
            children = build(left, split) + build(split, right)
        return [Node(LABELS[label], children)] if LABELS[label] else children

    return [str(t) for t in build(0, n)], chart[0, n][0]


def back_pointers(self, words):
    best = {}
    for i, word in enumerate(words):
        score = self.a.weight[i % 4].sum() * len(word)
        if i == 0:
            best[i] = (score, None)
        else:
            before, back = max(((best[j][0] * (j + 1) + score, j) for j in range(i)), key=lambda p: p[0].item())
            best[i] = (before, back)
    path = []
    k = len(words) - 1
    while k is not None:
        path.append(k)
        k = best[k][1]
    return path[::-1], best[len(words) - 1][0]


def lattice(self, words):
    table = []
    for i, word in enumerate(words):
        row = []
        for j in range(3):
            score = self.a.weight[i % 4, j] * (len(word) + 1)
            if i == 0:
                row.append((score, None))
                continue
            scores = torch.stack([table[-1][k][0] * (k + 1) + score for k in range(3)])
            at = scores.argmax().item()
            row.append((scores[at], at))
        table.append(row)
    best = torch.stack([c[0] for c in table[-1]]).argmax().item()
    out = [best]
    for row in reversed(table[1:]):
        best = row[best][1]
        out.append(best)
    return out


def with_words(self, words):
    chart = {}
    n = len(words)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            if length == 1:
                chart[i, j] = (self.a.weight[i % 4].sum(), None, words[i])
            else:
                best, split = max((chart[i, k][0] + k * chart[k, j][0] + self.a.bias[k % 4], k) for k in range(i + 1, j))
                chart[i, j] = (best, split, None)

    def shown(i, j):
        _, split, word = chart[i, j]
        if split is None:
            return word
        return "(" + shown(i, split) + " " + shown(split, j) + ")"

    return shown(0, n), chart[0, n][0]


@pytest.mark.parametrize("forward", [parsed, back_pointers, lattice, with_words])
def test_what_is_read_tells_the_rest(forward):
    torch.manual_seed(1)
    model = nn.Module()
    model.a = nn.Linear(4, 4)
    agrees(with_forward(model, forward), [["a", "bb", "c"], ["d"], ["aa", "e", "f", "ggg", "h"], ["b", "c"]])
