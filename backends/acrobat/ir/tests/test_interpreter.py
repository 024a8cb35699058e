"""The interpreter, node by node, on programs written as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import torch

from backends.acrobat.core.types import Case, DataType
from backends.acrobat.errors import InstanceError, ResourceError
from backends.acrobat.ir import interpreter
from backends.acrobat.ir.instances import Data
from backends.acrobat.ir.interpreter import interpret
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import verify

ROWS = np.arange(6.0, dtype=np.float32).reshape(3, 2)
IDENTITY = np.eye(2, dtype=np.float32)


def program(text: str, **values: np.ndarray) -> Program:
    result = replace(read_program(dedent(text)), values=values)
    verify(result)
    return result


def vector(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.float32)


def same(got: Any, wanted: Any) -> bool:
    """Whether `got` equals `wanted`, with equal types at all levels; `wanted` has lists in place of arrays."""
    if isinstance(got, np.ndarray):
        return bool(np.array_equal(got, wanted))
    if isinstance(got, (list, tuple)):
        return type(got) is type(wanted) and len(got) == len(wanted) and all(map(same, got, wanted))
    return type(got) is type(wanted) and bool(got == wanted)


NODES: list[tuple[str, str, str, Any, Any]] = [
    # parameter, result, body, instance, value
    ("n: int", "int", "host add(n, 1)", 4, 5),
    ("n: int", "float", "host div(n, 2)", 3, 1.5),
    ("n: int", "float", "host min(n, 2.5)", 1, 1.0),
    ("b: bool", "int", "host max(b, False)", True, 1),
    ("n: int", "int", "host floordiv(n, 2)", -3, -2),
    ("n: int", "int", "host mod(n, -3)", 7, -2),
    ("x: float", "int", "host int(x)", -1.5, -1),
    ("x: float", "float", "x", 1, 1.0),
    ("n: int", "(int, int)", "(n, 2)", 1, (1, 2)),
    ("p: (int, bool)", "bool", "p[1]", (1, True), True),
    ("n: int", "list[int]", "[n, 3] as list[int]", 1, [1, 3]),
    ("xs: list[int]", "int", "host list.get(xs, -1)", [1, 2, 3], 3),
    ("xs: list[int]", "list[(int, int)]", "host enumerate(xs)", [5, 6], [(0, 5), (1, 6)]),
    ("b: bool", "int", "if b\n    1\n  else\n    2", True, 1),
    ("b: bool", "int", "if b\n    1\n  else\n    2", False, 2),
    ("xs: list[int]", "list[int]", "map x: int in xs\n    host mul(x, x)", [1, 2, 3], [1, 4, 9]),
    (
        "xs: list[int]",
        "(int, int)",
        "fold x: int in xs with a: int = 0, b: int = 1\n    c: int = host sub(x, a)\n    (c, a)",
        [5, 7],
        (2, 5),
    ),
    (
        "n: int",
        "(int,)",
        "loop with i: int = n\n  while\n    host lt(i, 10)\n  do\n    j: int = host add(i, 4)\n    (j,)",
        3,
        (11,),
    ),
    (
        "n: int",
        "(int,)",
        "loop with i: int = n\n  while\n    host lt(i, 10)\n  do\n    j: int = host add(i, 4)\n    (j,)",
        10,
        (10,),
    ),
    ("x: f32[2]", "float", "y: f32[] = index(x, dim=0, i=1)\n  item y as float", vector([1, 2]), 2.0),
    ("x: f32[3]", "int", "y: i64[] = argmax(x, dim=0)\n  item y as int", vector([1, 9, 2]), 1),
    ("xs: list[f32[2]]", "f32[2]", "list_sum(xs, nonempty=True)", [vector([1, 2]), vector([3, 4])], [4.0, 6.0]),
    ("xs: list[f32[2]]", "f32[2]", "list_sum(xs, nonempty=False)", [], [0.0, 0.0]),
    ("n: int", "f32[2]", "row(@rows, n)", 2, [4.0, 5.0]),
    ("n: int", "f32[2]", "row(@doubled, n)", 2, [8.0, 10.0]),
    ("x: f32[2]", "f32[2]", "sub(1.0, x)", vector([1, 3]), [0.0, -2.0]),
    ("n: int", "f32[]", "scalar(n)", 3, 3.0),
]


@pytest.mark.parametrize(("param", "result", "body", "instance", "value"), NODES)
def test_nodes(param: str, result: str, body: str, instance: Any, value: Any) -> None:
    text = "weight rows: f32[3, 2]\nweight doubled: f32[3, 2]\nderive doubled = add(rows, rows)\n"
    p = program(f"{text}def forward({param}) -> {result}\n  {body}\n", rows=ROWS)
    assert same(interpret(p, instance), value)


def test_computes_in_float64() -> None:
    p = program("def forward(x: f32[]) -> f32[]\n  add(x, 1e-12)\n")
    result = interpret(p, torch.ones(()))
    assert result.dtype == np.float64
    assert result == 1 + 1e-12


def test_values_given_replace_the_programs() -> None:
    p = program("weight rows: f32[3, 2]\ndef forward(n: int) -> f32[2]\n  row(@rows, n)\n", rows=ROWS)
    assert same(interpret(p, 1, {"rows": ROWS + 1}), [3.0, 4.0])
    with pytest.raises(ValueError, match="rows needs a value of shape"):
        interpret(p, 1, {"rows": IDENTITY})


# ---- unions


@dataclass(frozen=True, slots=True)
class Leaf:
    number: int


@dataclass(frozen=True, slots=True)
class Fork:
    left: object
    right: object


@dataclass(frozen=True, slots=True)
class Marked(Leaf):
    """A subclass of a case, which is read as that case."""

    mark: str = ""


MIRROR = """
    entry forward
    type Tree = Leaf(number: int) | Fork(left: Tree, right: Maybe)
    type Maybe = None() | Some(value: Tree)
    def forward(tree: Tree) -> (Tree, int)
      match tree
        Leaf(number: int)
          less: int = host neg(number)
          leaf: Tree = new Tree Leaf(less)
          (leaf, number)
        Fork(left: Tree, right: Maybe)
          a: (Tree, int) = call forward(left)
          new_left: Tree = a[0]
          left_sum: int = a[1]
          match right
            None()
              nothing: Maybe = new Maybe None()
              alone: Tree = new Tree Fork(new_left, nothing)
              (alone, left_sum)
            Some(value: Tree)
              b: (Tree, int) = call forward(value)
              some_tree: Tree = b[0]
              new_right: Maybe = new Maybe Some(some_tree)
              both: Tree = new Tree Fork(new_left, new_right)
              right_sum: int = b[1]
              total: int = host add(left_sum, right_sum)
              (both, total)
