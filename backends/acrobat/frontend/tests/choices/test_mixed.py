"""Trees in tuples and lists, and values of several of Python's types, such as strings beside tuples."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

WORDS = {"the": 0, "dog": 1, "barks": 2, "cat": 3}
D = 8


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(4, D)
        self.join = nn.Linear(2 * D, D)
        self.up = nn.Linear(D, D)


class Nested(Base):
    """A parse tree as nested tuples: the label, then children, of which the last ones are words."""

    def encode(self, tree):
        if isinstance(tree, str):
            return self.embed(torch.tensor(WORDS[tree]))
        total = torch.zeros(D)
        for child in tree[1:]:
            total = total + torch.tanh(self.up(self.encode(child)))
        if tree[0] == "NP":
            total = total * 2.0
        return total

    def forward(self, tree):
        return self.encode(tree)


NESTED = [
    ("S", ("NP", "the", "dog"), ("VP", "barks")),
    ("NP", "cat"),
    ("S", ("S", ("NP", "the"), ("VP", "barks", ("NP", "the", "cat"))), "dog"),
]


class Binary(Base):
    """Binary trees as pairs, with words as leaves; `forward` calls itself."""

    def forward(self, tree):
        if not isinstance(tree, tuple):
            return self.embed.weight[WORDS[tree]]
        left, right = tree
        return torch.tanh(self.join(torch.cat([self(left), self(right)])))


BINARY = ["dog", ("the", "dog"), (("the", "dog"), ("barks", ("the", "cat")))]


class Labelled(Base):
    """A tree as (label, [children])."""

    def encode(self, node):
        label, children = node
        h = self.embed(torch.tensor(label))
        for child in children:
            h = h + self.up(self.encode(child))
        return torch.tanh(h)

    def forward(self, node):
        return self.encode(node).sum()


LABELLED = [(1, []), (2, [(0, []), (3, [(1, [])])]), (0, [(1, [(2, [(3, []), (3, [])])])])]


class Lists(Base):
    """Nested lists of ids."""

    def encode(self, x):
        if type(x) is list:
            return torch.stack([self.up(self.encode(y)) for y in x]).sum(0)
        return self.embed(torch.tensor(x))

    def forward(self, x):
        return self.encode(x)


LISTS = [[1, [2, 3]], [[0], [[1, 2], 3]], [2]]


class Programs(Base):
    """Programs `(op, argument, ...)` matched by their form; numbers, names and calls as arguments."""

    def run(self, e):
        match e:
            case int(n):
                return self.embed.weight[n]
            case str():
                return self.embed.weight[WORDS[e]]
            case ("not", x):
                return -self.run(x)
            case ("and", x, y):
                return torch.minimum(self.run(x), self.run(y))
            case (_, *rest):
                total = torch.zeros(D)
                for r in rest:
                    total = total + self.run(r)
                return total
            case _:
                raise ValueError("this is not a program")

    def forward(self, e):
        return self.run(e)


PROGRAMS = [("not", "dog"), ("and", 3, ("not", ("sum", 1, 2, "cat"))), 2, ("sum", "the")]


class Node:
    def __init__(self, word, children):
        self.word = word
        self.children = children


class Children(Base):
    """Objects whose children are objects or words."""

    def forward(self, node):
        h = self.embed.weight[WORDS[node.word]]
        for c in node.children:
            h = h + (self.embed.weight[WORDS[c]] if isinstance(c, str) else self.up(self(c)))
        return h


CHILDREN = [Node("dog", []), Node("the", ["cat", Node("dog", ["the", "the"])])]


class Unnarrowed(Base):
    """A value is used without a test of its type: another type is an error of the instance."""

    def forward(self, pair):
        kind, value = pair
        if kind == "word":
            return self.embed.weight[WORDS[value]]
        if kind == "number":
            return self.embed.weight[0] * (value + 1)
        return self.embed.weight[len(value)]


UNNARROWED = [("word", "dog"), ("number", 3), ("list", [1, 2])]


class Shifts(Base):
    """Tensors of what is an int in some tuples and a string, None or missing in others."""

    def forward(self, actions):
        out = torch.zeros(1, D)
        for action in actions:
            if action[0] == "shift":
                out = out + self.embed(torch.tensor([action[1]]))
            elif action[0] == "both":
                out = out + self.embed(torch.tensor(action[1:])).sum(0)
        return out


SHIFTS = [[("open", "NP"), ("shift", 1), ("close",)], [("both", 3, 1, 2), ("open", "S")], [("close",)]]
OPTIONAL_SHIFTS = [[("open", None), ("shift", 1)], [("both", 3), ("shift", 2)]]


@pytest.mark.parametrize(
    ("cls", "instances"),
    [
        (Shifts, SHIFTS),
        (Shifts, OPTIONAL_SHIFTS),
        (Nested, NESTED),
        (Binary, BINARY),
        (Labelled, LABELLED),
        (Lists, LISTS),
        (Programs, PROGRAMS),
        (Children, CHILDREN),
        (Unnarrowed, UNNARROWED),
    ],
)
def test_mixed(cls, instances):
    agrees(cls(), instances)


def test_other_types_are_errors_of_the_instance(tmp_path) -> None:
    model = Unnarrowed().eval()
    executable = compile(model, sample=UNNARROWED, cache_folder=tmp_path)
    with torch.no_grad():
        for mine, theirs in zip(executable(UNNARROWED), map(model, UNNARROWED), strict=True):
            assert torch.allclose(mine, theirs, atol=1e-6)
    with pytest.raises(InstanceError, match=r"TypeError: .* does not take a list"):
        executable([("number", [1, 2])])
    with pytest.raises(InstanceError, match="expected an int or a str or a list, got a value of type float"):
        executable([("number", 1.5)])


def test_tensors_of_other_types_are_errors_of_the_instance(tmp_path) -> None:
    executable = compile(Shifts().eval(), sample=SHIFTS, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match=r"TypeError: .* does not take a string"):
        executable([[("both", "dog")]])


def test_a_float_as_an_index_is_an_error_of_its_instance(tmp_path) -> None:
    right, wrong = [("open", "NP"), ("shift", 1)], [("shift", 1), ("shift", 1.5)]
    model = Shifts().eval()
    executable = compile(model, sample=[right, wrong], cache_folder=tmp_path)
    assert torch.allclose(executable([right])[0], model(right), atol=1e-6)
    with pytest.raises(InstanceError, match="TypeError"):
        executable([wrong])


@pytest.mark.parametrize(
    ("cls", "instances"),
    [(Shifts, SHIFTS), (Nested, NESTED), (Programs, PROGRAMS), (Labelled, LABELLED), (Children, CHILDREN)],
)
def test_natively(cls, instances, codegen, tmp_path) -> None:
    agrees_natively(cls().eval(), instances, codegen, tmp_path)


class CompiledNode(Base):
    """Trees as results: each node becomes a tuple of its sum and its children's."""

    def mapped(self, tree):
        if isinstance(tree, str):
            return tree
        return [self.mapped(t) for t in tree[1:]]

    def forward(self, tree):
        return self.mapped(tree)


