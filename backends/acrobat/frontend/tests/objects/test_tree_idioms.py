"""What tree networks ask of the language: fields that may be None, recursions through helper functions. Each function takes a
tree of ordinary objects and is compared with eager PyTorch in the interpreter; where Python raises, so does the program."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same


class Node:
    """A binary tree with the words at its leaves; some words are missing, which only some functions mind."""

    def __init__(self, word=None, left=None, right=None):
        self.word = word
        self.left = left
        self.right = right

    @property
    def is_leaf(self):
        return self.left is None and self.right is None

    @property
    def children(self):
        return [c for c in (self.left, self.right) if c is not None]

    @property
    def leaves(self):
        return 1 if self.is_leaf else self.left.leaves + self.right.leaves


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.linear = nn.Linear(8, 4)
        self.forget = nn.ModuleList([nn.ModuleList([nn.Linear(4, 4) for _ in range(2)]) for _ in range(2)])

    def properties_decide(self, node):
        if node.is_leaf:
            return self.embedding(torch.tensor(node.word))
        left, right = self.properties_decide(node.left), self.properties_decide(node.right)
        return torch.tanh(self.linear(torch.cat([left, right]))) / node.leaves

    def annotation_without_none(self, node: Node) -> torch.Tensor:
        if node is None:
            return torch.zeros(4)
        left, right = self.annotation_without_none(node.left), self.annotation_without_none(node.right)
        return torch.tanh(self.linear(torch.cat([left, right])))

    def numbers(self, node):
        word = -1 if node.is_leaf else self.numbers(node.left) + self.numbers(node.right)
        return word if node.word is None else node.word * 2 + word

    def compared(self, node):
        same = 1 if node.word == 3 else 0
        return same + sum(self.compared(c) for c in node.children)

    def in_an_index(self, node):
        table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
        return table[node.word] if node.is_leaf else self.in_an_index(node.right)

    def cell(self, x, states):
        for h in states:
            x = x + torch.tanh(h)
        return x

    def helper_of_a_list(self, node):
        x = self.embedding.weight[node.word or 0]
        return self.cell(x, [self.helper_of_a_list(c) for c in node.children])

    def ids_that_may_be_none(self, node):
        h = self.embedding(torch.LongTensor([node.word])) if node.is_leaf else self.ids_that_may_be_none(node.left)
        return h if h.argmax(dim=1).item() > 1 else h + 1.0

    def stacked_with_its_own(self, node):
        states = [self.stacked_with_its_own(c) for c in node.children]
        x = self.embedding.weight[0 if node.word is None else node.word]
        own = [x]
        return torch.stack(own + states).mean(0)


def tree(rng: random.Random, depth: int, missing: bool) -> Node:
    if depth == 0 or rng.random() < 0.2:
        return Node(None if missing and rng.random() < 0.3 else rng.randrange(9))
    return Node(None, tree(rng, depth - 1, missing), tree(rng, depth - 1, missing))


FUNCTIONS = [name for name in vars(Model) if not name.startswith("_") and name != "cell"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_eager_pytorch(name: str) -> None:
    rng = random.Random(1)
    torch.manual_seed(0)
    trees = [tree(rng, 3, i % 3 == 2) for i in range(12)]
    model = Model().eval()
    compare_all(model, name, trees)


def compare_all(model: Any, name: str, trees: list[Any]) -> None:
    """Compile the model with the method `name` in place of `forward`, and compare every tree's result with eager PyTorch's."""
    model.forward = getattr(model, name)
    program = build(model, sample=trees)
    verify(program)
    interpreter = Interpreter(program)
    with torch.no_grad():
        compared = [compare(interpreter, model.forward, root) for root in trees]
    assert any(compared), "eager PyTorch raises an error for each tree, so that no result was compared"


def compare(interpreter: Interpreter, function: Callable[[Any], Any], instance: Any) -> bool:
    """Assert that a program gives what the function gives, and an error where the function raises one: False then."""
    try:
        expected = function(instance)
    except (TypeError, AttributeError, RuntimeError):
        with pytest.raises(InstanceError):
            interpreter.run(instance)
        return False
    assert_same(as_tensors(interpreter.run(instance)), expected, repr(instance))
    return True


def test_none_names_what_needs_a_value() -> None:
    model = Model().eval()
    model.forward = model.in_an_index
    interpreter = Interpreter(build(model, sample=[Node(3), Node(None, Node(1), Node(2))]))
    with pytest.raises(InstanceError, match=r"TypeError: `node.word` needs a value, which is None"):
        interpreter.run(Node(None))


class Slots(nn.Module):
    """The length of a list tells nothing of what is inside."""

    def forward(self, slots):
        total = torch.zeros(4)
        for slot in slots:
            if slot is not None:
                total = total + slot / len(slots)
        return total


def test_the_length_of_a_list_with_none_in_it() -> None:
    agrees(Slots(), [[torch.ones(4), None], [None, None, torch.zeros(4)], []])


# ---- syntax trees, of several classes: visitors, methods of one name, tables by class; graphs with shared nodes


class Kind(enum.Enum):
    SUM = 2
    PRODUCT = 3


class Number:
    def __init__(self, value):
        self.value = value
        self.children = []

    symbol = "number"

    def depth(self):
        return 1


class Operation:
    def __init__(self, kind, left, right):
        self.kind = kind
        self.left = left
        self.right = right

    symbol = "operation"

    def depth(self):
        return 1 + max(self.left.depth(), self.right.depth())

    @property
    def children(self):
        return [self.left, self.right]


class Scope:
    """Its `value` is an expression, where that of a number is a float."""

    def __init__(self, name, value):
        self.name = name
        self.value = value

    symbol = "scope"

    def depth(self):
        return self.value.depth()

    @property
    def children(self):
        return [self.value]


class Visitor(nn.Module):
    def __init__(self):
        super().__init__()
        self.number = nn.Linear(1, 4)
        self.sum = nn.Linear(8, 4)
        self.product = nn.Sequential(nn.Linear(8, 4), nn.Tanh())
        self.other = nn.Embedding(4, 4)
        self.loss = nn.CrossEntropyLoss()
        self.table = {Number: self.visit_Number, Operation: self.visit_Operation, Scope: self.visit_Scope}
        self.cells = nn.ModuleDict({"sum": self.sum, "product": self.product})
        self.names = {Kind.SUM: "sum", Kind.PRODUCT: "product"}

    def visit_Number(self, node, scope):
        return self.number(torch.tensor([node.value]))

    def visit_Operation(self, node, scope):
        parts = torch.cat([self.visit(node.left, scope), self.visit(node.right, scope)])
        cell = self.sum if node.kind is Kind.SUM else self.product
        return torch.relu(cell(parts)) * node.kind.value

    def visit_Scope(self, node, scope):
        inner = dict(scope)
        inner[node.name] = self.visit(node.value, scope)
        return self.visit(node.value, inner) + scope.get("x", self.other.weight[0])

    def visit(self, node, scope):
        return getattr(self, f"visit_{type(node).__name__}")(node, scope)

    def by_name(self, root):
        return self.visit(root, {})

    def by_table(self, node, scope=None):
        handler = self.table[type(node)]
        return handler(node, {} if scope is None else scope)

    def by_class(self, node):
        if type(node) is Number:
            return torch.tanh(self.number(torch.tensor([node.value])))
        if type(node) is Scope:
            return self.by_class(node.value)
        return self.cells[self.names[node.kind]](torch.cat([self.by_class(node.left), self.by_class(node.right)]))

    def methods_of_one_name(self, root):
        return root.depth(), root.symbol, sum(c.depth() for c in root.children)

    def not_of_all_classes(self, root):
        return root.left.depth()

    def memo(self, root):
        return self._remembered(root, {})

    def _remembered(self, node, seen):
        if node in seen:
            return seen[node]
        if isinstance(node, Number):
            h = self.number(torch.tensor([node.value]))
        else:
            h = self.other(torch.tensor(1))
            for child in node.children:
                h = torch.tanh(h + self._remembered(child, seen))
        seen[node] = h
        return h

    def same_node(self, root):
        return isinstance(root, Operation) and root.left is root.right

    def chart(self, root):
        n = root.depth()
        table: dict[Any, Any] = {}
        for length in range(1, n + 1):
            for left in range(n + 1 - length):
                x = self.other(torch.tensor(min(length, 3)))
                if length > 1:
                    x = x + sum(table[left, k] * table[k, left + length] for k in range(left + 1, left + length))
                table[left, left + length] = x
        return table[0, n], len(Kind), [k.name for k in Kind]

    def module_of_a_loss(self, root):
        logits = self.other.weight[:1] * root.depth()
        return self.loss(logits, torch.tensor([root.depth() % 4])) + logits.new(1, 4).fill_(2.0).data.sum()


VISITS = [name for name in vars(Visitor) if not name.startswith("_") and not name.startswith("visit")]


@pytest.mark.parametrize("name", VISITS)
def test_syntax_trees(name: str) -> None:
    rng = random.Random(2)
    torch.manual_seed(0)
    trees = [expression(rng, i % 4) for i in range(12)]
    model = Visitor().eval()
    compare_all(model, name, trees)


def expression(rng: random.Random, depth: int) -> Any:
    if depth == 0:
        return Number(rng.uniform(-1, 1))
    if rng.random() < 0.3:
        return Scope(rng.choice("xy"), expression(rng, depth - 1))
    left = expression(rng, depth - 1)
    right = left if rng.random() < 0.5 else expression(rng, depth - 1)
    return Operation(rng.choice([Kind.SUM, Kind.PRODUCT]), left, right)


class Program:
    def __init__(self, number: int, arguments: tuple[Any, ...], children: Any = None) -> None:
        self.number, self.arguments, self.state = number, arguments, children


def programs(rng: random.Random, depth: int) -> Program:
    count = rng.randint(0, 3) if depth else 0
    return Program(rng.randrange(5), tuple(programs(rng, depth - 1) for _ in range(count)))


class Runner(nn.Module):
    def forward(self, program):
        parts = [self.forward(a) for a in program.arguments]
        return float(program.number) + sum(parts) + (2.0 * parts[0] if len(program.arguments) > 1 else 0.0)


class Writer(nn.Module):
    def forward(self, program):
        for a in program.arguments:
            self.forward(a)
        program.state = [a.state for a in program.arguments]
        return 1.0


def test_tuples_of_several_lengths() -> None:
    rng = random.Random(3)
    found = [programs(rng, 3) for _ in range(12)]
    interpreter = Interpreter(build(Runner(), sample=found))
    for program in found:
        assert_same(interpreter.run(program), Runner()(program), "a program")


def test_a_field_whose_type_has_no_end() -> None:
    rng = random.Random(3)
    with pytest.raises(CompileError, match=r"the type of the field `state` cannot be found"):
        build(Writer(), sample=[programs(rng, 3) for _ in range(12)])


class Bag:
    """An object that counts as true if something is in it."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)