"""


def with_classes(p: Program) -> Program:
    tree = p.datatypes["Tree"]
    classes = {"Leaf": Leaf, "Fork": Fork}
    cases = tuple(Case(c.name, c.fields, classes[c.name]) for c in tree.cases)
    return replace(p, datatypes={**p.datatypes, "Tree": DataType("Tree", cases)})


def test_unions_are_read_and_built_with_their_classes() -> None:
    p = with_classes(program(MIRROR))
    tree = Fork(Leaf(1), Fork(Marked(2), None))
    assert interpret(p, tree) == (Fork(Leaf(-1), Fork(Leaf(-2), None)), 3)


def test_cases_without_classes_stand_for_themselves() -> None:
    tree = Data("Fork", (Data("Leaf", (1,)), None))
    assert interpret(program(MIRROR), tree) == (Data("Fork", (Data("Leaf", (-1,)), None)), 1)


# ---- depth


COUNT = """
    def forward(n: int) -> int
      done: bool = host le(n, 0)
      if done
        0
      else
        m: int = host sub(n, 1)
        r: int = call forward(m)
        host add(r, 1)
"""


def test_recursion_may_be_deep() -> None:
    assert interpret(program(COUNT), 5000) == 5000


def test_recursion_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "FRAMES", 20_000)
    with pytest.raises(ResourceError, match="does it end"):
        interpret(program(COUNT), 10**9)


def test_instances_may_be_deep() -> None:
    tree: object = Leaf(1)
    for _ in range(5000):
        tree = Fork(tree, None)
    result, total = interpret(with_classes(program(MIRROR)), tree)
    depth = 0
    while isinstance(result, Fork):
        result, depth = result.left, depth + 1
    assert (result, depth, total) == (Leaf(-1), 5000, 1)


# ---- errors


@pytest.mark.parametrize(
    ("param", "result", "body", "instance", "message"),
    [
        ("n: int", "int", "n", 1.0, "instance: expected an int, got float"),
        ("n: int", "int", "n", 2**63, "instance: expected an int of 64 bits, got int"),
        ("b: bool", "bool", "b", 1, "instance: expected a bool, got int"),
        (
            "x: f32[2]",
            "f32[2]",
            "x",
            np.zeros(3, np.float32),
            r"instance: expected .* shape \(2,\), got .* shape \(3,\)",
        ),
        ("x: f32[2]", "f32[2]", "x", torch.zeros(2, dtype=torch.int64), "instance: expected a tensor of float32"),
        ("p: list[(int, int)]", "int", "0", [(1, 2), (1,)], r"instance\[1\]: expected a tuple of 2 elements, got tuple"),
        ("p: (int, list[int])", "int", "0", (1, [2, "a"]), r"instance\[1\]\[1\]: expected an int, got str"),
        ("n: int", "int", "host floordiv(1, n)", 0, "<text>:2: .*by zero"),
        ("n: int", "int", "host mul(n, n)", 2**40, "<text>:2: the integer .* does not fit into 64 bits"),
        ("xs: list[int]", "int", "host list.get(xs, 2)", [1], "<text>:2: .*out of range"),
        ("xs: list[f32[2]]", "f32[2]", "list_sum(xs, nonempty=True)", [], "<text>:2: the sum of an empty list"),
    ],
)
def test_errors(param: str, result: str, body: str, instance: Any, message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        interpret(program(f"def forward({param}) -> {result}\n  {body}\n"), instance)


def test_a_row_outside_its_table_is_an_error() -> None:
    p = program("weight rows: f32[3, 2]\ndef forward(n: int) -> f32[2]\n  row(@rows, n)\n", rows=ROWS)
    with pytest.raises(InstanceError, match="<text>:3: index 3 is out of range: the table has 3 rows"):
        interpret(p, 3)


def loop_of_objects() -> object:
    xs: list[object] = []
    xs.append(Fork(Leaf(1), None))
    fork = xs[0]
    object.__setattr__(fork, "left", fork)
    return fork


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fork(Leaf(1), 3), "instance.right: expected a Leaf or a Fork, got int"),
        (lambda: Fork(None, None), "instance.left: expected a Leaf or a Fork, got NoneType"),
        (lambda: Fork(Leaf(1), Fork(Leaf(None), None)), "instance.right.left.number: expected an int, got NoneType"),  # type: ignore[arg-type]
        (loop_of_objects, "instance.left: a structure may not contain itself"),
    ],
)
def test_errors_in_structures_name_the_path(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        interpret(with_classes(program(MIRROR)), make())


# ---- launches


KERNELS = """
    weight w: f32[2, 2]
    kernel pair(x: gathered f32[2], w: shared f32[2, 2])
      y: f32[2] = linear(x, w)
      z: f32[2] = mul(y, 2.0)
      return z, y
    kernel total(xs: list f32[2], x: contiguous f32[2])
      s: f32[2] = list_sum(xs, nonempty=False)
      t: f32[2] = add(s, x)
      return t