def test_a_list_that_contains_itself(tmp_path) -> None:
    model = Lists().eval()
    executable = compile(model, sample=LISTS, cache_folder=tmp_path)
    endless: list = [1]
    endless.append(endless)
    with pytest.raises(InstanceError, match="contains itself"):
        executable([endless])


class Leaf:
    def __init__(self, label, value=None):
        self.label = label
        self.value = value

    def __str__(self):
        return f"({self.label})" if self.value is None else str(self.value)


class Made(Base):
    """An attribute of objects that the model makes is a string in some, an int in others, and None."""

    def forward(self, words):
        leaves, total = [Leaf("S")], 0
        for word in words:
            if word in WORDS:
                leaves.append(Leaf("word", value=word))
            else:
                leaves.append(Leaf("number", len(word)))
        for leaf in leaves:
            if leaf.value is not None:
                total += 1 if isinstance(leaf.value, str) else leaf.value
        return [leaf.__str__() for leaf in leaves], total, [leaf.value == 3 for leaf in leaves]


MADE = [["the", "dog"], ["cat", "mat", "barks"], ["a"], ["xyz", "dog"]]


def test_attributes_of_made_objects() -> None:
    agrees(Made(), MADE)


def test_attributes_of_made_objects_natively(codegen, tmp_path) -> None:
    agrees_natively(Made().eval(), MADE, codegen, tmp_path)


class Floats(Base):
    def forward(self, words):
        leaves = [Leaf("a", 1.5) for _ in words]
        for word in words:
            leaves.append(Leaf("b", word))
        return leaves[0].value


def test_an_int_beside_a_float_and_a_string_stays_one() -> None:
    agrees(Floats(), MADE)


class Shows(Base):
    """Texts of what is an int in some instances and a string in others."""

    def forward(self, pair):
        return str(pair[1]), f"{pair[0]}={pair[1]}", "%s" % pair[1]  # noqa: UP031


def test_texts_of_mixed_values() -> None:
    agrees(Shows(), [("a", "dog"), ("b", 3), ("c", -1)])
