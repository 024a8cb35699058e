"""The verifier: well-formed programs pass, and each kind of violation is found and reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, TensorT, TupleT, Type
from backends.acrobat.core.units import Block, Instr, Kernel, Mode, Param, Step, StepResult
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import (
    Arm,
    Atom,
    Call,
    Construct,
    Expr,
    Field,
    Fold,
    Function,
    Host,
    If,
    Item,
    Launch,
    Let,
    ListOf,
    Lit,
    Loop,
    Map,
    Match,
    Op,
    Program,
    Tuple,
    Var,
    Weight,
)
from backends.acrobat.ir.tests.programs import programs
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.tests.test_text import UNITS
from backends.acrobat.ir.tests.test_visitor import ALL_NODES, chain
from backends.acrobat.ir.verifier import VerifyError, verify
from backends.acrobat.ir.visitor import from_lets, map_bodies, walk

V, U, M = TensorT((4,)), TensorT((3,)), TensorT((4, 4))
X, Y, N, C, XS = Var("x", V), Var("y", V), Var("n", INT), Var("c", BOOL), Var("xs", ListT(V))
D = DataT("D")
INSTANCE = TupleT((V, INT, BOOL, ListT(V), D))
WHOLE = Var("instance", INSTANCE)
DATATYPES = read_program("type D = Empty() | Full(n: int, x: f32[4])").datatypes
ONE = TupleT((V,))


def program(body: Expr, *more: Function, **parts: Any) -> Program:
    """`body` may use x, n, c, xs and d."""
    names = ("x", "n", "c", "xs", "d")
    bindings = [(Var(name, t), Field(WHOLE, i, t)) for i, (name, t) in enumerate(zip(names, INSTANCE.items, strict=True))]
    forward = Function("forward", (WHOLE,), body.type, from_lets(bindings, body))
    whole = Program({"forward": forward, **{f.name: f for f in more}}, DATATYPES, {"w": V, "m": M})
    return replace(whole, **parts)


def violations(p: Program) -> tuple[str, ...]:
    with pytest.raises(VerifyError) as caught:
        verify(p)
    assert all(v in str(caught.value) for v in caught.value.violations)
    return caught.value.violations


@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(programs(waits=True))
def test_random_programs_are_well_formed(p: Program) -> None:
    verify(p)


@pytest.mark.parametrize("text", [ALL_NODES, UNITS])
def test_all_nodes_pass(text: str) -> None:
    verify(read_program(text))


def test_long_chains_cost_no_recursion() -> None:
    verify(Program({"forward": Function("forward", (X,), V, chain(20_000))}, {}, {}))


OP = make_op("tanh", [X])
TOTAL = Var("total", TensorT(()))
SUM_OP = make_op("sum", [X], {"dim": 0, "keepdim": True})
AGAIN = Launch(Kernel("k", (Param("x", V, Mode.GATHERED),), (Instr("y", "relu", ("x",), (), V),), ("y",)), (Y,), V)
D_VAR = Var("d", D)


def full(n: int, *vars: Var) -> Arm:
    return Arm("Full", vars or (Var(f"m{n}", INT), Var(f"z{n}", V)), Lit(n, INT))


def arms(*given: Arm) -> Match:
    return Match(D_VAR, given, INT)


NONE = Arm("Empty", (), N)
STATE = Var("s", V)
ILL: list[tuple[str, Expr, str]] = [
    ("a wrong type", replace(OP, type=U), r"the type of this Op is f32\[3\], not f32\[4\]"),
    ("a let of another type", Let(Var("y", U), OP, Lit(1, INT)), r"what y is bound to is f32\[4\], not f32\[3\]"),
    ("a use of another type", make_op("tanh", [Var("x", U)]), r"a use of x is f32\[3\], not f32\[4\]"),
    ("a variable that is not there", make_op("tanh", [Y]), "y is not in scope"),
    ("a use before the let", Let(Y, make_op("tanh", [Y]), Y), "y is not in scope"),
    ("a use outside the scope", Let(Y, Let(Var("z", V), OP, X), Var("z", V)), "z is not in scope"),
    ("two lets", from_lets([(Y, OP), (Y, OP)], Y), "y is bound twice"),
    ("two branches", If(C, Let(Y, OP, Y), Let(Y, OP, Y), V), "y is bound twice"),
    ("a let that hides a parameter", Let(X, OP, X), "x is bound twice"),
    ("a weight that is not there", Weight("v", V), r"the weight v is used as f32\[4\], it is not declared"),
    ("a weight of another type", Weight("w", U), r"the weight w is used as f32\[3\], it is f32\[4\]"),
    ("a literal of another kind", Lit(1.5, INT), "1.5 is no int"),
    ("a bool for an int", Lit(True, INT), "True is no int"),
    ("an operand that is no atom", Op("tanh", (cast(Atom, OP),), (), V), "an operand is a Op, not an atom"),
    ("an operation that does not fit", Op("linear", (X, Weight("w", V)), (), V), "does not fit a weight"),
    ("an unknown operation", Op("conv", (X,), (), V), "there is no operation 'conv'"),
    ("attributes out of order", replace(SUM_OP, attrs=SUM_OP.attrs[::-1]), "the attributes of sum are not in order"),
    ("a host variable in an operation", make_op("mul", [X, N]), "mul takes literals; n must become a tensor by `scalar` first"),
    ("an unknown host operation", Host("pow", (N, N), INT), "there is no host operation 'pow'"),
    ("a host operation of another type", Host("lt", (N, N), INT), "the type of this Host is int, not bool"),
    ("an item of a host value", Item(N, FLOAT), "an item of int, which is no tensor of one element"),
    ("an item of many", Item(X, FLOAT), r"an item of f32\[4\]"),
    ("the items of a scalar", Let(TOTAL, make_op("sum", [X], {"dim": 0}), Item(TOTAL, ListT(FLOAT))), "which is no vector"),
    ("items of another type", Item(X, ListT(INT)), r"is list\[int\], not list\[float\]"),
    ("an item of another type", Let(TOTAL, make_op("sum", [X], {"dim": 0}), Item(TOTAL, INT)), "is int, not float"),
    ("a tuple of another type", Tuple((X, N), TupleT((V, V))), r"this Tuple is \(f32\[4\], f32\[4\]\), not \(f32\[4\], int\)"),
    ("a component that is not there", Field(WHOLE, 5, V), "has no component 5"),
    ("a component before the first", Field(WHOLE, -1, D), "has no component -1"),
    ("a component of no tuple", Field(X, 0, V), "has no component 0"),
    ("a component of another type", Field(WHOLE, 0, INT), "the type of this Field is int"),
    ("a list with another item", ListOf((X, N), ListT(V)), r"an item of the list is int, not f32\[4\]"),
    ("a list that is none", ListOf((), V), r"a list of type f32\[4\]"),
    ("a list of an unknown union", ListOf((), ListT(DataT("E"))), "there is no type E"),
    ("an unknown case", Construct("Half", (), D), "D has no case Half"),
    ("a construction of no union", Construct("Full", (), V), "has no case Full"),
    ("a construction with another type", Construct("Full", (X, X), D), r"an argument is f32\[4\], not int"),
    ("a construction with too little", Construct("Full", (N,), D), "1 operands, not 2"),
    ("a call of nothing", Call("g", (), V), "there is no function g"),
    ("a call with too much", Call("forward", (WHOLE, X), V), "2 operands, not 1"),
    ("a call with another type", Call("forward", (X,), V), r"an argument of forward is f32\[4\], not \("),
    ("a call of another type", Call("identity", (X,), INT), r"the type of this Call is int, not f32\[4\]"),
    ("a condition that is no bool", If(N, X, X, V), "the condition is int, not bool"),
    ("branches that differ", If(C, X, N, V), r"a branch is int, not f32\[4\]"),
    ("a branch of another type", If(C, N, X, V), r"a branch is int, not f32\[4\]"),
    ("a branch with a fault inside", If(C, X, make_op("tanh", [Y]), V), "y is not in scope"),
    ("a match with a case left out", arms(full(1)), "the arms are for Full, the cases of D are Empty, Full"),
    ("a match with a case twice", arms(Arm("Empty", (), N), full(1), full(2)), "the arms are for Empty, Full, Full"),
    ("a match on no union", Match(N, (Arm("Empty", (), N),), INT), "a match on int"),
    ("an arm with others", arms(NONE, full(1, Var("z", V), Var("m", INT))), r"a variable of Full is f32\[4\], not int"),
    ("an arm with too few variables", arms(NONE, full(1, Var("m", INT))), "1 operands, not 2"),
    ("an arm of another type", arms(Arm("Empty", (), X), full(1)), r"the arm for Empty is f32\[4\], not int"),
    ("a map over no list", Map(Y, X, Y, ListT(V)), r"what is mapped over is f32\[4\], not list\[f32\[4\]\]"),
    ("a map over other items", Map(Var("y", INT), XS, N, ListT(INT)), r"mapped over is list\[f32\[4\]\], not list\[int\]"),
    ("a map of another type", Map(Y, XS, N, ListT(V)), r"the type of this Map is list\[f32\[4\]\], not list\[int\]"),
    ("a fold over no list", Fold(Y, X, (), (), Tuple((), TupleT(())), TupleT(())), "what is folded over"),
    ("a fold with another start", Fold(Y, XS, (STATE,), (N,), Tuple((Y,), ONE), ONE), r"a start value is int, not f32\[4\]"),
    ("a fold with no start", Fold(Y, XS, (Var("s", V),), (), Tuple((Y,), ONE), ONE), "0 operands, not 1"),
    ("a fold whose body is no tuple", Fold(Y, XS, (Var("s", V),), (X,), Y, ONE), r"the body is f32\[4\], not \(f32\[4\],\)"),
    ("a fold of another type", Fold(Y, XS, (STATE,), (X,), Tuple((Y,), ONE), V), r"this Fold is f32\[4\], not \(f32\[4\],\)"),
    ("a loop whose condition is no bool", Loop((Y,), (X,), N, Tuple((Y,), ONE), ONE), "the condition is int, not bool"),
    ("a loop whose start uses it", Loop((Y,), (Y,), C, Tuple((Y,), ONE), ONE), "y is not in scope"),
    ("a loop whose body is another tuple", Loop((Y,), (X,), C, Tuple((N,), TupleT((INT,))), ONE), r"the body is \(int,\)"),
    ("a variable of an unknown union", Let(Var("e", DataT("E")), X, X), "what e is bound to"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), [(b, m) for _, b, m in ILL], ids=[name for name, _, _ in ILL])
def test_ill_formed_bodies(body: Expr, message: str) -> None:
    found = violations(program(body, Function("identity", (X,), V, X)))
    assert any(re.search(message, v) and v.startswith("forward") for v in found), found


def test_everything_is_found_and_told_with_its_line() -> None:
    bad = make_op("tanh", [Y], span=Span("model.py", 12))
    found = violations(program(from_lets([(Var("a", V), bad), (Var("b", INT), OP)], Var("q", V))))
    assert found == (
        "forward (model.py:12): y is not in scope",
        "forward: what b is bound to is f32[4], not int",
        "forward: q is not in scope",
    )


def test_results_and_signatures() -> None:
    assert "the result is f32[4], not int" in violations(program(X, Function("f", (X,), INT, X)))[0]
    assert "x is bound twice" in violations(program(X, Function("f", (X, X), V, X)))[0]
    assert "there is no type E" in violations(program(X, Function("f", (Var("e", ListT(DataT("E"))), X), V, X)))[0]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"entry": "main"}, "the entry main must be a function with one parameter"),
        ({"functions": {"forward": Function("forward", (X, Y), V, X)}}, "one parameter"),
        ({"functions": {"forward": Function("other", (X,), V, X)}}, "function other stands under the name forward"),
        ({"datatypes": read_program("type D = A() | A()").datatypes}, "type D: its cases need names of their own"),
        ({"datatypes": read_program("type D = A(x: int, x: int)").datatypes}, "two fields of A have one name"),
        ({"datatypes": read_program("type D = A(x: list[(int, E)])").datatypes}, "D.A.x: there is no type E"),
        ({"derived": {"w": ("neg", ("v",))}}, "derived weight w: its operands v are not known before it"),
        ({"derived": {"w": ("neg", ("w",))}}, "derived weight w: its operands w are not known"),
        ({"derived": {"w": ("linear", ("m", "m"))}}, r"derived weight w: it is f32\[4, 4\], not f32\[4\]"),
        ({"derived": {"w": ("matmul", ("m",))}}, "derived weight w: matmul takes 2 operands, got 1"),
        ({"derived": {"u": ("neg", ("m",))}}, "derived weight u: .* not not declared"),
        ({"values": {"w": np.zeros(3)}}, r"the value of w has shape \(3,\), the weight is f32\[4\]"),
        ({"values": {"u": np.zeros(3)}}, "the value of u has shape"),
    ],
)
def test_ill_formed_parts(parts: dict[str, Any], message: str) -> None:
    if "derived" in parts:
        text = "".join(f"derive {n} = {op}({', '.join(args)})\n" for n, (op, args) in parts["derived"].items())
        parts = {"derived": read_program(text).derived}
    found = violations(program(Lit(1, INT), **parts))
    assert any(re.search(message, v) for v in found), found


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(programs(), st.data())
def test_a_wrong_type_anywhere_is_found(p: Program, data: st.DataObject) -> None:
    """Gives one binding of a random program, or its value, a type that occurs nowhere else."""
    wrong = TensorT((99,))
    places = [(f, node) for f in p.functions.values() for node in walk(f.body) if isinstance(node, Let)]
    if not places:
        return
    function, place = data.draw(st.sampled_from(places))
    if data.draw(st.booleans()) or isinstance(place.value, Let):
        broken = replace(place, var=replace(place.var, type=wrong))
    else:
        broken = replace(place, value=replace(place.value, type=wrong))  # type: ignore[arg-type]

    def rebuilt(e: Expr) -> Expr:
        return broken if e is place else map_bodies(e, rebuilt)

    changed = replace(function, body=rebuilt(function.body))
    violations(replace(p, functions={**p.functions, function.name: changed}))


# ---- kernels and blocks

G, S, L = Mode.GATHERED, Mode.SHARED, Mode.LIST
TANH = Instr("y", "tanh", ("x",), (), V)


def kernel(
    body: Sequence[Instr] = (TANH,),
    results: Sequence[str] = ("y",),
    params: Sequence[Param] = (Param("x", V, G),),
    name: str = "k",
) -> Kernel:
    return Kernel(name, tuple(params), tuple(body), tuple(results))


def launched(unit: Kernel | Block, *args: Atom, type: Type | None = None) -> Program:
    types = unit.result_types
    return program(Launch(unit, args, type or (types[0] if len(types) == 1 else TupleT(types))))


TWO = kernel([TANH, Instr("z", "neg", ("y",), (), V)], ["y", "z"])


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (launched(kernel()), "k takes 1 operands, got 0"),
        (launched(kernel(), N), r"the operand x of k is int, not f32\[4\]"),
        (launched(kernel(), XS), r"the operand x of k is list\[f32\[4\]\], not f32\[4\]"),
        (launched(kernel(params=[Param("x", V, S)]), X), "the operand x of k is shared, but x is no weight"),
        (launched(kernel(), X, type=U), r"the type of this Launch is f32\[3\]"),
        (launched(TWO, X, type=V), r"the type of this Launch is f32\[4\], not \(f32\[4\], f32\[4\]\)"),
        (launched(kernel([replace(TANH, type=U)]), X), r"k: y is f32\[4\], not f32\[3\]"),
        (launched(kernel([replace(TANH, args=("z",))]), X), "k: y: there is no z yet"),
        (launched(kernel([replace(TANH, op="conv")]), X), "k: y: there is no operation 'conv'"),
        (launched(kernel([TANH, TANH]), X), "k: y is bound twice"),
        (launched(kernel([replace(TANH, name="x")], ["x"]), X), "k: x is bound twice"),
        (launched(kernel(results=["x"]), X), "k: it does not compute its results x"),
        (launched(kernel([Instr("y", "scalar", (2.0,), (), TensorT(()))]), X), "k: y: scalar is no work for a kernel"),
        (launched(kernel(params=[Param("x", V, L)]), XS), "k: y: tanh needs tensors or numbers"),
        (program(Let(Y, Launch(kernel(), (X,), V), AGAIN)), "k: several kernels or blocks have this name"),
    ],
)  # fmt: skip
def test_ill_formed_kernels(p: Program, message: str) -> None:
    found = violations(p)
    assert any(re.search(message, v) for v in found), found


PLUS = kernel([Instr("y", "add", ("x", "z"), (), V)], params=[Param("x", V, G), Param("z", V, G)], name="plus")
SUM = kernel([Instr("y", "list_sum", ("x",), (), V)], params=[Param("x", V, L)], name="sum")
TIMES = kernel([Instr("y", "matmul", ("m", "x"), (), V)], params=[Param("m", M, S), Param("x", V, G)], name="times")
PARAMS = (Param("x", V, G), Param("hs", V, L), Param("cs", V, L), Param("m", M, S))
GROUPS = (("hs", "g"), ("cs", "g"))


def result(text: str) -> StepResult:
    return StepResult(*map(int, text.split(".")))


def block(
    *steps: tuple[Kernel, tuple[str, ...], str], results: Sequence[str] = ("0.0",), groups: Any = GROUPS, params: Any = PARAMS
) -> Program:
    written = [Step(kernel, tuple(result(a) if "." in a else a for a in args), over or None) for kernel, args, over in steps]
    unit = Block("b", params, tuple(written), tuple(map(result, results)), groups)
    types = [U]  # any type will do for a block whose results are ill-formed
    try:
        types = list(unit.result_types)
    except (IndexError, ValueError):
        pass
    args = (X, XS, XS, Weight("m", M))[: len(params)]
    return program(Launch(unit, args, types[0] if len(types) == 1 else TupleT(tuple(types))))


def test_well_formed_blocks() -> None:
    verify(
        block(
            (PLUS, ("hs", "cs"), "hs"),
            (TIMES, ("m", "0.0"), "cs"),
            (SUM, ("1.0",), ""),
            (PLUS, ("2.0", "x"), ""),
            results=["3.0"],
        )
    )
    verify(
        block(
            (PLUS, ("x", "x"), ""),
            (PLUS, ("hs", "0.0"), "hs"),
            (SUM, ("1.0",), ""),
            (SUM, ("cs",), ""),
            results=["0.0", "2.0", "3.0"],
        )
    )


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (block((PLUS, ("x", "u"), "")), "step 0, operand z: there is no u yet"),
        (block((PLUS, ("x", "0.0"), "")), "step 0, operand z: there is no 0.0 yet"),
        (block((PLUS, ("x",), "")), "step 0: plus takes 2 operands, got 1"),
        (block((PLUS, ("x", "m"), "")), r"operand z: m is f32\[4, 4\], not f32\[4\]"),
        (block((PLUS, ("x", "hs"), "")), "operand z: hs has one tensor for each item of a list over which plus does not run"),
        (block((PLUS, ("x", "hs"), "x")), "step 0 runs over x, which is no list operand"),
        (block((SUM, ("hs",), "hs"), (SUM, ("0.0",), ""), results=["1.0"]), "operand x: hs is no list here"),
        (block((SUM, ("x",), "")), "operand x: x is no list here"),
        (block((TIMES, ("x", "x"), "")), r"operand m: x is f32\[4\], not f32\[4, 4\]"),
        (
            block((TIMES, ("m", "x"), ""), params=(*PARAMS[:3], Param("m", M, G))),
            "operand m: m is no shared operand of the block",
        ),
        (block((PLUS, ("hs", "cs"), "hs"), groups=()), "operand z: cs has one tensor for each item"),
        (block((PLUS, ("hs", "cs"), "hs")), "its result 0.0 is one for each item of a list"),
        (block((PLUS, ("x", "x"), ""), groups=(("x", "g"),)), "groups are of its lists, each once"),
        (block((PLUS, ("x", "x"), ""), results=["0.1"]), "its result 0.1 is computed by no step"),
        (block((PLUS, ("x", "x"), ""), params=(PARAMS[0], PARAMS[0])), "two operands have one name"),
        (block((kernel([replace(TANH, type=U)]), ("x",), "")), r"k: y is f32\[4\], not f32\[3\]"),
    ],
)
def test_ill_formed_blocks(p: Program, message: str) -> None:
    found = violations(p)
    assert any(re.search(message, v) for v in found), found
