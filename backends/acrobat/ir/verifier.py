"""Checks that a program is well formed: every type can be derived again, every name is bound once and before its use.

A violation is a defect of the compiler, never of the user's model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, get_args

from backends.acrobat.core.host import infer_host
from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.ops import OPS, Fusion, infer
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.core.units import Block, Kernel, Mode
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.printer import atom_text, type_text, units
from backends.acrobat.ir.unit_verifier import check_block, check_kernel
from backends.acrobat.ir.visitor import operands

ATOMS = get_args(n.Atom)
NUMBERS: dict[str, type] = {"int": int, "bool": bool, "float": float}


class VerifyError(AssertionError):
    """A pass or the front end made an ill-formed program; `violations` says where and how."""

    def __init__(self, violations: Sequence[str]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n".join(["the program is ill-formed", *violations]))


def verify(program: n.Program) -> None:
    """Raises VerifyError with all violations in `program`."""
    violations: list[str] = []
    _head(program, violations.append)
    used_units = units(program.functions.values())
    names = [u.name for u in used_units]
    ill_formed: set[Kernel | Block] = set()
    for unit in used_units:
        before = len(violations)

        def say(message: str, name: str = unit.name) -> None:
            violations.append(f"{name}: {message}")

        if names.count(unit.name) > 1:
            say("several kernels or blocks have this name")
        check_kernel(unit, say) if isinstance(unit, Kernel) else check_block(unit, say)
        if len(violations) > before:
            ill_formed.add(unit)
    for function in program.functions.values():
        _FunctionCheck(program, function, violations, ill_formed).check()
    if violations:
        raise VerifyError(violations)


def _head(program: n.Program, say: Callable[[str], None]) -> None:
    for name, function in program.functions.items():
        if name != function.name:
            say(f"function {function.name} stands under the name {name}")
    for name, datatype in program.datatypes.items():
        if name != datatype.name or not datatype.cases or len({c.name for c in datatype.cases}) != len(datatype.cases):
            say(f"type {name}: its cases need names of their own")
        for case in datatype.cases:
            if len({field for field, _ in case.fields}) != len(case.fields):
                say(f"type {name}: two fields of {case.name} have one name")
            for field, t in case.fields:
                _check_declared(program, t, lambda message, at=f"{name}.{case.name}.{field}": say(f"{at}: {message}"))  # type: ignore[misc]
    entry = program.functions.get(program.entry)
    if entry is None or len(entry.params) != 1:
        say(f"the entry {program.entry} must be a function with one parameter, the instance")
    computable = {name: t for name, t in program.weights.items() if name not in program.derived}
    for name, derived in program.derived.items():
        if missing := [a for a in derived.args if a not in computable]:
            say(f"derived weight {name}: its operands {', '.join(missing)} are not known before it")
            continue
        try:
            t = infer(derived.op, [computable[a] for a in derived.args], dict(derived.attrs))
        except ShapeError as error:
            say(f"derived weight {name}: {error}")
            continue
        computable[name] = t
        if program.weights.get(name) != t:
            say(f"derived weight {name}: it is {type_text(t)}, not {_text(program.weights.get(name))}")
    for name, value in program.values.items():
        declared = program.weights.get(name)
        if declared is None or name in program.derived or tuple(value.shape) != declared.shape:
            say(f"the value of {name} has shape {tuple(value.shape)}, the weight is {_text(declared)}")


def _text(t: Type | None) -> str:
    return "not declared" if t is None else type_text(t)


def _check_declared(program: n.Program, t: Type, say: Callable[[str], None]) -> None:
    match t:
        case DataT(name):
            if name not in program.datatypes:
                say(f"there is no type {name}")
        case TupleT(items):
            for item in items:
                _check_declared(program, item, say)
        case ListT(item):
            _check_declared(program, item, say)


# ---- functions


class _FunctionCheck:
    """Checks one function. `at` is the node that violations are reported at, `bound` all variables bound so far."""

    def __init__(
        self, program: n.Program, function: n.Function, violations: list[str], ill_formed: Collection[Kernel | Block]
    ) -> None:
        self.program, self.function, self.violations = program, function, violations
        self.ill_formed = ill_formed
        self.bound: set[str] = set()
        self.at: n.Expr | None = None

    def say(self, message: str) -> None:
        where = self.function.name
        if self.at is not None and self.at.span.line:
            where += f" ({self.at.span.file}:{self.at.span.line})"
        self.violations.append(f"{where}: {message}")

    def check(self) -> None:
        scope = self.bind({}, self.function.params)
        body = self.expr(self.function.body, scope)
        self.same("the result", body, self.function.result)

    def same(self, what: str, actual: Type, expected: Type) -> None:
        if actual != expected:
            self.say(f"{what} is {type_text(actual)}, not {type_text(expected)}")

    def bind(self, scope: Mapping[str, Type], variables: Sequence[n.Var]) -> dict[str, Type]:
        """The scope with `variables`, each of which must be bound nowhere else."""
        for var in variables:
            if var.name in self.bound:
                self.say(f"{var.name} is bound twice")
            self.bound.add(var.name)
            _check_declared(self.program, var.type, self.say)
        return {**scope, **{v.name: v.type for v in variables}}

    def atom(self, atom: Any, scope: Mapping[str, Type]) -> None:
        match atom:
            case n.Var(name, t):
                if name not in scope:
                    self.say(f"{name} is not in scope")
                else:
                    self.same(f"a use of {name}", t, scope[name])
            case n.Weight(name, t):
                if self.program.weights.get(name) != t:
                    self.say(f"the weight {name} is used as {type_text(t)}, it is {_text(self.program.weights.get(name))}")
            case n.Lit(value, ScalarT(kind)):
                if type(value) is not NUMBERS[kind]:
                    self.say(f"{value!r} is no {kind}")
            case _:
                self.say(f"an operand is a {type(atom).__name__}, not an atom")

    def expr(self, expr: n.Expr, scope: Mapping[str, Type]) -> Type:
        """The type of `expr`, which its node must have too."""
        if isinstance(expr, n.Let):
            inner = dict(scope)  # one scope for the whole chain: it may be long
            while isinstance(expr, n.Let):
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

    def derive(self, expr: n.Expr, scope: Mapping[str, Type]) -> Type:
        """The type that a node must have. Raises ShapeError where it cannot have one."""
        match expr:
            case n.Op():
                return self.op(expr)
            case n.Host(op, args):
                return infer_host(op, [a.type for a in args])
            case n.Item(tensor, t):
                number = INT if isinstance(tensor.type, TensorT) and tensor.type.dtype == "int64" else FLOAT
                if isinstance(t, ListT):
                    if not isinstance(tensor.type, TensorT) or len(tensor.type.shape) != 1:
                        raise ShapeError(f"the items of {type_text(tensor.type)}, which is no vector")
                    return ListT(number)
                if not isinstance(tensor.type, TensorT) or tensor.type.size != 1:
                    raise ShapeError(f"an item of {type_text(tensor.type)}, which is no tensor of one element")
                return number
            case n.Tuple(items):
                return TupleT(tuple(a.type for a in items))
            case n.Field(value, index):
                if not isinstance(value.type, TupleT) or not 0 <= index < len(value.type.items):
                    raise ShapeError(f"{type_text(value.type)} has no component {index}")
                return value.type.items[index]
            case n.ListOf(items, t):
                if not isinstance(t, ListT):
                    raise ShapeError(f"a list of type {type_text(t)}")
                for item in items:
                    self.same("an item of the list", item.type, t.item)
                _check_declared(self.program, t, self.say)
                return t
            case n.Construct(case, args, t):
                self.types("an argument", [a.type for a in args], self.fields(t, case))
                return t
            case n.Call(name, args):
                if name not in self.program.functions:
                    raise ShapeError(f"there is no function {name}")
                function = self.program.functions[name]
                self.types(f"an argument of {name}", [a.type for a in args], [p.type for p in function.params])
                return function.result
            case n.Launch():
                return self.launch(expr)
            case n.If(cond, then, orelse):
                self.same("the condition", cond.type, BOOL)
                self.same("a branch", self.expr(then, scope), expr.type)
                self.same("a branch", self.expr(orelse, scope), expr.type)
                return expr.type
            case n.Match(value, arms):
                self.arms(value.type, arms, expr.type, scope)
                return expr.type
            case n.Map(var, iterable, body):
                self.same("what is mapped over", iterable.type, ListT(var.type))
                return ListT(self.expr(body, self.bind(scope, [var])))
            case n.Fold(var, iterable, variables, init, body):
                self.same("what is folded over", iterable.type, ListT(var.type))
                return self.carried(variables, init, body, self.bind(scope, [var, *variables]))
            case n.Loop(variables, init, cond, body):
                inner = self.bind(scope, variables)
                self.same("the condition", self.expr(cond, inner), BOOL)
                return self.carried(variables, init, body, inner)
        raise AssertionError(f"no rule for {type(expr).__name__}")

    def types(self, what: str, actual: Sequence[Type], expected: Sequence[Type]) -> None:
        if len(actual) != len(expected):
            raise ShapeError(f"{len(actual)} operands, not {len(expected)}")
        for g, w in zip(actual, expected, strict=True):
            self.same(what, g, w)

    def op(self, expr: n.Op) -> Type:
        keys = [key for key, _ in expr.attrs]
        if keys != sorted(set(keys)):
            raise ShapeError(f"the attributes of {expr.op} are not in order")
        t = infer(expr.op, [a.type for a in expr.args], dict(expr.attrs))
        if OPS[expr.op].fusion is not Fusion.ADDRESS:
            for a in expr.args:
                if isinstance(a.type, ScalarT) and not isinstance(a, n.Lit):
                    raise ShapeError(f"{expr.op} takes literals; {atom_text(a)} must become a tensor by `scalar` first")
        return t

    def fields(self, t: Type, case: str) -> list[Type]:
        datatype = self.program.datatypes.get(t.name) if isinstance(t, DataT) else None
        if datatype is None or case not in {c.name for c in datatype.cases}:
            raise ShapeError(f"{type_text(t)} has no case {case}")
        return [field for _, field in datatype.case(case).fields]

    def arms(self, t: Type, arms: Sequence[n.Arm], result: Type, scope: Mapping[str, Type]) -> None:
        datatype = self.program.datatypes.get(t.name) if isinstance(t, DataT) else None
        if datatype is None:
            raise ShapeError(f"a match on {type_text(t)}")
        actual, expected = [arm.case for arm in arms], [case.name for case in datatype.cases]
        if sorted(actual) != sorted(expected):
            raise ShapeError(f"the arms are for {', '.join(actual)}, the cases of {datatype.name} are {', '.join(expected)}")
        for arm in arms:
            self.types(f"a variable of {arm.case}", [v.type for v in arm.vars], self.fields(t, arm.case))
            self.same(f"the arm for {arm.case}", self.expr(arm.body, self.bind(scope, arm.vars)), result)

    def carried(self, variables: Sequence[n.Var], init: Sequence[n.Atom], body: n.Expr, scope: Mapping[str, Type]) -> Type:
        t = TupleT(tuple(v.type for v in variables))
        self.types("a start value", [a.type for a in init], t.items)
        self.same("the body", self.expr(body, scope), t)
        return t

    def launch(self, expr: n.Launch) -> Type:
        unit = expr.unit
        if len(expr.args) != len(unit.params):
            raise ShapeError(f"{unit.name} takes {len(unit.params)} operands, got {len(expr.args)}")
        for p, a in zip(unit.params, expr.args, strict=True):
            self.same(f"the operand {p.name} of {unit.name}", a.type, ListT(p.type) if p.mode is Mode.LIST else p.type)
            if p.mode is Mode.SHARED and not isinstance(a, n.Weight):
                self.say(f"the operand {p.name} of {unit.name} is shared, but {atom_text(a)} is no weight")
        if unit in self.ill_formed:
            return expr.type
        results = unit.result_types
        return results[0] if len(results) == 1 else TupleT(results)
