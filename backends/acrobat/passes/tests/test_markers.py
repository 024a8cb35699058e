"""Markers in the program: how they are erased, and that no pass removes a `phase` or moves work from one phase to another."""

from __future__ import annotations

import pytest

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.phases import marked_phases
from backends.acrobat.core.units import Block
from backends.acrobat.ir.nodes import Host, Launch, Program, Weight
from backends.acrobat.ir.visitor import walk
from backends.acrobat.passes import coarsen, horizontal, inline, markers, simplify, vertical
from backends.acrobat.passes.tests.texts import after, assert_makes

WEIGHTS = "".join(f"weight {name}: f32[8, 8]\n" for name in ("u", "v", "w")) + "weight b: f32[8]\n"

STATED = """\
entry forward

def forward(instance: (f32[8], list[f32[8]])) -> (f32[8], f32[8])
  x: f32[8] = instance[0]
  xs: list[f32[8]] = instance[1]
  ys: list[f32[8]] = host parallel(xs)
  pair: (f32[8], list[f32[8]]) = host parallel(x, ys)
  later: (f32[8], list[f32[8]]) = host phase(pair)
  a: f32[8] = later[0]
  zs: list[f32[8]] = later[1]
  mapped: list[f32[8]] = map y: f32[8] in zs
    both: (f32[8], f32[8]) = host parallel(y, a)
    first: f32[8] = both[0]
    first
  sum: f32[8] = list_sum(mapped, nonempty=False)
  (sum, a)
"""


def test_erased() -> None:
    plain = STATED.replace("host parallel(xs)", "xs").replace("host parallel(x, ys)", "(x, ys)")
    plain = plain.replace("host parallel(y, a)", "(y, a)")
    assert_makes(STATED, plain, markers.erase)
    assert_makes(STATED, plain.replace("host phase(pair)", "pair"), lambda p: markers.erase(p, phases=False))


BRANCHES = """\
entry forward

def forward(instance: (f32[4], bool, bool)) -> f32[4]
  x: f32[4] = instance[0]
  c: bool = instance[1]
  d: bool = instance[2]
  choice: f32[4] = if c
    inner: f32[4] = if d
      y: f32[4] = host phase(x)
      y
    else
      x
    inner
  else
    other: f32[4] = if d
      x
    else
      x
    other
  choice
"""

OPENED = """\
entry forward

def forward(instance: (f32[4], bool, bool)) -> f32[4]
  x: f32[4] = instance[0]
  c: bool = instance[1]
  d: bool = instance[2]
  if c
    if d
      y: f32[4] = host phase(x)
      y
    else
      x
  else
    other: f32[4] = if d
      x
    else
      x
    other
"""


def test_a_marked_entry_ends_in_its_branches() -> None:
    assert_makes(BRANCHES, OPENED, markers.open_tail)
    assert_makes(OPENED, OPENED, markers.open_tail)
    unmarked = BRANCHES.replace("host phase(x)", "tanh(x)")
    assert_makes(unmarked, unmarked, markers.open_tail)
    assert_makes(OPENED, OPENED, simplify.run)


def test_one_whose_result_is_not_used_stays() -> None:
    text = """\
entry forward

def forward(x: f32[4]) -> f32[4]
  work: f32[4] = tanh(x)
  nobody: f32[4] = host phase(work)
  x
"""
    assert_makes(text, text, inline.run, simplify.run)


def phases_of(p: Program) -> dict[str, int]:
    return dict(marked_phases(p, CallGraph(p)))


def entry(body: str, result: str = "f32[8]") -> str:
    head = f"def forward(instance: (f32[8], f32[8], list[f32[8]])) -> {result}\n"
    fields = "".join(f"  {name} = instance[{i}]\n" for i, name in enumerate(("x: f32[8]", "y: f32[8]", "xs: list[f32[8]]")))
    return f"entry forward\n{WEIGHTS}\n{head}{fields}{body}"


SUM = entry("""\
  z: f32[8] = host phase(y)
  left: f32[8] = linear(x, @u)
  right: f32[8] = linear({right}, @v)
  sum: f32[8] = add(left, right)
  sum
""")


def test_a_sum_of_products_of_two_phases_is_not_one_product() -> None:
    p = after(SUM.format(right="z"), horizontal.run)
    assert not p.derived and phases_of(p) == {"left": 0, "right": 1, "sum": 1}
    assert after(SUM.format(right="y"), horizontal.run).derived


