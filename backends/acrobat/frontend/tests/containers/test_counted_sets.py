"""Sets that `chain` joins, that are another one in each round of a comprehension, or that a Counter counts: taken where their
order cannot show, and refused elsewhere. Against eager PyTorch."""

# mypy: ignore-errors
# ruff: noqa: C416 (what is tested)

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

TEXTS = [[[1, 2, 2, 3, 0], [2, 1]], [[5], [1, 2], [3, 3, 4]], [[1, 2], []]]


def in_how_many_texts(self, texts):
    counts = Counter(word for text in texts for word in set(text))
    return [counts[i] for i in range(6)], len(counts), 3 in counts, counts.get(7, 0)


def counted_one_by_one(self, texts):
    counts, fewer, own = Counter(), Counter(), Counter(set(texts[0]))
    for text in texts:
        counts.update(set(text))
        fewer.subtract(word + 1 for word in set(text) if word > 0)
    return [counts[i] + 10 * own[i] + 100 * fewer[i] for i in range(6)]


def joined_and_counted(self, texts):
    counts = Counter(chain.from_iterable(set(text) for text in texts))
    others = Counter(chain(*map(set, texts)))
    return [counts[i] + 10 * others[i] for i in range(6)]


def joined(self, texts):
    sets = list(map(set, texts))
    longer = {word: word + 1 for word in chain(*sets)}
    return sorted(chain(*sets)), max(chain.from_iterable(sets)), any(word == 2 for word in chain(*sets)), longer.get(3)


def another_set_in_each_round(self, texts):
    last = {word: i for i, text in enumerate(texts) for word in set(text)}
    near = {i: set(text) for i, text in enumerate(texts)}
    return (
        [last.get(i, -1) for i in range(5)],
        sorted({j for i in near[0] if i in near for j in near[i]}),
        sum(1 for i in near for j in near[i] if j > 1),
        all(j > 0 for i in near for j in near[i]),
        sum(word in texts[0] for text in texts for word in set(text)),
    )


def keys_of_dictionaries(self, texts):
    """What `chain` joins of dictionaries are their keys, which have an order."""
    tables = [{word: word + 1 for word in text} for text in texts]
    return list(chain.from_iterable(tables)), [k for k in chain(*tables)], list(chain.from_iterable(t.values() for t in tables))


TAKEN = [
    in_how_many_texts,
    counted_one_by_one,
    joined_and_counted,
    joined,
    another_set_in_each_round,
    keys_of_dictionaries,
]


@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), TEXTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    def forward(self, texts):
        return in_how_many_texts(self, texts), counted_one_by_one(self, texts), another_set_in_each_round(self, texts)

    agrees_natively(with_forward(nn.Module(), forward), TEXTS, codegen, tmp_path)


def joined_in_a_list(self, texts):
    return list(chain.from_iterable(set(text) for text in texts))


def joined_by_a_star(self, texts):
    return [word for word in chain(*map(set, texts))]


def joined_in_a_loop(self, texts):
    last = 0
    for word in chain.from_iterable(set(text) for text in texts):
        last = word
    return last


def most_common(self, texts):
    counts = Counter(word for text in texts for word in set(text))
    return counts.most_common(1)


def given_back(self, texts):
    return Counter(set(texts[0]))


def under_another_name(self, texts):
    counts = Counter(set(texts[0]))
    other = counts
    return list(other)


def updated_and_walked(self, texts):
    counts = Counter()
    for text in texts:
        counts.update(set(text))
    return list(counts)


def updated_and_seen_inside(self, texts):
    counts = Counter()

    def show():
        return counts.most_common(1)

    counts.update(set(texts[0]))
    return show()


def put_into_another(self, texts):
    counts, other = Counter(set(texts[0])), Counter()
    other.update(counts)
    return other.most_common(1)


def computed_in_order(self, texts):
    self.n = 0

    def one(word):
        self.n += 1
        return word + self.n

    counts = Counter(one(word) for text in texts for word in set(text))
    return counts[2]


def values_of_another(self, texts):
    last = {word: other for text in texts for word in set(text) for other in set(text)}
    return last.get(1)


SHOWN = [
    most_common,
    given_back,
    under_another_name,
    updated_and_walked,
    updated_and_seen_inside,
    put_into_another,
]
WORDS = [[[str(x) for x in text] for text in texts] for texts in TEXTS]


@pytest.mark.parametrize("function", SHOWN, ids=lambda f: f.__name__)
def test_an_order_that_shows(function: Any) -> None:
    """That of sets of ints is Python's; that of strings is another one in each process, and refused."""
    agrees(with_forward(nn.Module(), function), TEXTS)
    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(with_forward(nn.Module(), function), sample=WORDS)


@pytest.mark.parametrize(
    "function",
    [joined_in_a_list, joined_by_a_star, joined_in_a_loop, computed_in_order, values_of_another],
    ids=lambda f: f.__name__,
)
def test_an_order_that_may_show_is_refused(function: Any) -> None:
    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(with_forward(nn.Module(), function), sample=TEXTS)


def test_a_counter_with_several_names_is_not_counted_further() -> None:
    def forward(self, texts):
        both = [Counter() for _ in texts]
        counts = both[0]
        counts.update(set(texts[0]))
        return both[0].most_common(1)

    with pytest.raises(CompileError, match=r"the order of a set is not known|may be seen under another name than `counts`"):
        build(with_forward(nn.Module(), forward), sample=WORDS)
