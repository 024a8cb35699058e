"""Programs as text. For tests it is read back, as the same program (`ir/tests/reader.py`).

    entry forward
    type Tree = Leaf(word: int) | Node(children: list[Tree])
    weight embedding.weight: f32[10, 4]
    derive packed = cat(embedding.weight, embedding.weight, dim=0)

    kernel cell(x: gathered f32[4], w: shared f32[4, 4])
      y: f32[4] = linear(x, w)
      return y

    def forward(tree: Tree) -> f32[4]
      h: f32[4] = match tree
        Leaf(word: int)
          row(@embedding.weight, word)
        Node(children: list[Tree])
          hs: list[f32[4]] = map child: Tree in children
            call forward(child)
          list_sum(hs, nonempty=True)
      launch cell(h, @w)

Each line of a body binds a variable, except the last, which is the body's value; nested bodies are indented below their node.
`@` marks weights, `host` operations on host values, `new` constructions; tensor operations have no prefix. Names that are no
identifiers or that are words of this language are quoted. Spans, weights' values and the Python classes of cases are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from backends.acrobat.core.types import DataT, DataType, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.core.units import Block, Kernel, Param
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import lets, walk

WORDS = frozenset(("True", "False", "inf", "nan", "begin", "loop", "groups", "return"))
"""Names that are quoted because the reader would take them for words of the language. Other words of the language need no
quotes as names: what follows a word shows whether it is a name."""
TYPES = frozenset(("list", "int", "bool", "float", "f32", "i64"))
IDENTIFIER = re.compile(r"[A-Za-z_]\w*(\.\w+)*", re.ASCII)
INDENT = "  "


def print_program(program: n.Program) -> str:
    """The whole program. Kernels and blocks stand before the functions that launch them."""
    head = [f"entry {name_text(program.entry)}"]
    head += [_datatype(d) for d in program.datatypes.values()]
    head += [f"weight {name_text(name)}: {type_text(t)}" for name, t in program.weights.items()]
    head += [
        f"derive {name_text(name)} = {_application(d.op, map(name_text, d.args), d.attrs)}"
        for name, d in program.derived.items()
    ]
    parts = ["\n".join(head)]
    parts += [_kernel(u) if isinstance(u, Kernel) else _block(u) for u in units(program.functions.values())]
    parts += [print_function(f) for f in program.functions.values()]
    return "\n\n".join(parts) + "\n"


def print_function(function: n.Function) -> str:
    origin = f" from {name_text(function.origin)}" if function.origin else ""
    head = f"def {name_text(function.name)}({_binders(function.params)}) -> {type_text(function.result)}{origin}"
    return "\n".join([head, *_indented(function.body)])


def print_expr(expr: n.Expr) -> str:
    """An expression as it would stand in a body."""
    return "\n".join(_lines(expr))


def units(functions: Iterable[n.Function]) -> list[Kernel | Block]:
    """The kernels and static blocks that the functions launch, each once, and the kernels of a block before the block."""
    seen_units: dict[Kernel | Block, None] = {}
    for function in functions:
        for node in walk(function.body):
            if isinstance(node, n.Launch):
                if isinstance(node.unit, Block):
                    seen_units.update(dict.fromkeys(step.kernel for step in node.unit.steps))
                seen_units[node.unit] = None
    return list(seen_units)


def type_text(t: Type) -> str:
    """A type as text, as in `list[f32[2, 3]]`."""
    match t:
        case TensorT(shape, dtype):
            return f"{'f32' if dtype == 'float32' else 'i64'}[{', '.join(map(str, shape))}]"
        case ScalarT(kind):
            return kind
        case TupleT(items):
            return _parenthesised([type_text(i) for i in items])
        case ListT(item):
            return f"list[{type_text(item)}]"
        case DataT(name):
            return json.dumps(name) if name in TYPES else name_text(name)


def name_text(name: str) -> str:
    """A name as it stands; quoted if it would read as something else."""
    return name if IDENTIFIER.fullmatch(name) and name not in WORDS else json.dumps(name)


def atom_text(atom: n.Atom) -> str:
    match atom:
        case n.Var(name):
            return name_text(name)
        case n.Weight(name):
            return f"@{name_text(name)}"
        case n.Lit(value):
            return repr(value)


def _datatype(d: DataType) -> str:
    cases = [
        f"{name_text(c.name)}({', '.join(f'{name_text(field)}: {type_text(t)}' for field, t in c.fields)})" for c in d.cases
    ]
    return f"type {name_text(d.name)} = {' | '.join(cases)}"


def _kernel(kernel: Kernel) -> str:
    lines = [f"kernel {name_text(kernel.name)}({_params(kernel.params)})"]
    for i in kernel.body:
        args = [name_text(a) if isinstance(a, str) else repr(a) for a in i.args]
        lines.append(f"{INDENT}{name_text(i.name)}: {type_text(i.type)} = {_application(i.op, args, i.attrs)}")
    return "\n".join([*lines, f"{INDENT}return {', '.join(map(name_text, kernel.results))}"])


def _block(block: Block) -> str:
    lines = [f"block {name_text(block.name)}({_params(block.params)})"]
    if block.groups:
        lines.append(f"{INDENT}groups {', '.join(f'{name_text(p)}: {name_text(g)}' for p, g in block.groups)}")
    for step in block.steps:
        args = [name_text(a) if isinstance(a, str) else str(a) for a in step.args]
        over = f" over {name_text(step.over)}" if step.over else ""
        lines.append(f"{INDENT}{_application(step.kernel.name, args)}{over}")
    return "\n".join([*lines, f"{INDENT}return {', '.join(map(str, block.results))}"])


def _params(params: Sequence[Param]) -> str:
    return ", ".join(f"{name_text(p.name)}: {p.mode.value} {type_text(p.type)}" for p in params)


def _indented(expr: n.Expr) -> list[str]:
    return [INDENT + line for line in _lines(expr)]


def _lines(expr: n.Expr) -> list[str]:
    bindings, result = lets(expr)
    lines = []
    for var, value in bindings:
        first, *rest = ["begin", *_indented(value)] if isinstance(value, n.Let) else _node(value)
        lines += [f"{binder_text(var)} = {first}", *rest]
    return [*lines, *_node(result)]


def _node(expr: n.Expr) -> list[str]:
    """The node's own line, then those of its bodies."""
    match expr:
        case n.Var() | n.Lit() | n.Weight():
            return [atom_text(expr)]
        case n.Op(op, args, attrs):
            return [_application(op, map(atom_text, args), attrs)]
        case n.Host(op, args):
            return [f"host {op}({', '.join(map(atom_text, args))})"]
        case n.Item(tensor, t):
            return [f"item {atom_text(tensor)} as {type_text(t)}"]
        case n.Tuple(items):
            return [_parenthesised([atom_text(a) for a in items])]
        case n.Field(value, index):
            return [f"{atom_text(value)}[{index}]"]
        case n.ListOf(items, t):
            return [f"[{', '.join(map(atom_text, items))}] as {type_text(t)}"]
        case n.Construct(case, args, t):
            return [f"new {type_text(t)} {_application(case, map(atom_text, args))}"]
        case n.Call(function, args):
            return [f"call {_application(function, map(atom_text, args))}"]
        case n.Launch(unit, args):
            return [f"launch {_application(unit.name, map(atom_text, args))}"]
        case n.If(cond, then, orelse):
            return [f"if {atom_text(cond)}", *_indented(then), "else", *_indented(orelse)]
        case n.Match(value, arms):
            lines = [f"match {atom_text(value)}"]
            for arm in arms:
                lines += [f"{INDENT}{name_text(arm.case)}({_binders(arm.vars)})"]
                lines += [INDENT + line for line in _indented(arm.body)]
            return lines
        case n.Map(var, iterable, body):
            return [f"map {binder_text(var)} in {atom_text(iterable)}", *_indented(body)]
        case n.Fold(var, iterable, variables, init, body):
            return [
                f"fold {binder_text(var)} in {atom_text(iterable)}{with_text(variables, map(atom_text, init))}",
                *_indented(body),
            ]
        case n.Loop(variables, init, cond, body):
            return [f"loop{with_text(variables, map(atom_text, init))}", "while", *_indented(cond), "do", *_indented(body)]
    raise AssertionError(f"no text for {type(expr).__name__}")


def with_text(variables: Sequence[n.Var], init: Iterable[str]) -> str:
    """The carried variables of a loop with the texts of their first values."""
    starts = [f"{binder_text(v)} = {text}" for v, text in zip(variables, init, strict=True)]
    return f" with {', '.join(starts)}" if starts else ""


def binder_text(var: n.Var) -> str:
    """A variable where it is bound, with its type."""
    return f"{name_text(var.name)}: {type_text(var.type)}"


def _binders(variables: Iterable[n.Var]) -> str:
    return ", ".join(map(binder_text, variables))


def _application(name: str, args: Iterable[str], attrs: Iterable[tuple[str, Any]] = ()) -> str:
    return f"{name_text(name)}({', '.join([*args, *(f'{k}={_attr(v)}' for k, v in attrs)])})"


def _attr(value: Any) -> str:
    if isinstance(value, tuple):
        return _parenthesised([_attr(v) for v in value])
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _parenthesised(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