def test_nor_one_kernel_or_block() -> None:
    p = after(SUM.format(right="z"), vertical.run, coarsen.run)
    assert phases_of(p) == {"left": 0, "sum": 1}
    p = after(SUM.format(right="y"), vertical.run, coarsen.run)
    assert phases_of(p) == {"sum": 0}


PIECES = """\
entry forward

def forward(instance: (f32[8], f32[8], f32[16, 8])) -> f32[8]
  x: f32[8] = instance[0]
  y: f32[8] = instance[1]
  m: f32[16, 8] = instance[2]
  z: f32[16, 8] = host phase(m)
  both: f32[16] = cat(x, y, dim=0)
  product: f32[8] = matmul(both, {m})
  product
"""


def test_pieces_are_put_together_in_their_phase() -> None:
    assert sorted(phases_of(after(PIECES.format(m="z"), vertical.run, coarsen.run)).values()) == [0, 1]
    assert sorted(phases_of(after(PIECES.format(m="m"), vertical.run, coarsen.run)).values()) == [0]


CAT = entry(
    """\
  z: f32[8] = host phase(y)
  both: f32[8] = add(x, {left})
  pair: f32[2, 8] = stack(both, x, dim=0)
  product: f32[2, 8] = linear(pair, @w)
  later: f32[2, 8] = mul(product, {right})
  other: f32[2, 8] = linear(pair, @u)
  (later, other)
""",
    "(f32[2, 8], f32[2, 8])",
)


@pytest.mark.parametrize(("left", "right", "phase"), [("x", "z", 0), ("z", "z", 1), ("x", "y", 0)])
def test_what_makes_operands_stays_in_its_phase(left: str, right: str, phase: int) -> None:
    p = after(CAT.format(left=left, right=right), vertical.run, coarsen.run)
    for node in walk(p.functions["forward"].body):
        if isinstance(node, Launch) and {a.name for a in node.args if isinstance(a, Weight)} & {"u", "w"}:
            (var,) = [name for name, value in values(p).items() if value is node]
            assert phases_of(p)[var] == phase


def values(p: Program) -> dict[str, object]:
    return {
        node.var.name: node.value
        for node in walk(p.functions["forward"].body)
        if hasattr(node, "var") and hasattr(node, "value")
    }


def test_a_product_does_not_go_to_the_bias_that_a_later_phase_adds() -> None:
    text = """\
  z: f32[8] = host phase(y)
  t: f32[8] = tanh(z)
  first: f32[] = index(t, dim=0, i=0)
  n: float = item first as float
  c: bool = host gt(n, 0.0)
  product: f32[8] = linear(x, @u)
  if c
    biased: f32[8] = add(product, @b)
    biased
  else
    x
"""
    marked = entry(text)
    assert phases_of(after(marked, simplify.run)) == {"t": 1, "n": 1, "product": 0, "biased": 1}
    plain = marked.replace("host phase(y)", "tanh(y)")
    assert "product" not in values(after(plain, simplify.run))


MAPS = entry("""\
  z: f32[8] = host phase(y)
  made: list[f32[8]] = map m: f32[8] in xs
    t: f32[8] = tanh(m)
    t
  used: list[f32[8]] = map n: f32[8] in made
    s: f32[8] = mul(n, {factor})
    s
  sum: f32[8] = list_sum(used, nonempty=False)
  sum
""")


def test_elements_made_and_used_in_two_phases_are_two_loops() -> None:
    p = after(MAPS.format(factor="z"), simplify.run, vertical.run, coarsen.run)
    assert phases_of(p) == {"made": 0, "sum": 1}
    p = after(MAPS.format(factor="y"), simplify.run, vertical.run, coarsen.run)
    assert phases_of(p) == {"sum": 0}
    blocks = [node.unit for node in walk(p.functions["forward"].body) if isinstance(node, Launch)]
    assert isinstance(blocks[0], Block)


def test_equal_markers_are_one() -> None:
    text = entry("""\
  z: f32[8] = host phase(y)
  again: f32[8] = host phase(y)
  sum: f32[8] = add(z, again)
  sum
""")
    p = after(text, simplify.run)
    assert [node.op for node in walk(p.functions["forward"].body) if isinstance(node, Host)] == ["phase"]
