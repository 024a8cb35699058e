"""Printer and reader: reading a printed program gives an equal program; text that is no program is refused with its line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from backends.acrobat.core.types import BOOL, FLOAT, INT, Case, DataT, DataType, ListT, TensorT, TupleT
from backends.acrobat.core.units import Block, Instr, Kernel, Mode, Param, Step, StepResult
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Derived, Expr, Function, Launch, Let, Lit, Op, Program, Tuple, Var, Weight
from backends.acrobat.ir.printer import print_function, print_program
from backends.acrobat.ir.tests.lines import ReadError
from backends.acrobat.ir.tests.programs import programs
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.tests.test_visitor import ALL_NODES, chain, forward
from backends.acrobat.ir.visitor import lets, walk

V = TensorT((4,))
W = TensorT((4, 4))
X = Var("x", V)


def program(body: Expr, *params: Var) -> Program:
    return Program({"forward": Function("forward", params or (X,), body.type, body)}, {}, {"w": V})


def body(expr: Expr) -> list[str]:
    """The lines of the body of a function that returns `expr`, without indentation."""
    return [line.strip() for line in print_function(Function("f", (X,), expr.type, expr)).splitlines()[1:]]


def survives(p: Program) -> None:
    text = print_program(p)
    assert read_program(text) == p, text


@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(programs(waits=True))
def test_random_programs_survive(p: Program) -> None:
    survives(p)


def test_every_node_survives_and_reads_as_written() -> None:
    p = read_program(ALL_NODES)
    survives(p)
    assert print_program(p).split() == ALL_NODES.split()
    assert print_function(forward()) in print_program(p)


def test_an_expression_alone() -> None:
    assert body(Let(Var("y", V), make_op("tanh", [X]), Var("y", V))) == ["y: f32[4] = tanh(x)", "y"]


def test_spans_point_into_the_text() -> None:
    lines = ALL_NODES.splitlines()
    (item,) = [node for node in walk(forward().body) if type(node).__name__ == "Item"]
    assert "item first" in lines[item.span.line - 1]
    assert all(value.span.line for _, value in lets(forward().body)[0])


def test_long_chains_cost_no_recursion() -> None:
    p = program(chain(5000))
    again = read_program(print_program(p))
    bindings, result = lets(again.functions["forward"].body)
    assert (bindings, result) == lets(chain(5000))


@pytest.mark.parametrize(
    "lit", [Lit(-3, INT), Lit(True, BOOL), Lit(0.1, FLOAT), Lit(1e-30, FLOAT), Lit(float("-inf"), FLOAT), Lit(1e22, FLOAT)]
)
def test_literals(lit: Lit) -> None:
    p = program(lit)
    survives(p)
    again = read_program(print_program(p)).functions["forward"].body
    assert isinstance(again, Lit) and type(again.value) is type(lit.value)


NAMES = [
    "new",
    "item",
    "call",
    "begin",
    "loop",
    "inf",
    "True",
    "list",
    "return",
    "a.b",
    "layers.0.weight",
    "0",
    "1.0",
    "",
    "f(x)",
    'a"b\\',
    "é",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_will_do(name: str) -> None:
    var, weight = Var(name, V), Weight(name, V)
    data = DataT(name)
    made = DataType(name, (Case(name, ((name, INT),)),))
    tail = Tuple((var, weight), TupleT((V, V)))
    body = Let(Var("y", V), make_op("add", [var, weight]), tail)
    kernel = Kernel(name, (Param(name, V, Mode.GATHERED),), (Instr("out", "tanh", (name,), (), V),), ("out",))
    launch = Launch(kernel, (var,), V)
    f = Function(name, (var, Var("other", data)), body.type, body, origin=name)
    g = Function("g", (var,), V, launch)
    p = Program({name: f, "g": g}, {name: made}, {name: V, "n": V}, {"n": Derived("neg", (name,), ())}, entry=name)
    survives(p)
    for node in (var, weight):
        survives(Program({"g": Function("g", (var,), V, node)}, {}, {name: V}))


def test_attributes() -> None:
    attrs = (("dims", (1, 0)), ("empty", ()), ("flag", True), ("name", "a b"), ("none", None), ("one", (1,)), ("x", -1e-05))
    assert body(Op("op", (X,), attrs, V)) == [
        'op(x, dims=(1, 0), empty=(), flag=True, name="a b", none=None, one=(1,), x=-1e-05)'
    ]
    p = program(make_op("reshape", [make_op("tanh", [X]).args[0]], {"shape": (4,), "note": ("a", (1, 2.5), None, False)}))
    survives(p)


UNITS = """\
entry forward
weight w: f32[4, 4]

kernel each(h: gathered f32[4], c: gathered f32[4], w: shared f32[4, 4])
  f: f32[4] = linear(h, w)
  g: f32[4] = mul(f, 0.5)
  out: f32[4] = add(g, c)
  return out

kernel all(xs: list f32[4], c: contiguous f32[4])
  total: f32[4] = list_sum(xs, nonempty=False)
  y: f32[4] = sub(total, c)
  return y, total

