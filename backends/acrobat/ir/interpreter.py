"""The reference interpreter: it defines what programs mean, one instance at a time, in float64. Tests compare all with it.

Tensors are numpy arrays (float64, or int64), host values are Python's own, values of unions are `Data`. The interpreter also
runs what passes make: launches of kernels and static blocks, and derived weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from backends.acrobat.core.host import HOST
from backends.acrobat.core.made_objects import object_of
from backends.acrobat.core.ops import evaluate
from backends.acrobat.core.span import Span
from backends.acrobat.core.texts import TEXT, evaluate_text
from backends.acrobat.core.types import FLOAT, INT, DataT, ListT, TensorT, TupleT, Type
from backends.acrobat.core.units import Block, Kernel, Mode, StepArg, StepResult
from backends.acrobat.deep import FRAMES, deeply
from backends.acrobat.errors import InstanceError, ResourceError
from backends.acrobat.ir.instances import Data, read_instance
from backends.acrobat.ir.nodes import (
    Call,
    Construct,
    Expr,
    Field,
    Fold,
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

CALLS = 1 << 20
"""The limit on calls in tail position that follow each other."""

Env = dict[str, Any]
X = TypeVar("X")


def interpret(program: Program, instance: Any, values: Mapping[str, Any] | None = None) -> Any:
    """What `program` gives for one instance: tensors as float64 arrays, structures of the model's own classes. `values`
    replaces the program's parameters. Raises InstanceError, and ResourceError for a recursion without end."""
    return Interpreter(program, values).run(instance)


class Interpreter:
    """A program with its weights, for many instances."""

    def __init__(self, program: Program, values: Mapping[str, Any] | None = None) -> None:
        self.program = program
        self.weights: dict[str, np.ndarray] = {}
        values = program.values if values is None else values
        for name, t in program.weights.items():
            if name in program.derived:
                continue
            if name not in values or np.shape(values[name]) != t.shape:
                raise ValueError(f"the weight {name} needs a value of shape {t.shape}")
            self.weights[name] = np.asarray(values[name], np.int64 if t.dtype == "int64" else np.float64)
        for name, derived in program.derived.items():
            args = [self.weights[a] for a in derived.args]
            self.weights[name] = evaluate(derived.op, args, dict(derived.attrs), program.weights[name])
        self.rules: dict[type, Callable[[Any, Env], Any]] = {
            Var: lambda e, env: env[e.name],
            Lit: lambda e, env: e.value,
            Weight: lambda e, env: self.weights[e.name],
            Op: self._op,
            Host: self._host,
            Item: self._item,
            Tuple: lambda e, env: tuple(self._atoms(e.items, env)),
            Field: lambda e, env: self._atom(e.value, env)[e.index],
            ListOf: lambda e, env: self._atoms(e.items, env),
            Construct: lambda e, env: Data(e.case, tuple(self._atoms(e.args, env))),
            Launch: self._launch,
            Map: self._map,
            Fold: self._fold,
            Loop: self._loop,
        }

    def run(self, instance: Any) -> Any:
        """The result for one instance. The work is done on a larger stack, because the instance may be deeply nested."""
        return _deep(lambda: self._run(instance))

    def _run(self, instance: Any) -> Any:
        function = self.program.functions[self.program.entry]
        (param,) = function.params
        value = self._expr(function.body, {param.name: read_instance(self.program, instance)})
        result = self._to_python(value, function.result)
        return result if self.program.boundary is None else self.program.boundary.outward(result)

    # ---- nodes

    def _expr(self, expr: Expr, env: Env) -> Any:
        """The value of `expr`; adds its bindings to `env`. Let chains, branches and calls in tail position cost no stack."""
        calls = 0
        while True:
            match expr:
                case Let():
                    env[expr.var.name] = self._expr(expr.value, env)
                    expr = expr.body
                case If():
                    expr = expr.then if self._atom(expr.cond, env) else expr.orelse
                case Match():
                    value = self._atom(expr.value, env)
                    arm = next(arm for arm in expr.arms if arm.case == value.case)
                    env.update(zip((v.name for v in arm.vars), value.args, strict=True))
                    expr = arm.body
                case Call():
                    calls += 1
                    if calls > CALLS:
                        raise ResourceError(
                            f"{expr.function} is nested too deeply, in {CALLS} calls: the recursion may not end"
                        )
                    function = self.program.functions[expr.function]
                    env = dict(zip((p.name for p in function.params), self._atoms(expr.args, env), strict=True))
                    expr = function.body
                case _:
                    return self.rules[type(expr)](expr, env)

    def _atom(self, atom: Any, env: Env) -> Any:
        return self.rules[type(atom)](atom, env)

    def _atoms(self, atoms: Sequence[Any], env: Env) -> list[Any]:
        return [self._atom(a, env) for a in atoms]

    def _item(self, item: Item, env: Env) -> Any:
        tensor = self._atom(item.tensor, env)
        return tensor.tolist() if isinstance(item.type, ListT) else tensor.item()

    def _op(self, op: Op, env: Env) -> np.ndarray:
        assert isinstance(op.type, TensorT)
        return _located(op.span, evaluate, op.op, self._atoms(op.args, env), dict(op.attrs), op.type)

    def _host(self, host: Host, env: Env) -> Any:
        if host.op == "fail":
            raise InstanceError(self.program.messages.formatted(*_split_fail(self._atoms(host.args, env))))
        args = self._atoms(host.args, env)
        if host.op in TEXT:
            symbols = self.program.boundary.symbols
            value = _located(host.span, evaluate_text, host.op, args, symbols.values.__getitem__, symbols.number)
        else:
            value = _located(host.span, HOST[host.op].evaluate, *args)
        if host.type == INT and not -(2**63) <= value < 2**63:
            raise InstanceError(f"{_where(host.span)}the integer {value} does not fit into 64 bits")
        # Python's `min` of an int and a float may be the int, and of bools a bool.
        return {INT: int, FLOAT: float}[host.type](value) if host.type in (INT, FLOAT) else value

    def _map(self, node: Map, env: Env) -> list[Any]:
        out = []
        for item in self._atom(node.iterable, env):
            env[node.var.name] = item
            out.append(self._expr(node.body, env))
        return out

    def _fold(self, node: Fold, env: Env) -> tuple[Any, ...]:
        state = tuple(self._atoms(node.init, env))
        for item in self._atom(node.iterable, env):
            env[node.var.name] = item
            env.update(zip((v.name for v in node.vars), state, strict=True))
            state = self._expr(node.body, env)
        return state

    def _loop(self, node: Loop, env: Env) -> tuple[Any, ...]:
        state = tuple(self._atoms(node.init, env))
        while True:
            env.update(zip((v.name for v in node.vars), state, strict=True))
            if not self._expr(node.cond, env):
                return state
            state = self._expr(node.body, env)

    def _launch(self, node: Launch, env: Env) -> Any:
        run = run_kernel if isinstance(node.unit, Kernel) else run_block
        results = _located(node.span, run, node.unit, self._atoms(node.args, env))
        return results[0] if len(results) == 1 else results

    # ---- results

    def _to_python(self, value: Any, t: Type) -> Any:
        """The Python result: dataclasses in place of `Data`."""
        match t:
            case TupleT(items):
                return tuple([self._to_python(v, i) for v, i in zip(value, items, strict=True)])
            case ListT(item):
                return [self._to_python(v, item) for v in value]
            case DataT(name):
                datatype = self.program.datatypes[name]
                case = datatype.case(value.case)
                if case.numbered:
                    return value  # the boundary knows the instance's object
                args = [self._to_python(v, f) for v, (_, f) in zip(value.args, case.fields, strict=True)]
                if datatype.optional:
                    return args[0] if args else None
                if datatype.mixed:  # the boundary still has to know which type it is
                    return Data(case.name, tuple(args))
                fields = dict(zip((name for name, _ in case.fields), args, strict=True))  # in the order in which they are read
                if hasattr(case.cls, "record_of_fields"):  # represents a dictionary
                    return case.cls.record_of_fields(fields)
                return object_of(case.cls, fields) if case.cls else Data(case.name, tuple(args))
        return value


