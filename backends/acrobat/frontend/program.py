"""The whole program: functions specialised per argument types, compiled from the entry on until all types are known."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import nn

from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.annotations import AnnotationError, Datatypes, hints
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.source import source_of, span_of
from backends.acrobat.frontend.statements import Exits, execute
from backends.acrobat.frontend.tensors import Call, Refused
from backends.acrobat.frontend.values import (
    UNKNOWN,
    Dyn,
    Method,
    Mismatch,
    Module,
    Static,
    TupleV,
    Value,
    contains_unknown,
    describe,
    is_unknown,
    join_types,
    type_of,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.types import DataT, ListT, TensorT, TupleT
from backends.acrobat.ir.visitor import walk

ROUNDS = 12
"""Recursions through this many functions and fields settle their types; real models need two or three rounds."""


class ProgramBuilder:
    """Compiles from the entry in rounds. A round knows the result types and fields found in the one before."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.datatypes = Datatypes(module)
        self.results: dict[Any, Any] = {}  # function key -> result type found so far
        self.problems: list[Problem] = []
        self.weights: dict[str, TensorT] = {}
        self.values: dict[str, np.ndarray] = {}
        tensors = {
            **dict(module.named_parameters(remove_duplicate=False)),
            **dict(module.named_buffers(remove_duplicate=False)),
        }
        canonical: dict[int, str] = {}
        atoms = []
        for name, t in tensors.items():
            first = canonical.setdefault(t.data_ptr() if t.numel() else id(t), name)
            if tensors[first].shape != t.shape:
                first = name
            type = TensorT(tuple(t.shape))
            atoms.append((name, n.Weight(first, type)))
            self.weights[first] = type
            self.values[first] = t.detach().float().cpu().numpy()
        self.root = Module(module, tuple(atoms), root=True)
        self._reset()

    def _reset(self) -> None:
        self.functions: dict[Any, n.Function | None] = {}
        self.names: dict[str, Any] = {}
        self.key_names: dict[Any, str] = {}
        self.used: dict[str, None] = {}
        self.incomplete = False
        self.changed = False
        self.datatypes.changed = False

    # ---- services for frames

    def problem(self, problem: Problem) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def use(self, type: DataT) -> None:
        self.used[type.name] = None

    def wrap(self, value: Any) -> Value:
        """A Python object met by name."""
        if isinstance(value, nn.Module):
            raise Refused("a module that is not part of the model", "make it an attribute of the model")
        return Static(value)

    def annotation(self, f: Frame, node: ast.expr) -> Any:
        try:
            value = eval(compile(ast.Expression(node), f.file, "eval"), dict(f.namespace))
        except Exception as error:
            raise AnnotationError(f"the annotation cannot be evaluated: {error}") from error
        return self.datatypes.resolve(value)

    # ---- the entry

    def build(self) -> n.Program:
        function: Any = type(self.module).forward
        definition, file = source_of(function)
        span = span_of(definition, file)
        try:
            annotated = hints(function)
        except AnnotationError as error:
            raise CompileError([Problem(span, str(error))]) from error
        params = [a.arg for a in definition.args.args][1:]
        if len(params) != 1:
            advice = "put what one instance consists of into a dataclass" if params else "give it the instance as its argument"
            raise CompileError([Problem(span, f"`forward` takes one instance here, not {len(params)} arguments", advice)])
        if params[0] not in annotated:
            raise CompileError(
                [
                    Problem(
                        span,
                        f"the parameter `{params[0]}` of `forward` has no annotation",
                        "annotate it with the instance's type",
                    )
                ]
            )
        for _ in range(ROUNDS):
            self._reset()
            self.problems = []
            try:
                instance = self.datatypes.resolve(annotated[params[0]])
            except AnnotationError as error:
                raise CompileError([Problem(span, str(error))]) from error
            if contains_unknown(instance):
                raise CompileError(
                    [
                        Problem(
                            span,
                            "the shape of the instance's tensor is not known",
                            "write Annotated[Tensor, 128, 'hidden'] or the like",
                        )
                    ]
                )
            key = self._key(function, [self.root, Dyn(n.Var(params[0], instance))])
            self.key_names[key] = "forward"
            self.names["forward"] = key
            self._compile(key, function, [self.root, Dyn(n.Var(params[0], instance))], entry=True)
            if not self.changed and not self.datatypes.changed:
                break
        if self.problems:
            raise CompileError(self.problems)
        if self.incomplete or any(f is None for f in self.functions.values()):
            self._explain(span)
        functions = {f.name: f for f in self.functions.values() if f is not None}
        self._close_types(functions)
        used = {w.name for f in functions.values() for w in walk(f.body) if isinstance(w, n.Weight)}
        return n.Program(
            functions={name: functions[name] for name in ["forward", *(x for x in functions if x != "forward")]},
            datatypes=self.datatypes.table(self.used),
            weights={k: t for k, t in self.weights.items() if k in used},
            values={k: v for k, v in self.values.items() if k in used},
        )

    def _explain(self, span: n.Span) -> None:
        """Name what stayed unknown."""
        out = []
        for (cls, name), t in self.datatypes.fields.items():
            if contains_unknown(t) and self.datatypes.of_class[cls] in self.used:
                out.append(
                    Problem(
                        span,
                        f"the shape of `{cls.__name__}.{name}` is not known",
                        f"annotate it, as in `{name}: Annotated[Tensor, 256]`",
                    )
                )
        for key, f in self.functions.items():
            if f is None:
                definition, file = source_of(key[0])
                out.append(
                    Problem(
                        span_of(definition, file),
                        f"the result type of `{key[0].__qualname__}` cannot be found",
                        "a recursion needs a case that ends",
                    )
                )
        raise CompileError(
            out or [Problem(span, "the types of this model cannot be found", "annotate tensor fields with their shapes")]
        )

    def _close_types(self, functions: dict[str, n.Function]) -> None:
        """Unions reached only through the fields of others, or in signatures, belong to the program too."""
        pending: list[Any] = [t for f in functions.values() for t in (f.result, *(p.type for p in f.params))]
        pending += [DataT(name) for name in self.used]
        seen: set[str] = set()
        while pending:
            match pending.pop():
                case TupleT(items):
                    pending += items
                case ListT(item):
                    pending.append(item)
                case DataT(name) as t if name not in seen:
                    seen.add(name)
                    self.use(t)
                    if name in self.datatypes.optionals:
                        pending.append(self.datatypes.optionals[name])
                    else:
                        pending += [x for (cls, _), x in self.datatypes.fields.items() if self.datatypes.of_class[cls] == name]

    # ---- calls

    def call(self, f: Frame, node: ast.AST, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """A call of a Python function of the model."""
        definition, file = source_of(function)
        a = definition.args
        if a.vararg or a.kwarg or a.posonlyargs:
            return f.problem(node, f"`{definition.name}` has parameters that are not in the language", "use plain parameters")
        names = [x.arg for x in (*a.args, *a.kwonlyargs)]
        defaults: dict[str, Value] = {}
        for x, value in zip(reversed(a.args), reversed(function.__defaults__ or ()), strict=False):
            defaults[x.arg] = Static(value)
        for k, value in (function.__kwdefaults__ or {}).items():
            defaults[k] = Static(value)
        values = Call(definition.name, args, kwargs).bind(*names, **defaults)
        try:
            annotated = hints(function)
            for i, name in enumerate(names):
                if name in annotated:
                    values[i] = self._accept(f, values[i], annotated[name], definition.name, name)
        except AnnotationError as error:
            self.problem(Problem(span_of(definition, file), str(error)))
            return unknown()
        if any(is_unknown(v) for v in values):
            return unknown()
        key = self._key(function, values)
        if key not in self.functions:
            self._compile(key, function, values)
        result = self.results.get(key, UNKNOWN)
        if contains_unknown(result):
            self.incomplete = True
            return unknown()
        atoms = [atom for v in values for atom in self._flatten(f, v)]
        return f.bind(n.Call(self._name(key), tuple(atoms), result, span=f.span), definition.name)

    def _accept(self, f: Frame, value: Value, annotation: Any, function: str, name: str) -> Value:
        """An argument as the parameter's annotation wants it."""
        if isinstance(value, (Module, Method)) or (
            isinstance(value, Static) and not isinstance(value.value, (int, float, type(None), tuple))
        ):
            return value
        wanted = self.datatypes.resolve(annotation)
        if isinstance(value, Dyn) and isinstance(value.type, ListT) and contains_unknown(value.type):
            return f.coerce(value, wanted) if not contains_unknown(wanted) else value
        if contains_unknown(wanted):
            return value
        try:
            return f.coerce(value, wanted)
        except Mismatch as error:
            raise Refused(f"the argument `{name}` of `{function}`: {error}") from error

    def _key(self, function: Any, values: Sequence[Value]) -> Any:
        return (function, tuple(self._signature(v) for v in values))

    def _signature(self, value: Value) -> Any:
        match value:
            case Dyn():
                return value.type
            case TupleV(items):
                return ("tuple", *(self._signature(v) for v in items))
            case Static(v):
                # Numbers become parameters, so that a loop's counter does not make a function per value.
                return type_of(value) if isinstance(v, (bool, int, float)) else ("static", v)
            case Module(module=m, root=root):
                if root:
                    return "root"
                scalars = {k: v for k, v in vars(m).items() if isinstance(v, (int, float, str, bool)) and k != "training"}
                return (type(m), tuple(sorted(scalars.items())), tuple((k, a.type) for k, a in value.tensors))
            case Method(owner, name):
                return ("method", self._signature(owner), name)

    def _flatten(self, f: Frame, value: Value) -> list[n.Atom]:
        """The operands a value is passed as."""
        match value:
            case Module(root=True):
                return []
            case Module(tensors=tensors):
                return [a for _, a in tensors]
            case TupleV(items):
                return [a for v in items for a in self._flatten(f, v)]
            case Static(v) if not isinstance(v, (bool, int, float)):
                return []
            case Method(owner):
                return self._flatten(f, owner)
        return [f.atom(value)]

    def _parameter(self, f: Frame, value: Value, name: str, params: list[n.Var]) -> Value:
        """What the callee sees for an argument, and the parameters it comes in."""
        match value:
            case Module(root=True):
                return value
            case Module(module=m, tensors=tensors):
                inner = []
                for k, a in tensors:
                    params.append(n.Var(f.names.fresh(f"{name}.{k}"), a.type))
                    inner.append((k, params[-1]))
                return Module(m, tuple(inner))
            case TupleV(items):
                return TupleV(tuple(self._parameter(f, v, f"{name}_{i}", params) for i, v in enumerate(items)))
            case Static(v) if not isinstance(v, (bool, int, float)):
                return value
            case Method(owner, method, function):
                return Method(self._parameter(f, owner, name, params), method, function)  # type: ignore[arg-type]
        params.append(n.Var(f.names.fresh(name), type_of(value)))
        return Dyn(params[-1])

    def _name(self, key: Any) -> str:
        if key not in self.key_names:
            base = key[0].__qualname__.split("<locals>.")[-1]
            name, k = base, 1
            while name in self.names:
                k += 1
                name = f"{base}_{k}"
            self.names[name] = key
            self.key_names[key] = name
        return self.key_names[key]

    # ---- functions

    def _compile(self, key: Any, function: types.FunctionType, values: Sequence[Value], entry: bool = False) -> None:
        self.functions[key] = None
        definition, file = source_of(function)
        span = span_of(definition, file)
        f = Frame(self, file, function.__globals__ | closure(function), definition.name)
        params: list[n.Var] = []
        arguments = [*definition.args.args, *definition.args.kwonlyargs]
        for a, v in zip(arguments, values, strict=True):
            f.env[a.arg] = self._parameter(f, v, a.arg, params)
        try:
            annotated = hints(function)
            for a in arguments[1 if "." in function.__qualname__ else 0 :]:
                if a.arg not in annotated:
                    self.problem(
                        Problem(span_of(a, file), f"the parameter `{a.arg}` has no annotation", "annotate it with its type")
                    )
            if "return" not in annotated:
                self.problem(Problem(span, f"`{definition.name}` has no result annotation", "write `-> Tensor` or the like"))
            wanted = (
                self.datatypes.resolve(annotated["return"])
                if annotated.get("return", type(None)) is not type(None)
                else UNKNOWN
            )
        except AnnotationError as error:
            self.problem(Problem(span, str(error)))
            wanted = UNKNOWN

        def returns(s: ast.Return) -> Value:
            from backends.acrobat.frontend.expressions import expression

            value = expression(f, s.value, "result") if s.value is not None else Static(None)
            if contains_unknown(wanted) and not (isinstance(getattr(value, "type", None), ListT) and is_unknown(value)):
                return value
            try:
                return f.coerce(value, wanted)
            except Mismatch as error:
                return f.problem(s, f"`{definition.name}` gives {error}")

        def falls() -> Value:
            return f.problem(
                span,
                f"`{definition.name}` can end without `return`",
                "return a value on every path; `match` must name every case",
            )

        value = execute(f, definition.body, Exits(falls, returns))
        assert value is not None
        old = self.results.get(key, UNKNOWN)
        try:
            found = type_of(value)
            found = found if not isinstance(found, type(None)) else UNKNOWN
            result = join_types(old, found)
        except Mismatch as error:
            self.problem(Problem(span, f"the result of `{definition.name}`: {error}"))
            return
        if result != old:
            self.results[key] = result
            self.changed = True
        if contains_unknown(result) or (
            isinstance(value, Dyn) and isinstance(value.atom, n.Var) and value.atom.name in ("?", "[]")
        ):
            self.incomplete = True
            return
        body = f.builder.finish(f.try_atom(f.coerce(value, result), definition))
        self.functions[key] = n.Function(self._name(key), tuple(params), result, body, span=span)


def closure(function: types.FunctionType) -> dict[str, Any]:
    """The values of a function's free names."""
    cells = function.__closure__ or ()
    out = {}
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            out[name] = cell.cell_contents
        except ValueError:
            continue
    return out


__all__ = ["ProgramBuilder", "describe"]