class Flag:
    """An object that counts as true if its number is above 2, whatever its length."""

    def __init__(self, number, bag, after):
        self.number, self.bag, self.after = number, bag, after

    def __bool__(self):
        return self.number > 2

    def __len__(self):
        return 0


class Holder:
    def __init__(self, flag):
        self.flag = flag


class Truth(nn.Module):
    def forward(self, holder):
        flag = holder.flag
        found = [1 if holder else 0, 1 if flag else 0, 1 if flag.bag else 0, 1 if flag.after else 0]
        first = flag.after or flag
        return found, first.number, 5 if flag and flag.after else 6, 0 if not flag.bag else 1


def test_truth_of_objects() -> None:
    rng = random.Random(1)

    def flag(depth: int) -> Flag:
        after = flag(depth - 1) if depth and rng.random() < 0.7 else None
        return Flag(rng.randrange(6), Bag([1] * rng.randrange(3)), after)

    holders = [Holder(flag(2)) for _ in range(16)]
    interpreter = Interpreter(build(Truth(), sample=holders))
    results = [Truth()(holder) for holder in holders]
    assert len({str(r[0]) for r in results}) > 4
    for holder, expected in zip(holders, results, strict=True):
        assert_same(interpreter.run(holder), expected, "a holder")


class CountsResults(nn.Module):
    """Makes a list of as many elements as a list of its own results has, while the type of those is not known yet."""

    def forward(self, node):
        if node.is_leaf:
            return []
        results = [self.forward(c) for c in node.children]
        return [torch.stack([torch.full((3,), 0.5) for _ in results]).sum(0)]


def test_lists_as_long_as_one_of_unknown_elements_are_other_lists() -> None:
    trees = [Node(left=Node(1), right=Node(left=Node(2))), Node(3)]
    interpreter = Interpreter(build(CountsResults(), sample=trees))
    for tree in trees:
        assert_same(as_tensors(interpreter.run(tree)), CountsResults()(tree), "a tree")