"""


def test_kernels() -> None:
    p = program(
        KERNELS
        + """
    def forward(xs: list[f32[2]]) -> (f32[2], f32[2])
      first: f32[2] = host list.get(xs, 0)
      both: (f32[2], f32[2]) = launch pair(first, @w)
      twice: f32[2] = both[0]
      sum: f32[2] = launch total(xs, twice)
      once: f32[2] = both[1]
      (sum, once)
    """,
        w=IDENTITY[::-1],
    )
    assert same(interpret(p, [vector([1, 2]), vector([3, 4])]), ([8.0, 8.0], [2.0, 1.0]))


BLOCKS = (
    KERNELS
    + """
    kernel mix(a: gathered f32[2], b: gathered f32[2], c: gathered f32[2])
      p: f32[2] = mul(a, b)
      q: f32[2] = add(p, c)
      return q
    block cell(hs: list f32[2], cs: list f32[2], x: gathered f32[2], w: shared f32[2, 2])
      groups hs: children, cs: children
      pair(hs, w) over hs
      mix(0.0, cs, x) over cs
      total(1.0, x)
      pair(2.0, w)
      return 3.1, 2.0
    def forward(i: (list[f32[2]], list[f32[2]], f32[2])) -> (f32[2], f32[2])
      hs: list[f32[2]] = i[0]
      cs: list[f32[2]] = i[1]
      x: f32[2] = i[2]
      launch cell(hs, cs, x, @w)
"""
)


@pytest.mark.parametrize("children", [0, 1, 3])
def test_blocks_run_steps_once_or_for_each_item(children: int) -> None:
    random = np.random.default_rng(children)
    w = random.random((2, 2), np.float32)
    hs, cs = random.random((2, children, 2), np.float32)
    x = random.random(2, np.float32)
    w64, x64 = w.astype(np.float64), x.astype(np.float64)
    mixed = [2 * (w64 @ h) * c + x64 for h, c in zip(hs, cs, strict=True)]
    total = sum(mixed, np.zeros(2)) + x64
    first, second = interpret(program(BLOCKS, w=w), (list(hs), list(cs), x))
    np.testing.assert_allclose(first, w64 @ total)
    np.testing.assert_allclose(second, total)


def test_lists_of_one_group_have_one_length() -> None:
    x = np.zeros(2, np.float32)
    with pytest.raises(InstanceError, match="the lists of cell in children are of different lengths"):
        interpret(program(BLOCKS, w=IDENTITY), ([x, x], [x], x))