def run_kernel(kernel: Kernel, args: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """A kernel's results for one row; a LIST operand is a list of tensors. Raises as `ops.evaluate`."""
    env = dict(zip((p.name for p in kernel.params), args, strict=True))
    for i in kernel.body:
        env[i.name] = evaluate(i.op, [env[a] if isinstance(a, str) else a for a in i.args], dict(i.attrs), i.type)
    return tuple(env[r] for r in kernel.results)


def run_block(block: Block, args: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """A static block's results for one row. Raises as `ops.evaluate`, and ValueError where lists of one group differ in
    length."""
    env: dict[StepArg, Any] = dict(zip((p.name for p in block.params), args, strict=True))
    lists = {p.name for p in block.params if p.mode is Mode.LIST}
    groups = {name: name for name in lists} | dict(block.groups)
    for group in set(groups.values()):
        if len({len(env[name]) for name in lists if groups[name] == group}) > 1:
            raise ValueError(f"the lists of {block.name} in {group} are of different lengths")
    per_item = dict[StepArg, str](groups.items())  # operand with one tensor for each item of a list -> its list group
    for k, step in enumerate(block.steps):
        operands = [env[a] for a in step.args]
        if not step.over:
            results: Sequence[Any] = run_kernel(step.kernel, operands)
        else:
            spread = [a in per_item for a in step.args]
            rows = [
                run_kernel(step.kernel, [x[i] if s else x for x, s in zip(operands, spread, strict=True)])
                for i in range(len(env[step.over]))
            ]
            results = [[row[j] for row in rows] for j in range(len(step.kernel.results))]
            per_item |= {StepResult(k, j): groups[step.over] for j in range(len(results))}
        env |= {StepResult(k, j): r for j, r in enumerate(results)}
    return tuple(env[r] for r in block.results)


# ---- errors and stack


def _split_fail(values: Sequence[Any]) -> tuple[int, Sequence[Any]]:
    """The operands of `fail`: the number of a text, and the values in it."""
    return values[0], values[1:]


def _where(span: Span) -> str:
    return f"{span.file}:{span.line}: " if span.line else ""


def _located(span: Span, run: Callable[..., X], *args: Any) -> X:
    """`run(*args)`. Errors that the instance's values cause are raised as InstanceError, with the line of the source."""
    try:
        return run(*args)
    except (ValueError, LookupError, ArithmeticError) as error:
        raise InstanceError(f"{_where(span)}{error}") from error


def _deep(work: Callable[[], X]) -> X:
    """`work()` on a stack that is deep enough for long chains. Raises ResourceError if even that is too small."""
    try:
        return deeply(work)
    except RecursionError:
        raise ResourceError(f"a recursion deeper than {FRAMES} frames; does it end?") from None