block cell(hs: list f32[4], cs: list f32[4], c: gathered f32[4], w: shared f32[4, 4])
  groups hs: children, cs: children
  each(hs, cs, w) over hs
  all(0.0, c)
  return 1.1, 1.0

def forward(xs: list[f32[4]]) -> (f32[4], f32[4])
  zero: f32[4] = full(shape=(4,), value=0.0)
  launch cell(xs, xs, zero, @w)
"""


def test_kernels_and_blocks() -> None:
    each = Kernel(
        "each",
        (Param("h", V, Mode.GATHERED), Param("c", V, Mode.GATHERED), Param("w", W, Mode.SHARED)),
        (Instr("f", "linear", ("h", "w"), (), V), Instr("g", "mul", ("f", 0.5), (), V), Instr("out", "add", ("g", "c"), (), V)),
        ("out",),
    )
    total = Kernel(
        "all",
        (Param("xs", V, Mode.LIST), Param("c", V, Mode.CONTIGUOUS)),
        (Instr("total", "list_sum", ("xs",), (("nonempty", False),), V), Instr("y", "sub", ("total", "c"), (), V)),
        ("y", "total"),
    )
    params = (Param("hs", V, Mode.LIST), Param("cs", V, Mode.LIST), Param("c", V, Mode.GATHERED), Param("w", W, Mode.SHARED))
    steps = (Step(each, ("hs", "cs", "w"), "hs"), Step(total, (StepResult(0, 0), "c")))
    block = Block("cell", params, steps, (StepResult(1, 1), StepResult(1, 0)), (("hs", "children"), ("cs", "children")))
    xs, zero = Var("xs", ListT(V)), Var("zero", V)
    launch = Launch(block, (xs, xs, zero, Weight("w", W)), TupleT((V, V)))
    p = program(Let(zero, make_op("full", [], {"shape": (4,), "value": 0.0}), launch), xs)
    p = replace(p, weights={"w": W})
    assert print_program(p) == UNITS
    survives(p)


def test_a_param_may_be_named_like_a_result_of_a_step() -> None:
    """Arguments of steps are distinguished by their class, not by what their names look like."""
    twice = Kernel("twice", (Param("x", V, Mode.GATHERED),), (Instr("y", "add", ("x", "x"), (), V),), ("y",))
    steps = (Step(twice, ("0.0",)), Step(twice, (StepResult(0, 0),)), Step(twice, ("0.0",)))
    block = Block("cell", (Param("0.0", V, Mode.GATHERED),), steps, (StepResult(1, 0),))
    zero = Var("zero", V)
    launch = Launch(block, (zero,), V)
    survives(program(Let(zero, make_op("full", [], {"shape": (4,), "value": 0.0}), launch)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func f()", "line 1: expected a definition, found 'func'"),
        ("weight w: int", "line 1: expected the type of a tensor"),
        ("weight w: f32[4] f32[4]", "line 1: expected the end of the line, found 'f32'"),
        ("weight w f32[4]", "line 1: expected ':', found 'f32'"),
        ("weight w: f32[4.5]", r"line 1: expected a number, found '4.5'"),
        ("type A = ", "line 1: expected a name, found 'the end of the line'"),
        ("def f(x: int) -> int\n  ?", "line 2: cannot read '\\?'"),
        ("def f(x: int) -> int", "line 1: expected a line indented by 2"),
        ("def f(x: int) -> int\n    x", "line 2: expected a line indented by 2"),
        ("def f(x: int) -> int\n  x\n  x", "line 3: this line stands after the value"),
        ("def f(x: int) -> int\n  x y", "line 2: expected the end of the line, found 'y'"),
        ("def f(x: int) -> int\n  x: int = x y\n  x", "line 2: expected the end of the line, found 'y'"),
        ("def f(x: int) -> int\n  y", "line 2: there is no variable 'y'"),
        ("def f(x: int) -> int\n  @y", "line 2: there is no weight 'y'"),
        ("def f(x: int) -> int\n  call g(x)", "line 2: there is no function 'g'"),
        ("def f(x: int) -> int\n  launch g(x)", "line 2: there is no kernel or block 'g'"),
        ("def f(x: int) -> int\n  x[0]", "line 2: there is no component 0"),
        ("def f(x: int) -> int\n  tanh(x)", r"line 2: tanh needs tensors or numbers, got \(int\)"),
        ("def f(x: int) -> int\n  host pow(x, x)", "line 2: there is no host operation 'pow'"),
        ("def f(x: int) -> int\n  match x\n  x", "line 2: a match has no arm"),
        ("def f(x: int) -> int\n  item x as list[list[int]]", "line 2: an item is a scalar"),
        ("def f(x: int) -> int\n  full(shape=x)", "line 2: expected a value, found 'x'"),
        ("kernel k(x: copied f32[4])", "line 1: 'copied' is no mode"),
        ("block b()\n  k()", "line 2: a step is no kernel"),
        ("def f(b: bool) -> int\n  if b\n    1\n  otherwise\n    2", "line 4: expected 'else', found 'otherwise'"),
    ],
)
def test_what_is_no_program(text: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        read_program(text)
