"""Dictionaries of the model with dictionaries in them, walked by decisions of run time (`evaluator/constant_dicts.py`)."""

# mypy: ignore-errors

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import MappingProxyType

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

VECTORS = [torch.tensor(v) for v in ([1.0, -1.0, 0.5], [-0.3, 0.2, 0.1], [0.0, 0.0, 2.0], [-1.0, -2.0, -3.0], [2.0, 1.0, -1.0])]
WORDS = ["cat", "car", "carts", "dog", "do", "", "cab", "x"]


def decision_tree():
    last = {"feature": 2, "below": -0.5, "left": {"leaf": 0}, "right": {"leaf": 2}}
    right = {"feature": 1, "below": 0, "left": {"leaf": 1}, "right": last}
    return {"feature": 0, "below": 0.1, "left": {"leaf": 3}, "right": right}


def trie(words, node=dict):
    root = node()
    for i, word in enumerate(words):
        at = root
        for letter in word:
            at = at.setdefault(letter, node())
        at["#"] = i
    return root


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.out = nn.Linear(3, 3)
        self.embed = nn.Embedding(8, 3)
        self.tree = decision_tree()
        self.trie = trie(["ca", "car", "dog", "do", "cart"])
        self.ids = {name: i for i, name in enumerate(["animal", "dog", "pug", "lab", "cat", "plant", "tree", "moss"])}
        self.taxonomy = {"animal": {"dog": {"pug": {}, "lab": {}}, "cat": {}}, "plant": {"tree": {}, "moss": {}}}
        self.mixed = {"f": 0, "l": 3, "r": {"f": 1, "l": 4, "r": {"f": 2, "l": 5, "r": 6}}}
        kids = [{"name": "c", "id": 3, "kids": []}, {"name": "d", "id": 4, "kids": []}]
        kids = [{"name": "a", "id": 1, "kids": []}, {"name": "b", "id": 2, "kids": kids}]
        self.root = {"name": "root", "id": 0, "kids": kids}


class Decides(Base):
    def forward(self, x):
        node, path = self.tree, []
        while "leaf" not in node:
            path.append(node["feature"])
            node = node["left"] if x[node["feature"]].item() < node["below"] else node["right"]
            x = torch.tanh(self.out(x))
        return x + self.embed.weight[node["leaf"]], node["leaf"], path


class DecidesByCalls(Base):
    def down(self, node, x, depth):
        if "leaf" in node:
            return self.embed.weight[node["leaf"]] * x, depth
        if x[node["feature"]].item() < node["below"]:
            return self.down(node["left"], torch.tanh(self.out(x)), depth + 1)
        return self.down(node["right"], x, depth + 1)

    def forward(self, x):
        return self.down(self.tree, x, 0)


class OneLeaf(Decides):
    def __init__(self):
        super().__init__()
        self.tree = {"leaf": 2}


class Gets(Base):
    def forward(self, x):
        node = self.tree
        while node.get("leaf") is None:
            node = node["left"] if x[node["feature"]].item() < node["below"] else node["right"]
        return node.get("leaf", 7), node.get("feature", -1), len(node), bool(node)


class LeavesAreInts(Base):
    def forward(self, x):
        node = self.mixed
        while isinstance(node, dict):
            node = node["l"] if x[node["f"]].item() < 0.1 else node["r"]
        return self.embed.weight[node], node


class ChildrenInLists(Base):
    def forward(self, x):
        node, path = self.root, []
        while node["kids"]:
            scores = torch.stack([self.embed.weight[kid["id"]] @ x for kid in node["kids"]])
            node = node["kids"][int(scores.argmax())]
            path.append(node["name"])
            x = self.out(x)
        return path, x


class KeysAreNames(Base):
    def forward(self, x):
        node, path = self.taxonomy, []
        while node:
            best, highest = None, -1e9
            for name in node:
                score = (self.embed.weight[self.ids[name]] @ x).item()
                if score > highest:
                    best, highest = name, score
            path.append((best, len(node), sorted(node)))
            node = node[best]
            x = torch.tanh(self.out(x))
        return path, x


class WalksItems(Base):
    def forward(self, x):
        node, path = self.taxonomy, []
        while node:
            name, node = max(node.items(), key=lambda pair: (self.embed.weight[self.ids[pair[0]]] @ x).item())
            path.append(name)
        return path


