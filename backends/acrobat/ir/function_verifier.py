"""Checks that functions are well formed: scopes, types of operands, and the type that each node must have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, get_args

from backends.acrobat.core.host import infer_host
from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.ops import OPS, Fusion, infer
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.core.units import Block, Kernel, Mode
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
from backends.acrobat.ir.printer import atom_text, type_text
from backends.acrobat.ir.visitor import operands

ATOMS = get_args(Atom)
NUMBERS: dict[str, type] = {"int": int, "bool": bool, "float": float}


class FunctionCheck:
    """Checks one function. `at` is the node that violations are reported at, `bound` all variables bound so far."""

    def __init__(
        self, program: Program, function: Function, violations: list[str], ill_formed: Collection[Kernel | Block]
    ) -> None:
        self.program, self.function, self.violations = program, function, violations
        self.ill_formed = ill_formed
        self.bound: set[str] = set()
        self.at: Expr | None = None

    def say(self, message: str) -> None:
        where = self.function.name
        if self.at is not None and self.at.span.line:
            where += f" ({self.at.span.file}:{self.at.span.line})"
        self.violations.append(f"{where}: {message}")

    def check(self) -> None:
        """Adds what is wrong with the function to `violations`."""
        scope = self.bind({}, self.function.params)
        body = self.expr(self.function.body, scope)
        self.same("the result", body, self.function.result)

    def same(self, what: str, got: Type, expected: Type) -> None:
        """Checks that the type of `what` is the expected one."""
        if got != expected:
            self.say(f"{what} is {type_text(got)}, not {type_text(expected)}")

    def bind(self, scope: Mapping[str, Type], variables: Sequence[Var]) -> dict[str, Type]:
        """The scope with `variables`, each of which must be bound nowhere else."""
        for var in variables:
            if var.name in self.bound:
                self.say(f"{var.name} is bound twice")
            self.bound.add(var.name)
            check_declared(self.program, var.type, self.say)
        return {**scope, **{v.name: v.type for v in variables}}

    def atom(self, atom: Any, scope: Mapping[str, Type]) -> None:
        """Checks an operand: a variable in scope, a weight of the program, or a literal of its own type."""
        match atom:
            case Var(name, t):
                if name not in scope:
                    self.say(f"{name} is not in scope")
                else:
                    self.same(f"a use of {name}", t, scope[name])
            case Weight(name, t):
                if self.program.weights.get(name) != t:
                    self.say(
                        f"the weight {name} is used as {type_text(t)}, it is {declared_text(self.program.weights.get(name))}"
                    )
            case Lit(value, ScalarT(kind)):
                if type(value) is not NUMBERS[kind]:
                    self.say(f"{value!r} is no {kind}")
            case _:
                self.say(f"an operand is a {type(atom).__name__}, not an atom")

    def expr(self, expr: Expr, scope: Mapping[str, Type]) -> Type:
        """The type of `expr`, which its node must have too."""
        if isinstance(expr, Let):
            inner = dict(scope)  # one scope for the whole chain: it may be long
            while isinstance(expr, Let):
                value = self.expr(expr.value, inner)
                self.at = expr
                self.same(f"what {expr.var.name} is bound to", value, expr.var.type)
                if expr.var.name in self.bound:
                    self.say(f"{expr.var.name} is bound twice")
                self.bound.add(expr.var.name)
                inner[expr.var.name] = expr.var.type
                expr = expr.body
            return self.expr(expr, inner)
        self.at = expr
        before = len(self.violations)
        for atom in operands(expr):
            self.atom(atom, scope)
        if isinstance(expr, ATOMS) or len(self.violations) > before:
            return expr.type
        try:
            t = self.derive(expr, scope)
        except ShapeError as error:
            self.at = expr
            self.say(str(error))
            return expr.type
        self.at = expr
        self.same(f"the type of this {type(expr).__name__}", expr.type, t)
        return expr.type

    def derive(self, expr: Expr, scope: Mapping[str, Type]) -> Type:
        """The type that a node must have. Raises ShapeError where it cannot have one."""
        match expr:
            case Op():
                return self.op(expr)
            case Host(op, args):
                return infer_host(op, [a.type for a in args])
            case Item(tensor, t):
                number = INT if isinstance(tensor.type, TensorT) and tensor.type.dtype == "int64" else FLOAT
                if isinstance(t, ListT):
                    if not isinstance(tensor.type, TensorT) or len(tensor.type.shape) != 1:
                        raise ShapeError(f"the items of {type_text(tensor.type)}, which is no vector")
                    return ListT(number)
                if not isinstance(tensor.type, TensorT) or tensor.type.size != 1:
                    raise ShapeError(f"an item of {type_text(tensor.type)}, which is no tensor of one element")
                return number
            case Tuple(items):
                return TupleT(tuple(a.type for a in items))
            case Field(value, index):
                if not isinstance(value.type, TupleT) or not 0 <= index < len(value.type.items):
                    raise ShapeError(f"{type_text(value.type)} has no component {index}")
                return value.type.items[index]
            case ListOf(items, t):
                if not isinstance(t, ListT):
                    raise ShapeError(f"a list of type {type_text(t)}")
                for item in items:
                    self.same("an item of the list", item.type, t.item)
                check_declared(self.program, t, self.say)
                return t
            case Construct(case, args, t):
                self.types("an argument", [a.type for a in args], self.fields(t, case))
                return t
            case Call(name, args):
                if name not in self.program.functions:
                    raise ShapeError(f"there is no function {name}")
                function = self.program.functions[name]
                self.types(f"an argument of {name}", [a.type for a in args], [p.type for p in function.params])
                return function.result
            case Launch():
                return self.launch(expr)
            case If(cond, then, orelse):
                self.same("the condition", cond.type, BOOL)
                self.same("a branch", self.expr(then, scope), expr.type)
                self.same("a branch", self.expr(orelse, scope), expr.type)
                return expr.type
            case Match(value, arms):
                self.arms(value.type, arms, expr.type, scope)
                return expr.type
            case Map(var, iterable, body):
                self.same("what is mapped over", iterable.type, ListT(var.type))
                return ListT(self.expr(body, self.bind(scope, [var])))
            case Fold(var, iterable, variables, init, body):
                self.same("what is folded over", iterable.type, ListT(var.type))
                return self.carried(variables, init, body, self.bind(scope, [var, *variables]))
            case Loop(variables, init, cond, body):
                inner = self.bind(scope, variables)
                self.same("the condition", self.expr(cond, inner), BOOL)
                return self.carried(variables, init, body, inner)
        raise AssertionError(f"no rule for {type(expr).__name__}")

    def types(self, what: str, got: Sequence[Type], expected: Sequence[Type]) -> None:
        """As `same`, for several types. Raises ShapeError if their numbers differ."""
        if len(got) != len(expected):
            raise ShapeError(f"{len(got)} operands, not {len(expected)}")
        for g, w in zip(got, expected, strict=True):
            self.same(what, g, w)

    def op(self, expr: Op) -> Type:
        """The type of an operation. Raises ShapeError."""
        keys = [key for key, _ in expr.attrs]
        if keys != sorted(set(keys)):
            raise ShapeError(f"the attributes of {expr.op} are not in order")
        t = infer(expr.op, [a.type for a in expr.args], dict(expr.attrs))
        if OPS[expr.op].fusion is not Fusion.ADDRESS:
            for a in expr.args:
                if isinstance(a.type, ScalarT) and not isinstance(a, Lit):
                    raise ShapeError(f"{expr.op} takes literals; {atom_text(a)} must become a tensor by `scalar` first")
        return t

    def fields(self, t: Type, case: str) -> list[Type]:
        """The types of a case's fields. Raises ShapeError if the type has no such case."""
        data = self.program.datatypes.get(t.name) if isinstance(t, DataT) else None
        if data is None or case not in {c.name for c in data.cases}:
            raise ShapeError(f"{type_text(t)} has no case {case}")
        return [field for _, field in data.case(case).fields]

    def arms(self, t: Type, arms: Sequence[Arm], result: Type, scope: Mapping[str, Type]) -> None:
        """Checks the arms of a match on a value of type `t`, which give values of type `result`."""
        data = self.program.datatypes.get(t.name) if isinstance(t, DataT) else None
        if data is None:
            raise ShapeError(f"a match on {type_text(t)}")
        got, expected = [arm.case for arm in arms], [case.name for case in data.cases]
        if sorted(got) != sorted(expected):
            raise ShapeError(f"the arms are for {', '.join(got)}, the cases of {data.name} are {', '.join(expected)}")
        for arm in arms:
            self.types(f"a variable of {arm.case}", [v.type for v in arm.vars], self.fields(t, arm.case))
            self.same(f"the arm for {arm.case}", self.expr(arm.body, self.bind(scope, arm.vars)), result)

    def carried(self, variables: Sequence[Var], init: Sequence[Atom], body: Expr, scope: Mapping[str, Type]) -> Type:
        """The type of a loop: the tuple of its variables, which the start values and the body have to have."""
        t = TupleT(tuple(v.type for v in variables))
        self.types("a start value", [a.type for a in init], t.items)
        self.same("the body", self.expr(body, scope), t)
        return t

    def launch(self, expr: Launch) -> Type:
        """The type of a launch's value. Raises ShapeError."""
        unit = expr.unit
        if len(expr.args) != len(unit.params):
            raise ShapeError(f"{unit.name} takes {len(unit.params)} operands, got {len(expr.args)}")
        for p, a in zip(unit.params, expr.args, strict=True):
            self.same(f"the operand {p.name} of {unit.name}", a.type, ListT(p.type) if p.mode is Mode.LIST else p.type)
            if p.mode is Mode.SHARED and not isinstance(a, Weight):
                self.say(f"the operand {p.name} of {unit.name} is shared, but {atom_text(a)} is no weight")
        if unit in self.ill_formed:
            return expr.type
        results = unit.result_types
        return results[0] if len(results) == 1 else TupleT(results)


def declared_text(t: Type | None) -> str:
    """The type of a weight as text, for a weight that the program may not have."""
    return "not declared" if t is None else type_text(t)


def check_declared(program: Program, t: Type, say: Callable[[str], None]) -> None:
    """Calls `say` with each union in a type that the program does not have."""
    match t:
        case DataT(name):
            if name not in program.datatypes:
                say(f"there is no type {name}")
        case TupleT(items):
            for item in items:
                check_declared(program, item, say)
        case ListT(item):
            check_declared(program, item, say)
