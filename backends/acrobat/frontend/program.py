"""The whole program: functions specialised per argument types, compiled from the entry on until all types are known."""

from __future__ import annotations

import ast
import types
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from backends.acrobat import library
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import DataT, ListT, TensorT, TupleT
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.annotations import AnnotationError, Datatypes, hints
from backends.acrobat.frontend.boundary import Symbols, plain
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.modules import fingerprint, forward_of, globally_hooked, hooked, no_function
from backends.acrobat.frontend.outputs import changed_parameters
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.scope import Exits
from backends.acrobat.frontend.source import decorated, source_of, span_of, stripped
from backends.acrobat.frontend.tensors import Call, Refused
from backends.acrobat.frontend.values import (
    NONE,
    UNKNOWN,
    Dyn,
    Fixed,
    Held,
    Method,
    Mismatch,
    Module,
    Static,
    TupleV,
    Value,
    contains_unknown,
    guess,
    is_container,
    is_list,
    is_unknown,
    join_types,
    known,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.frontend.weights import is_weight, named_tensors, tie_key, values_of
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import binders, walk

ROUNDS = 12
"""Recursions through this many functions and fields settle their types; real models need two or three rounds."""


class ProgramBuilder:
    """Compiles from the entry in rounds. A round knows the result types and fields found in the one before."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.datatypes = Datatypes(module)
        self.results: dict[Any, Any] = {}  # function key -> result type found so far
        self.problems: list[Problem] = []
        self.reads = Reads()
        self.changing: dict[Any, tuple[str, ...]] = {}  # function -> the parameters whose lists it changes
        self.gives_new: dict[Any, bool] = {}  # function key -> whether nothing else can see a list that it gives
        self.grown: dict[Any, Any] = {}  # (function, parameter) -> the type of such a list
        self.symbols = Symbols()
        self.weights: dict[str, TensorT] = {}
        self.values: dict[str, np.ndarray] = {}
        canonical: dict[Any, str] = {}  # tied parameters are one weight
        atoms = []
        for name, t in named_tensors(module):
            if not is_weight(t):
                continue  # see `modules.tensor_of`
            first = canonical.setdefault(tie_key(t), name)
            type = TensorT(tuple(t.shape))
            atoms.append((name, n.Weight(first, type)))
            self.weights[first] = type
            self.values[first] = values_of(t)
        self.root = Module(module, tuple(atoms), root=True)
        self._reset()

    def _reset(self) -> None:
        self.functions: dict[Any, n.Function | None] = {}
        self.names: dict[str, Any] = {}
        self.key_names: dict[Any, str] = {}
        self.partial: set[Any] = set()  # functions that are not whole in this round, for lack of types
        self.incomplete = False  # whether the function compiled now is one
        self.lost: Problem | None = None  # a loop that could not be compiled in this round
        self.changed = False
        self.datatypes.changed = False

    # ---- services for frames

    def tensor_name(self, t: torch.Tensor, name: str) -> str:
        """The first name of a parameter or buffer in the model; `name` for one that it has not."""
        return next((k for k, other in named_tensors(self.module) if other is t), name)

    def problem(self, problem: Problem) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def wrap(self, value: Any) -> Value:
        """A Python object met by name."""
        if isinstance(value, nn.Module):
            raise Refused("a module that is not part of the model", "make it an attribute of the model")
        if isinstance(value, torch.Tensor):
            raise Refused("a tensor that is not part of the model", "make it a parameter or a buffer of the model")
        return Static(value)

    def annotation(self, f: Frame, node: ast.expr) -> Any:
        try:
            value = eval(compile(ast.Expression(node), f.file, "eval"), dict(f.namespace))
        except Exception as error:
            raise AnnotationError(f"the annotation cannot be evaluated: {error}") from error
        return self.datatypes.resolve(value)

    # ---- the entry

    def build(self, hint: Any = None, sample: Sequence[Any] | None = None) -> n.Program:
        found, bound = forward_of(self.module)
        if found is None:
            raise CompileError([Problem(Span("<model>", 0), no_function(self.module), "set a function that `def` makes")])
        function = stripped(found)
        self.changing[function] = ()  # an instance is not changed
        definition, file = source_of(function)
        span = span_of(definition, file)
        params = [a.arg for a in definition.args.args][int(bound) :]
        if strange := decorated(definition):
            raise CompileError([Problem(span, strange, "write what it does into the function")])
        if hooked(self.module):
            raise CompileError([Problem(span, "the model has forward hooks", "remove them: only `forward` is compiled")])
        if globally_hooked():
            message = "hooks for all modules are registered with torch (`register_module_forward_hook` or the like)"
            raise CompileError([Problem(span, message, "remove them: only `forward` is compiled")])
        if len(params) != 1:
            advice = "put what one instance consists of into a dataclass" if params else "give it the instance as its argument"
            raise CompileError([Problem(span, f"`forward` takes one instance here, not {len(params)} arguments", advice)])
        for _ in range(ROUNDS):
            self._reset()
            try:
                instance = self._instance(hints(function) if hint is None else {params[0]: hint}, params[0], sample)
            except (AnnotationError, Refused) as error:
                raise CompileError([Problem(span, str(error), getattr(error, "advice", ""))]) from error
            values: list[Value] = [*([self.root] if bound else []), Dyn(n.Var(params[0], instance))]
            key = self._key(function, values)
            self.key_names[key] = "forward"
            self.names["forward"] = key
            self._compile(key, function, values)
            if not self.changed and not self.datatypes.changed:
                break
        if self.problems:
            raise CompileError(self.problems)
        if self.incomplete or self.functions[key] is None:
            self._explain(span)
        functions = self._reachable()
        for v in (e for f in functions.values() for e in walk(f.body) if isinstance(e, n.Var) and e.name in ("?", "[]")):
            message = "the type of this list's elements cannot be found"
            self.problem(Problem(v.span, message, "annotate it: `xs: list[int] = []`"))
        if self.problems:
            raise CompileError(self.problems)
        used = {w.name for f in functions.values() for w in walk(f.body) if isinstance(w, n.Weight)}
        program = n.Program(
            functions=functions,
            datatypes=self.datatypes.table(self._datatypes(functions)),
            weights={k: t for k, t in self.weights.items() if k in used},
            values={k: v for k, v in self.values.items() if k in used},
        )
        return plain(program, self.symbols)

    def _instance(self, annotated: dict[str, Any], name: str, sample: Sequence[Any] | None) -> Any:
        """The type of what `forward` takes: what its annotation says, or else what the sample shows."""
        if name not in annotated and sample is None:
            advice = (
                "annotate it with the instance's type, or give `compile` a few instances: `compile(model, sample=instances)`"
            )
            raise Refused(f"the parameter `{name}` of `forward` has no annotation", advice)
        if sample is not None:
            try:
                instance = self.datatypes.resolve(annotated[name]) if name in annotated else UNKNOWN
            except AnnotationError:
                instance = UNKNOWN
            if contains_unknown(instance):
                instance = self.datatypes.observe(sample)
            return instance
        instance = self.datatypes.resolve(annotated[name])
        if contains_unknown(instance):
            raise Refused(
                "the shape of the instance's tensor is not known", "write Annotated[Tensor, 128, 'hidden'] or the like"
            )
        return instance

    def _reachable(self) -> dict[str, n.Function]:
        """The functions that are called: others come from trials of loops whose types were not settled."""
        by_name = {f.name: f for f in self.functions.values() if f is not None}
        out: dict[str, n.Function] = {}
        pending = ["forward"]
        while pending:
            name = pending.pop()
            if name not in out:
                out[name] = by_name[name]
                pending += reversed([e.function for e in walk(by_name[name].body) if isinstance(e, n.Call)])
        return out

    def _datatypes(self, functions: dict[str, n.Function]) -> dict[str, None]:
        """The unions that values of the program have, and those of their fields."""
        pending: list[Any] = []
        for f in functions.values():
            pending += [f.result, *(p.type for p in f.params)]
            for e in walk(f.body):
                pending += [e.type, *(v.type for v in binders(e))]
        out: dict[str, None] = {}
        while pending:
            match pending.pop(0):
                case TupleT(items):
                    pending += items
                case ListT(item):
                    pending.append(item)
                case DataT(name) if name not in out:
                    out[name] = None
                    if name in self.datatypes.optionals:
                        pending.append(self.datatypes.optionals[name])
                    else:
                        classes = self.datatypes.cases[name]
                        pending += [self.datatypes.fields[c, x] for c in classes for x in self.datatypes.field_names(c)]
        return out

    def _explain(self, span: Span) -> None:
        """Name what stayed unknown: fields, or the function called last whose result did."""
        out: list[Problem] = []
        lost = self.lost
        for (cls, name), t in self.datatypes.fields.items():
            if contains_unknown(t):
                advice = f"annotate it, as in `{name}: Annotated[Tensor, 256]`"
                out.append(Problem(span, f"the shape of `{cls.__name__}.{name}` is not known", advice))
        for key, f in self.functions.items():
            if f is None and self.lost is None:
                definition, file = source_of(key[0])
                message = f"the type of the result of `{key[0].__qualname__}` cannot be found"
                lost = Problem(span_of(definition, file), message, "a recursion needs a case that ends without it")
        if lost is not None and not out:
            out.append(lost)
        raise CompileError(
            out or [Problem(span, "the types of this model cannot be found", "annotate tensor fields with their shapes")]
        )

    # ---- calls

    def call(self, f: Frame, node: ast.AST, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """A call of a Python function of the model."""
        function = stripped(function)
        if not isinstance(function, types.FunctionType):
            return f.problem(node, f"a {type(function).__name__} cannot be compiled", "write a method or a function")
        definition, file = source_of(function)
        a = definition.args
        if strange := decorated(definition):
            return f.problem(node, strange, "write what it does into the function")
        if a.vararg or a.kwarg or a.posonlyargs:
            return f.problem(node, f"`{definition.name}` has parameters that are not in the language", "use plain parameters")
        names = [x.arg for x in (*a.args, *a.kwonlyargs)]
        defaults: dict[str, Value] = {}
        for x, value in zip(reversed(a.args), reversed(function.__defaults__ or ()), strict=False):
            defaults[x.arg] = Static(value)
        for k, value in (function.__kwdefaults__ or {}).items():
            defaults[k] = Static(value)
        implicit = int("self" in names[:1])
        values = Call(definition.name, args, kwargs, implicit).bind(*names, **defaults)
        try:
            annotated = hints(function)
            for i, name in enumerate(names):
                if name in annotated:
                    values[i] = self._accept(f, values[i], annotated[name], definition.name, name)
        except AnnotationError as error:
            self.problem(Problem(span_of(definition, file), str(error)))
            return unknown()
        owner = values[0].module if values and isinstance(values[0], Module) else None
        inout = [names.index(name) for name in changed_parameters(function, owner, self.changing)]
        inout = [i for i in inout if is_container(values[i])]
        for i in inout:
            known_type = self.grown.get((function, names[i]))
            if known_type is not None and is_unknown(values[i]):
                values[i] = f.coerce(values[i], known_type)
        if any(is_unknown(v) for i, v in enumerate(values) if i not in inout):
            return unknown()
        if function.__module__.startswith(library.__name__):  # PyTorch's flags and dimensions decide what is compiled
            values = [Fixed(known(v)[1]) if isinstance(known(v)[1], (bool, int, float)) else v for v in values]
        key = self._key(function, values)
        if key not in self.functions:
            self._compile(key, function, values)
        result = self.results.get(key, UNKNOWN)
        self.incomplete |= key in self.partial
        if any(is_unknown(values[i]) for i in inout):  # compiled to see what it does to the list
            self.incomplete = True
            self._give_back(f, node, implicit, names, {i: guess(self.grown.get((function, names[i]), UNKNOWN)) for i in inout})
            return guess(result.items[0]) if isinstance(result, TupleT) and not contains_unknown(result.items[0]) else unknown()
        if contains_unknown(result):
            self.incomplete = True
            return unknown()
        atoms = [atom for v in values for atom in self._flatten(f, v)]
        made = f.bind(n.Call(self._name(key), tuple(atoms), result, span=f.span), definition.name)
        first, *lists = [made] if not inout else f.components(made) or []
        if self.gives_new.get(key) and isinstance(first, Dyn):
            f.new_lists.add(getattr(first.atom, "name", ""))
        if not inout:
            return made
        self._give_back(f, node, implicit, names, dict(zip(inout, lists, strict=True)))
        return first

    def _give_back(self, f: Frame, node: ast.AST, implicit: int, names: Sequence[str], lists: dict[int, Value]) -> None:
        """The caller's names stand for the lists as the callee has left them. Raises Refused where others may see the list."""
        if not isinstance(node, ast.Call):
            raise Refused("a function that changes a list it is given is called by name here")
        offset = implicit if not (isinstance(node.func, ast.Name) and implicit) else 0
        for i, value in lists.items():
            at = i - offset
            written = (
                node.args[at] if at < len(node.args) else next((k.value for k in node.keywords if k.arg == names[i]), None)
            )
            if not isinstance(written, ast.Name):
                continue  # a list made for the call: nobody sees it again
            if written.id not in f.lent:
                raise Refused(
                    f"this call changes a list that may be seen under another name than `{written.id}`",
                    f"give it a list of its own: `{written.id} = list({written.id})`",
                )
            if isinstance(value, Dyn) and value.type == UNKNOWN:
                continue
            f.rebind(written.id, value)
            f.owned.add(written.id)
            f.mutated.add(written.id)

    def _accept(self, f: Frame, value: Value, annotation: Any, function: str, name: str) -> Value:
        """An argument as the parameter's annotation wants it."""
        if isinstance(value, (Module, Method)) or (
            isinstance(value, Static) and not isinstance(value.value, (int, float, type(None), tuple))
        ):
            return value
        try:
            wanted = self.datatypes.resolve(annotation)
        except AnnotationError:
            if not self.datatypes.seen:
                raise
            return value  # annotations that the compiler has no use for: the sample tells more
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
            case Fixed(v):
                return ("fixed", type(v), v)
            case Held(kind, inner):
                return (kind, self._signature(inner))
            case Dyn():
                return value.type
            case TupleV(items):
                return ("tuple", *(self._signature(v) for v in items))
            case Static(v):
                # Numbers become parameters, so that a loop's counter does not make a function per value.
                if isinstance(v, (bool, int, float)):
                    return type_of(value)
                return "static", type(v), v if isinstance(v, Hashable) else id(v)
            case Module(module=m, root=root):
                if root:
                    return "root"
                return fingerprint(m), tuple((k, a.type) for k, a in value.tensors)
            case Method(owner, name):
                return ("method", self._signature(owner), name)

    def _flatten(self, f: Frame, value: Value) -> list[n.Atom]:
        """The operands a value is passed as."""
        match value:
            case Fixed():
                return []
            case Held(value=inner):
                return self._flatten(f, inner)
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
            case Fixed(v):
                return Static(v)
            case Held(kind, inner):
                return Held(kind, self._parameter(f, inner, name, params))
            case Module(root=True):
                return value
            case Module(module=m, tensors=tensors):
                own = []
                for k, a in tensors:
                    params.append(n.Var(f.names.fresh(f"{name}.{k}"), a.type))
                    f.weights.add(params[-1].name)
                    own.append((k, params[-1]))
                return Module(m, tuple(own))
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

    def _compile(self, key: Any, function: types.FunctionType, values: Sequence[Value]) -> None:
        outer, self.incomplete = self.incomplete, False
        self._compile_body(key, function, values)
        if self.incomplete:
            self.partial.add(key)
        self.incomplete |= outer

    def _compile_body(self, key: Any, function: types.FunctionType, values: Sequence[Value]) -> None:
        self.functions[key] = None
        definition, file = source_of(function)
        span = span_of(definition, file)
        f = Frame(self, file, function.__globals__ | closure(function), definition.name)
        f.function = function
        params: list[n.Var] = []
        arguments = [*definition.args.args, *definition.args.kwonlyargs]
        for a, v in zip(arguments, values, strict=True):
            f.env[a.arg] = self._parameter(f, v, a.arg, params)
        owner = values[0].module if values and isinstance(values[0], Module) else None
        inout = [p for p in changed_parameters(function, owner, self.changing) if is_container(f.env[p])]
        f.owned |= set(inout)
        speculative = any(is_unknown(f.env[p]) for p in inout)
        self.incomplete |= speculative
        try:
            annotated = hints(function)
            wanted = (
                self.datatypes.resolve(annotated["return"])
                if annotated.get("return", type(None)) is not type(None)
                else UNKNOWN
            )
        except AnnotationError as error:
            if not self.datatypes.seen:
                self.problem(Problem(span, str(error)))
            wanted = UNKNOWN

        before = self.results.get(key, UNKNOWN)
        if inout and isinstance(before, TupleT):
            before = before.items[0]
        try:
            f.result = join_types(wanted, before)
        except Mismatch:
            f.result = wanted

        self.gives_new[key] = True

        def returns(at: ast.AST, value: Value) -> Value:
            match at:
                case ast.Return(ast.List() | ast.ListComp() | ast.BinOp()):
                    pass
                case ast.Return(ast.Name(name)) if name in f.owned and name not in inout:
                    pass
                case _:
                    self.gives_new[key] = False
            value = returned(at, value)
            if not inout:
                return value
            for p in inout:
                t = type_or_none(f.env[p])
                if t is not None and not contains_unknown(t) and self.grown.get((function, p)) != t:
                    self.grown[function, p] = t
                    self.changed = True
            return TupleV((value, *(f.env[p] for p in inout)))

        def returned(at: ast.AST, value: Value) -> Value:
            try:
                type_of(value)
                if contains_unknown(wanted) and not (is_list(value) and is_unknown(value)):
                    return value
                return f.coerce(value, wanted)
            except Mismatch as error:
                return f.problem(at, f"the result of `{definition.name}`: {error}")

        def falls() -> Value:
            if inout and not any(isinstance(x, ast.Return) and x.value is not None for x in ast.walk(definition)):
                return returns(definition, Static(None))
            if f.unmatched is not None:
                statement, case = f.unmatched
                return f.problem(statement, f"this `match` has no case for {case}", "add one, or `case _:`")
            return f.problem(
                span_of(definition.body[-1], file),
                f"`{definition.name}` can end here without `return`",
                "return a value on every path",
            )

        try:
            value = f.value_of(definition.body, Exits(falls, returns))
        except CompileError:
            raise
        except Exception as error:
            error.add_note(f"while compiling `{definition.name}`, {file}:{f.span.line}")
            raise
        old = self.results.get(key, UNKNOWN)
        try:
            found = type_of(value)
            if found is NONE:
                found = UNKNOWN
            result = join_types(old, found, numbers=True)
        except Mismatch as error:
            self.problem(Problem(span, f"the result of `{definition.name}`: {error}"))
            return
        if result != old:
            self.results[key] = result
            self.changed = True
        if speculative:
            return
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