MODELS = [Decides, DecidesByCalls, OneLeaf, Gets, LeavesAreInts, ChildrenInLists, KeysAreNames, WalksItems]


@pytest.mark.parametrize("model", MODELS)
def test_of_vectors(model):
    agrees(model(), VECTORS)


class Trie(Base):
    def forward(self, word):
        node = self.trie
        for letter in word:
            if letter not in node:
                return self.embed.weight[0], -1
            node = node[letter]
        if "#" in node:
            return self.embed.weight[node["#"]], node["#"]
        return self.embed.weight[1], -2


class TrieOfDefaults(Trie):
    def __init__(self):
        super().__init__()

        def node():
            return defaultdict(node)

        self.trie = trie(["ca", "dog"], node)


class LongestMatch(Base):
    def forward(self, word):
        out, i = [], 0
        while i < len(word):
            node, j, best = self.trie, i, None
            while j < len(word) and word[j] in node:
                node = node[word[j]]
                j += 1
                if "#" in node:
                    best = (j, node["#"])
            if best is None:
                i += 1
                out.append(7)
            else:
                i, k = best
                out.append(k)
        return out, [self.embed.weight[k] for k in out]


class GetsLetters(Base):
    def forward(self, word):
        node, depth = self.trie, 0
        for letter in word:
            node = node.get(letter)
            if node is None:
                break
            depth += 1
        return depth, self.embed.weight[depth]


class Automaton(Base):
    """Its states refer to each other by their names."""

    def __init__(self):
        super().__init__()
        self.states = {
            "start": {"on": {"c": "a", "d": "b"}, "default": "start", "weight": 0},
            "a": {"on": {"a": "b"}, "default": "start", "weight": 1},
            "b": {"on": {}, "default": "a", "weight": 2},
        }

    def forward(self, word):
        state, total = self.states["start"], 0
        for letter in word:
            state = self.states[state["on"].get(letter, state["default"])]
            total += state["weight"]
        return total, state["default"], sorted(state["on"])


@pytest.mark.parametrize("model", [Trie, TrieOfDefaults, LongestMatch, GetsLetters, Automaton])
def test_of_words(model):
    agrees(model(), WORDS)


def test_natively(codegen: str, tmp_path: Path):
    agrees_natively(LongestMatch(), WORDS, codegen, tmp_path)


class NoTest(Base):
    def forward(self, word):
        node = self.trie
        for letter in word:
            node = node[letter]
        return len(node)


def test_a_missing_key_is_an_error_of_the_instance():
    interpreter = Interpreter(build(NoTest().eval(), sample=["cat", "do"]))
    assert interpreter.run("do") == 2
    with pytest.raises(InstanceError, match="KeyError: 'x'"):
        interpreter.run("dx")


def test_changes_are_noticed(tmp_path: Path):
    model = Decides().eval()
    executable = compile(model, sample=VECTORS, cache_folder=tmp_path)
    executable(VECTORS)
    model.tree["left"]["leaf"] = 5
    with pytest.raises(ModuleChanged, match="tree"):
        executable(VECTORS)


class Written(Base):
    def forward(self, x):
        node = self.tree
        while "leaf" not in node:
            node = node["left"] if x[node["feature"]].item() < 0 else node["right"]
        node["seen"] = 1
        return node["leaf"]


class GivenBack(Base):
    def forward(self, x):
        node = self.tree
        while "leaf" not in node:
            node = node["left"] if x[node["feature"]].item() < 0 else node["right"]
        return node


@pytest.mark.parametrize(
    ("model", "message"), [(Written, "may be seen under another name"), (GivenBack, "made outside of `forward`")]
)
def test_refused(model, message):
    with pytest.raises(CompileError, match=message):
        build(model().eval(), sample=VECTORS)


class OfViews(nn.Module):
    TABLE = MappingProxyType({"x": (1, 2), "y": (3, 4)})

    def forward(self, words):
        return [self.TABLE.get(w, (0, 1))[1] for w in words], [VIEW[w] if w in VIEW else len(VIEW) for w in words], sorted(VIEW)


VIEW = MappingProxyType({"x": 1, "z": 5})


def test_views_of_dictionaries() -> None:
    agrees(OfViews(), [["x"], ["y", "z"], ["x", "q"]])
