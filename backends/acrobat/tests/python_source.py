"""Writes a program of the core IR as the source of an ordinary PyTorch model, which the front end can read.

Unions become dataclasses, functions become methods (or static methods, functions of the module, or the `forward` of a
submodule, which may call itself and hold further submodules), maps become comprehensions or loops that append, and so on. Where
Python has several forms, `choose` takes one; among them are operations in place, if nothing else uses the operand, and integer
constants in a buffer. Everything that the generator of random programs draws has a Python form, except numbers rounded to
float32. Launches of kernels have none, so the program must not have gone through the passes.
"""

from __future__ import annotations

import importlib.util
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from backends.acrobat.core.types import INT, DataT, ListT, ScalarT, TensorT, TupleT, Type
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
from backends.acrobat.ir.tests.programs import Choose
from backends.acrobat.ir.visitor import bodies, free_vars, lets, operands, walk

HEAD = """\
from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Annotated, TypeAlias

import torch
from torch import Tensor, nn
"""
Destination = Callable[[str], str]
"""Gives the statement that uses the text of a value: an assignment or a return."""
BINARY = (
    {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%"}
    | {"bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>"}
    | {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
)


def python_source(program: Program, choose: Choose) -> str:
    """The text of a Python module with a class `Model`, whose constructor takes a dictionary of the weights' values."""
    return _Source(program, choose).text()


def load_source(text: str, folder: Path, name: str) -> ModuleType:
    """Imports `text` as the module `name`, from a file in `folder`, where the front end can read its source."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def eagerly(model: nn.Module, instance: Any) -> Any:
    """The result of the model for one instance, in eager float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            return model.double()(instance)
    finally:
        torch.set_default_dtype(before)


def moved(value: Any, module: ModuleType, dtype: torch.dtype) -> Any:
    """A copy of an instance with the classes of `module` that have the same names, and with tensors of `dtype`."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, module, dtype) for v in value)
    if is_dataclass(value):
        cls = getattr(module, type(value).__name__)
        return cls(*(moved(getattr(value, f.name), module, dtype) for f in fields(value)))
    return value


def weight_name(name: str) -> str:
    return "w_" + "".join(c if c.isalnum() else "_" for c in name)


ACTIVATIONS = {"relu": "nn.ReLU", "tanh": "nn.Tanh", "sigmoid": "nn.Sigmoid"}
"""Operations that PyTorch also has as modules."""
CHANGES = {"tanh", "sigmoid", "relu", "neg", "exp", "sqrt", "log", "add", "sub", "mul", "div"}
"""Operations with a form in PyTorch that overwrites the first operand."""
MAKERS = CHANGES | {"linear", "matmul", "softmax", "layer_norm", "maximum", "minimum"}
"""Operations whose result is a new tensor in each of their Python forms, not a view."""


class _Source:
    """Writes the Python module; holds what all its functions share."""

    def __init__(self, program: Program, choose: Choose) -> None:
        self.program, self.choose = program, choose
        self.homes: dict[str, str] = {}
        for name, f in program.functions.items():
            self.homes[name] = self._home(f)
        self.methods: dict[str, list[str]] = {"": [], **{name: [] for name, home in self.homes.items() if home == "submodule"}}
        """The lines of the methods of each class, by the function that is the class's `forward`, or "" for the model."""
        self.free: list[str] = []
        self.helpers = 0
        self.ints: list[int] = []
        """The elements of the int64 buffer `ints`, which every module has."""

    def _home(self, f: Function) -> str:
        """Where to write a function. One that uses weights or calls others needs the model or a submodule as `self`."""
        if f.name == self.program.entry:
            return "method"
        homes = ["method"]
        # A map's body may become a method, which needs `self`.
        if not any(isinstance(node, (Call, Weight, Map)) for node in walk(f.body)):
            homes += ["static", "module"]
        reached = {name for name, home in self.homes.items() if home in ("module", "submodule")}
        if _callees(f) <= reached | {f.name}:
            homes += ["submodule", "submodule"]
        return homes[self.choose(len(homes))]

    def text(self) -> str:
        for f in self.program.functions.values():
            self.add(f.name, self.homes[f.name], f.params, f.result, f.body)
        submodules = [line for name in self.methods if name for line in self._class(name)]
        return "\n".join([HEAD, *self._unions(), *self.free, *submodules, *self._class("")])

    def _class(self, function: str) -> list[str]:
        """The lines of the class of the submodule whose `forward` is `function`; with "", of the model."""
        used, held = dict.fromkeys(self.program.weights), [name for name in self.methods if name]
        if function:
            body = self.program.functions[function].body
            used = dict.fromkeys(node.name for node in walk(body) if isinstance(node, Weight))
            held = [name for name in held if name in _callees(self.program.functions[function]) - {function}]
        return [
            f"class {_class_name(function)}(nn.Module):",
            "    def __init__(self, values):",
            "        super().__init__()",
            *(f'        self.{weight_name(w)} = nn.Parameter(torch.from_numpy(values["{w}"]))' for w in used),
            *(f"        self.sub_{name} = {_class_name(name)}(values)" for name in held),
            *(f"        self.act_{op} = {cls}()" for op, cls in ACTIVATIONS.items()),
            "        self.act_relu_in_place = nn.ReLU(inplace=True)",
            f'        self.register_buffer("ints", torch.tensor({self.ints}, dtype=torch.int64))',
            "",
            *self.methods[function],
        ]

    def _unions(self) -> list[str]:
        lines = []
        for data in self.program.datatypes.values():
            if data.optional:
                continue
            for case in data.cases:
                lines += ["", "@dataclass(frozen=True)", f"class {case.name}:"]
                lines += [f"    {name}: {self.exact(t)}" for name, t in case.fields] or ["    pass"]
                lines.append("")
        for data in self.program.datatypes.values():
            if not data.optional:
                lines += ["", f"{data.name}: TypeAlias = {' | '.join(c.name for c in data.cases)}", ""]
        return lines

    # ---- types

    def exact(self, t: Type) -> str:
        """The annotation for a type, with the shapes of tensors."""
        return self.type(t, True)

    def type(self, t: Type, exact: bool = False) -> str:
        match t:
            case TensorT(shape):
                return f"Annotated[Tensor, {', '.join(map(str, shape))}]" if exact and shape else "Tensor"
            case ScalarT(kind):
                return kind
            case TupleT(items):
                return f"tuple[{', '.join(self.type(i, exact) for i in items) or '()'}]"
            case ListT(item):
                return f"list[{self.type(item, exact)}]"
            case DataT(name):
                data = self.program.datatypes[name]
                return f"{self.exact(data.case('Some').fields[0][1])} | None" if data.optional else name
        raise AssertionError(t)

    # ---- functions

    def add(self, name: str, home: str, params: Sequence[Var], result: Type, body: Expr, owner: str = "") -> None:
        """Writes a function to its place. `owner`: for a method, the function whose submodule has it, or "" for the model."""
        inside = {"method": owner, "submodule": name}.get(home)
        writer = _Body(self, body, inside)
        exact = self.choose(3) == 0 or name == self.program.entry
        heads = [f"{writer.name(p)}: {self.type(p.type, exact)}" for p in params]
        if inside is not None:
            heads = ["self", *heads]
        # The result's shapes are always given: a list may be empty on all paths, and then says nothing of its items.
        lines = [f"def {'forward' if home == 'submodule' else name}({', '.join(heads)}) -> {self.exact(result)}:"]
        lines += ["    " + line for line in writer.lines(body, lambda value: f"return {value}")]
        if home == "module":
            self.free += ["", *lines, ""]
            return
        lines = ["@staticmethod", *lines] if home == "static" else lines
        self.methods[inside or ""] += ["    " + line for line in lines] + [""]

    def called(self, function: str, inside: str | None) -> str:
        """The text that calls `function` from a method of the submodule `inside`, or of the model ("")."""
        home = self.homes[function]
        if home == "module":
            return function
        if home == "submodule":
            module = "self" if function == inside else f"self.sub_{function}"
            return self.one(module, f"{module}.forward")
        return self.one(f"self.{function}", "self") if function == self.program.entry else f"self.{function}"

    def one(self, *ways: str) -> str:
        return ways[self.choose(len(ways))]

    def helper(self) -> str:
        self.helpers += 1
        return f"each_{self.helpers}"


def _callees(f: Function) -> set[str]:
    return {node.function for node in walk(f.body) if isinstance(node, Call)}


def _class_name(function: str) -> str:
    return f"Sub_{function}" if function else "Model"


class _Body:
    """Writes the statements of one function. `inline` has the text of variables that are used once and written where they are
    used. `inside`: the submodule whose method the function is, "" for the model, None for a function without `self`."""

    def __init__(self, source: _Source, body: Expr, inside: str | None) -> None:
        self.source, self.choose, self.inside = source, source.choose, inside
        self.one = source.one
        self.inline: dict[str, str] = {}
        self.uses = Counter(node.name for node in walk(body) if isinstance(node, Var))

    # ---- statements

    def lines(self, expr: Expr, to: Destination) -> list[str]:
        """Statements that compute `expr`, and end with the statement `to(text of its value)`."""
        out: list[str] = []
        made: set[str] = set()  # variables with new tensors, which these statements may overwrite
        bindings, tail = lets(expr)
        for i, (var, value) in enumerate(bindings):
            later = [v for _, v in bindings[i + 1 :]] + [tail]
            if (changed := self._in_place(value, made)) is not None:
                out += self._changed(var, value, changed)
                made.add(var.name)
                continue
            if self._inlined(var, value, later):
                self.inline[var.name] = f"({self.value(value)})"
                continue
            out += self.statement(value, self._assigned(var, value))
            if isinstance(value, Op) and value.op in MAKERS:
                made.add(var.name)
        if isinstance(tail, ListOf) and not tail.items:  # only an annotated assignment can give its type
            empty = f"v_empty_{self.choose(2**16)}"
            return [*out, f"{empty}: {self.source.exact(tail.type)} = []", to(empty)]
        return out + self.statement(tail, to)

    def _inlined(self, var: Var, value: Expr, later: Sequence[Expr]) -> bool:
        """Whether to write a value where it is used. It must be used once, and not inside a nested body."""
        if not isinstance(value, (Op, Host, Field, Tuple, Call, Item, ListOf, Construct)) or self._untyped(value):
            return False
        direct = sum(a == var for v in later for a in operands(v)) if self.uses[var.name] == 1 else 0
        return direct == 1 and self.choose(2) == 1

    def _in_place(self, value: Expr, made: set[str]) -> str | None:
        """The name of the operand that the operation shall overwrite, or None. Nothing else may use that operand."""
        if not isinstance(value, Op) or value.op not in CHANGES or not value.args:
            return None
        first = value.args[0]
        if not isinstance(first, Var) or first.name not in made or first.type != value.type or self.uses[first.name] != 1:
            return None
        # Always for `relu`, which has the most forms in place and is rarely drawn.
        return self.name(first) if value.op == "relu" or self.choose(2) == 1 else None

    def _changed(self, var: Var, value: Expr, name: str) -> list[str]:
        """Statements that overwrite `name` with the result of the operation, and bind `var` to the same tensor."""
        assert isinstance(value, Op)
        rest = ", ".join(map(self.atom, value.args[1:]))
        ways = [f"{name}.{value.op}_({rest})"]
        if value.op == "relu":
            ways += [f"nn.functional.relu({name}, inplace=True)"]
            ways += [f"self.act_relu_in_place({name})"] if self.inside is not None else []
        change = self.one(*ways)
        new = self.name(var)
        return [f"{new} = {change}"] if self.choose(2) == 1 else [change, f"{new} = {name}"]

    def _untyped(self, value: Expr) -> bool:
        """Whether the text of a value does not determine its type: empty lists, and optionals."""
        data = self.source.program.datatypes.get(value.type.name) if isinstance(value.type, DataT) else None
        return (isinstance(value, ListOf) and not value.items) or (data is not None and data.optional)

    def _assigned(self, var: Var, value: Expr) -> Destination:
        name = self.name(var)
        if self._untyped(value):
            return lambda text: f"{name}: {self.source.exact(var.type)} = {text}"
        return lambda text: f"{name} = {text}"

    def statement(self, value: Expr, to: Destination) -> list[str]:
        match value:
            case If(cond=cond, then=then, orelse=orelse):
                if self.choose(3) == 1 and (text := self.expression(value)) is not None:
                    return [to(text)]
                rest = self.lines(orelse, to)
                if to("").startswith("return") and self.choose(2) == 1:
                    return [f"if {self.atom(cond)}:", *indented(self.lines(then, to)), *rest]
                return [f"if {self.atom(cond)}:", *indented(self.lines(then, to)), "else:", *indented(rest)]
            case Match(value=subject, arms=arms):
                return self.match(subject, arms, to)
            case Map():
                return self.map(value, to)
            case Fold(var=var, iterable=iterable):
                body = self.lines(value.body, lambda text: f"{self.targets(value.vars)} = {text}")
                loop = [f"for {self.name(var)} in {self.atom(iterable)}:", *indented(body)]
                return [*self.initial(value), *loop, to(self.display(value.vars))]
            case Loop(cond=cond):
                body = self.lines(value.body, lambda text: f"{self.targets(value.vars)} = {text}")
                if self.choose(3) > 0 and (test := self.expression(cond)) is not None:
                    loop = [f"while {test}:", *indented(body)]
                else:
                    stop = self.lines(cond, lambda text: f"if not ({text}):")
                    loop = ["while True:", *indented([*stop, "    break", *body])]
                return [*self.initial(value), *loop, to(self.display(value.vars))]
        return [to(self.value(value))]

    def initial(self, node: Fold | Loop) -> list[str]:
        return [f"{self.name(v)} = {self.atom(a)}" for v, a in zip(node.vars, node.init, strict=True)]

    def targets(self, variables: Sequence[Var]) -> str:
        return ", ".join(map(self.name, variables)) + ("," if len(variables) == 1 else "")

    def display(self, variables: Sequence[Var]) -> str:
        return f"({self.targets(variables)})"

    def match(self, subject: Atom, arms: Sequence[Arm], to: Destination) -> list[str]:
        assert isinstance(subject.type, DataT)
        data = self.source.program.datatypes[subject.type.name]
        if data.optional:
            return self.optional(subject, {arm.case: arm for arm in arms}, to)
        out = [f"match {self.atom(subject)}:"]
        for k, arm in enumerate(arms):
            names = [self.name(v) for v in arm.vars]
            if self.choose(2) == 1:
                names = [f"{f}={v}" for (f, _), v in zip(data.case(arm.case).fields, names, strict=True)]
            pattern = f"{arm.case}({', '.join(names)})"
            if not arm.vars and k and k == len(arms) - 1 and self.choose(2) == 1:
                pattern = "_"
            out += [f"    case {pattern}:", *indented(indented(self.lines(arm.body, to)))]
        return out

    def optional(self, subject: Atom, arms: Mapping[str, Arm], to: Destination) -> list[str]:
        some = arms["Some"]
        (held,) = some.vars
        if isinstance(subject, Var) and subject.name not in self.inline and self.choose(2) == 1:
            name = self.atom(subject)
            filled = indented([f"{self.name(held)} = {name}", *self.lines(some.body, to)])
            empty = indented(self.lines(arms["None"].body, to))
            if self.choose(2) == 1:
                return [f"if {name} is None:", *empty, "else:", *filled]
            return [f"if {name} is not None:", *filled, "else:", *empty]
        filled = indented(indented(self.lines(some.body, to)))
        empty = indented(indented(self.lines(arms["None"].body, to)))
        return [f"match {self.atom(subject)}:", "    case None:", *empty, f"    case {self.name(held)}:", *filled]

    def map(self, node: Map, to: Destination) -> list[str]:
        each, xs = self.name(node.var), self.atom(node.iterable)
        way = self.choose(3)
        if way > 0 and (text := self.expression(node)) is not None:
            return [to(text)]
        if way == 1:
            assert isinstance(node.type, ListT)
            captured = self.captured(node)
            helper = self.source.helper()
            self.source.add(helper, "method", (node.var, *captured), node.type.item, node.body, self.inside or "")
            arguments = ", ".join([each, *(self.name(v) for v in captured)])
            return [to(f"[self.{helper}({arguments}) for {each} in {xs}]")]
        made = f"{each}_out"
        body = self.lines(node.body, lambda text: f"{made}.append({text})")
        loop = [f"for {each} in {xs}:", *indented(body)]
        return [f"{made}: {self.source.exact(node.type)} = []", *loop, to(made)]

    def captured(self, node: Map) -> list[Var]:
        names = free_vars(node.body) - {node.var.name}
        found = {inner.name: inner for inner in walk(node.body) if isinstance(inner, Var)}
        return [found[name] for name in sorted(names)]

    # ---- expressions

    def expression(self, expr: Expr) -> str | None:
        """The text of a body as one Python expression, or None if that is impossible, as with a variable that is used twice."""
        bindings, tail = lets(expr)
        before = dict(self.inline)
        for var, value in bindings:
            if self.uses[var.name] > 1 or self._untyped(value):
                text = None
            else:
                text = self._expression(value)
            if text is None:
                self.inline = before
                return None
            self.inline[var.name] = f"({text})"
        text = None if self._untyped(tail) else self._expression(tail)
        if text is None:
            self.inline = before
        return text

    def _expression(self, value: Expr) -> str | None:
        match value:
            case If(cond=cond, then=then, orelse=orelse):
                a, b = self.expression(then), self.expression(orelse)
                return None if a is None or b is None else f"({a} if {self.atom(cond)} else {b})"
            case Map(var=var, iterable=iterable, body=body):
                inside = self.expression(body)
                return None if inside is None else f"[{inside} for {self.name(var)} in {self.atom(iterable)}]"
        return None if bodies(value) else self.value(value)

    def name(self, var: Var) -> str:
        return "v_" + "".join(c if c.isalnum() else "_" for c in var.name)

    def atom(self, atom: Atom) -> str:
        match atom:
            case Var(name):
                return self.inline.get(name) or self.name(atom)
            case Lit(value):
                return f"({value!r})" if not isinstance(value, bool) and value < 0 else repr(value)
            case Weight(name):
                return f"self.{weight_name(name)}"
        raise AssertionError(atom)

    def value(self, value: Expr) -> str:
        match value:
            case Var() | Lit() | Weight():
                return self.atom(value)
            case Op():
                return self.op(value)
            case Host():
                return self.host(value)
            case Item(tensor=t, type=ListT()):
                return f"{self.atom(t)}.tolist()"
            case Item(tensor=t):
                return f"{self.atom(t)}.item()"
            case Tuple(items=items):
                return "(" + "".join(f"{self.atom(i)}, " for i in items) + ")"
            case Field(value=pair, index=index):
                return f"{self.atom(pair)}[{index}]"
            case ListOf(items=items):
                return f"[{', '.join(map(self.atom, items))}]"
            case Construct(case=case, args=args, type=DataT(name)):
                if self.source.program.datatypes[name].optional:
                    return self.atom(args[0]) if args else "None"
                return f"{case}({', '.join(map(self.atom, args))})"
            case Call(function=function, args=args):
                return f"{self.source.called(function, self.inside)}({', '.join(map(self.atom, args))})"
        raise AssertionError(f"{type(value).__name__} has no Python form")

    def number(self, atom: Atom) -> str:
        """The text of an operand of a host operation. An int constant may be written as an element of the buffer of ints."""
        if self.inside is None or not isinstance(atom, Lit) or atom.type != INT or self.choose(4) != 1:
            return self.atom(atom)
        self.source.ints.append(int(atom.value))
        element = f"self.ints[{len(self.source.ints) - 1}]"
        return self.one(f"int({element}.item())", f"{element}.item()", f"int({element})")

    def host(self, node: Host) -> str:
        a = [self.number(x) for x in node.args]
        if node.op in BINARY:
            return f"{a[0]} {BINARY[node.op]} {a[1]}"
        match node.op:
            case "neg":
                return f"-{a[0]}"
            case "not":
                return f"not {a[0]}"
            case "list.len":
                return f"len({a[0]})"
            case "list.get":
                return f"{a[0]}[{a[1]}]"
            case "list.slice":
                return f"{a[0]}[{a[1]}:{a[2]}]"
            case "list.reverse":
                return self.one(f"{a[0]}[::-1]", f"list(reversed({a[0]}))")
            case "list.order":
                return f"sorted(range(len({a[0]})), key=lambda i: {a[0]}[i], reverse={a[1]})"
            case "list.top":
                return f"sorted(range(len({a[0]})), key=lambda i: {a[0]}[i], reverse=True)[:{a[1]}]"
            case "list.concat":
                return f"{a[0]} + {a[1]}"
            case "list.append":
                return f"{a[0]} + [{a[1]}]"
            case "range" | "zip" | "enumerate":
                return f"list({node.op}({', '.join(a)}))"
        return f"{node.op}({', '.join(a)})"

    def op(self, node: Op) -> str:
        assert isinstance(node.type, TensorT)
        a, attrs, shape = [self.atom(x) for x in node.args], dict(node.attrs), node.type.shape
        if node.op in BINARY:
            return f"{a[0]} {BINARY[node.op]} {a[1]}"
        dim = attrs.get("dim")
        match node.op:
            case "maximum" | "minimum":
                both = [f"torch.tensor(float({t}))" if isinstance(x, Lit) else t for x, t in zip(node.args, a, strict=True)]
                return f"torch.{node.op}({', '.join(both)})"
            case "neg":
                return f"-{a[0]}"
            case "gelu":
                return f"nn.functional.gelu({a[0]})"
            case "linear":
                plain = f"{a[0]} @ {a[1]}.T" + (f" + {a[2]}" if len(a) > 2 else "")
                return self.one(f"nn.functional.linear({', '.join(a)})", plain)
            case "matmul":
                return self.one(f"{a[0]} @ {a[1]}", f"torch.matmul({a[0]}, {a[1]})")
            case "cat" | "stack":
                return f"torch.{node.op}([{', '.join(a)}], dim={dim})"
            case "slice":
                start, stop = attrs["start"], attrs["stop"]
                return self.one(
                    f"{a[0]}.narrow({dim}, {start}, {stop - start})", f"{a[0]}[{':, ' * attrs['dim']}{start}:{stop}]"
                )
            case "index":
                return self.one(f"{a[0]}.select({dim}, {attrs['i']})", f"{a[0]}[{':, ' * attrs['dim']}{attrs['i']}]")
            case "reshape":
                return f"{a[0]}.reshape({', '.join(map(str, shape)) or '()'})"
            case "permute":
                return f"{a[0]}.permute({', '.join(map(str, attrs['dims']))})"
            case "softmax":
                return self.one(f"torch.softmax({a[0]}, dim={dim})", f"{a[0]}.softmax({dim})")
            case "layer_norm":
                return f"nn.functional.layer_norm({a[0]}, ({shape[-1]},), {a[1]}, {a[2]}, {attrs['eps']})"
            case "sum" | "mean" | "max":
                keep = f", keepdim={bool(attrs.get('keepdim'))}"
                return f"{a[0]}.{'amax' if node.op == 'max' else node.op}(dim={dim}{keep})"
            case "list_sum":
                if attrs.get("nonempty"):
                    return self.one(f"reduce(torch.add, {a[0]})", f"torch.stack({a[0]}).sum(0)")
                return f"sum({a[0]}, torch.zeros({', '.join(map(str, shape)) or '()'}))"
            case "list_max" | "list_min":
                return f"torch.stack({a[0]}).{'amax' if node.op == 'list_max' else 'amin'}(0)"
            case "list_attention":
                scores = f"{attrs['scale']} * (torch.stack({a[1]}) @ {a[0]})"
                return f"torch.softmax({scores}, 0) @ torch.stack({a[2]})"
            case "row":
                return f"{a[0]}[{a[1]}]"
            case "scalar":
                return f"torch.tensor(float({a[0]}))"
            case "full":
                return f"torch.full({shape}, {float(attrs['value'])})"
        module = [f"self.act_{node.op}({a[0]})"] if node.op in ACTIVATIONS and self.inside is not None else []
        return self.one(f"torch.{node.op}({a[0]})", f"{a[0]}.{node.op}()", *module)


def indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def weights_of(program: Program) -> dict[str, np.ndarray]:
    """The values that `Model` takes. They are copies, because its parameters must not share memory with the program's."""
    return {name: np.array(value) for name, value in program.values.items()}
