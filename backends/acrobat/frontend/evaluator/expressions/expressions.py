"""Names, constants, displays, attributes, indexing, lambdas and f-strings; other expressions have files of their own."""

from __future__ import annotations

import ast
import builtins

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.callables.nested import defaults_here
from backends.acrobat.frontend.evaluator.changes.state import assigned, may_have_none
from backends.acrobat.frontend.evaluator.choices.choice import negation
from backends.acrobat.frontend.evaluator.choices.each_type import part_for_each_type
from backends.acrobat.frontend.evaluator.conditions.conditions import truth
from backends.acrobat.frontend.evaluator.conditions.narrowing import path_of
from backends.acrobat.frontend.evaluator.containers.missing_keys import note_seen_whole
from backends.acrobat.frontend.evaluator.expressions.indexing import subscript
from backends.acrobat.frontend.evaluator.frame.arguments import constant
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.classes import alike_key, class_key
from backends.acrobat.frontend.evaluator.objects.fields import of_known_class
from backends.acrobat.frontend.evaluator.ownership.elements import note_element
from backends.acrobat.frontend.evaluator.ownership.keeping import is_tensor_of_numbers
from backends.acrobat.frontend.evaluator.ownership.ownership import (
    changeable,
    has_plain_items,
    is_unchanged,
    seen_inside,
    seen_through_view,
)
from backends.acrobat.frontend.evaluator.scalars.formatting import Shown, text_of
from backends.acrobat.frontend.evaluator.scalars.operators import unary
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden, root_of_path
from backends.acrobat.frontend.evaluator.syntax.quoting import OfPython
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.kinds import is_array, is_held_tensor, is_number, is_unknown, type_or_none, variable_of
from backends.acrobat.frontend.specials import Closure
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Held, Static, Value, unknown


@handles(EXPRESSIONS, ast.Constant)
def _constant(f: Frame, node: ast.Constant, hint: str) -> Value:
    return Static(node.value)


@handles(EXPRESSIONS, ast.Name)
def _name(f: Frame, node: ast.Name, hint: str) -> Value:
    name = node.id
    if isinstance(name, OfPython):
        return Static(getattr(builtins, name))
    if name in f.env:
        f.owned.discard(name)  # the reader may keep a reference to the list; `Frame.borrowed` undoes this
        if may_have_none(f, name):
            f.env[name] = assigned(f, node, f.env[name], name)
        note_seen_whole(f, node, f.env[name])
        return f.env[name]
    if name in f.poisoned:
        why, advice = f.poisoned[name]
        again = (name, why) in f.reported
        if not f.trials:
            f.reported.add((name, why))
        return unknown() if again else f.problem(node, f"{f.shown(name)} {why}", advice)
    if name in f.namespace:
        f.program.reads.note_global(f.function, name, f.namespace[name])
        return f.program.wrap(f.namespace[name])
    if hasattr(builtins, name):
        return Static(getattr(builtins, name))
    return f.problem(node, f"`{name}` is not defined")


@handles(EXPRESSIONS, ast.Attribute)
def _attribute(f: Frame, node: ast.Attribute, hint: str) -> Value:
    opened = f.env.get(path_of(node) or "")
    if opened is not None and not f.program.carried.is_field(node.attr):
        return opened
    if (part := part_for_each_type(f, node)) is not None:
        return part
    whole = f.borrowed(node.value)
    value = _attribute_of(f, node, whole)
    if changeable(f, type_or_none(value)) and not is_unchanged(f, type_or_none(whole), node.attr):
        seen_inside(f, node, type_or_none(value))
    if is_array(value) or is_held_tensor(value):
        seen_through_view(f, node)
    note_seen_whole(f, node, value)
    path, variable = path_of(node), variable_of(value)
    if path is not None and variable and type_or_none(value) == SYMBOL and (root := f.env.get(root_of_path(path))) is not None:
        f.read_from[variable] = path, root
    return value


def _attribute_of(f: Frame, node: ast.Attribute, whole: Value) -> Value:
    known_class = f.env.get(class_key(path_of(node.value) or ""))
    if isinstance(known_class, Static):
        alike = f.env.get(alike_key(path_of(node.value) or ""))
        return of_known_class(f, node, whole, known_class.value, node.attr, alike.value if isinstance(alike, Static) else ())
    return attribute(f, node, whole, node.attr)


@handles(EXPRESSIONS, ast.UnaryOp)
def _unary(f: Frame, node: ast.UnaryOp, hint: str) -> Value:
    if isinstance(node.op, ast.Not):
        return negation(f, truth(f, node.operand))
    read = f.expression if isinstance(node.op, ast.UAdd) else f.borrowed
    return unary(f, node, node.op, read(node.operand))


@handles(EXPRESSIONS, ast.Subscript)
def _subscript(f: Frame, node: ast.Subscript, hint: str) -> Value:
    name = root_of(node)
    alone = name is not None and deep(name) in f.owned and not any(isinstance(x, ast.Call) for x in every_node(node))
    if (part := part_for_each_type(f, node)) is not None:
        return part
    f.looked_up.add(node.value)
    whole = f.borrowed(node.value)
    owned = set(f.owned)
    value = subscript(f, node, whole, node.slice)
    note_seen_whole(f, node, value)
    if is_array(whole):
        f.owned |= owned & _indexing(f, node.slice)
    if isinstance(node.slice, ast.Slice) and has_plain_items(f, value):
        return value  # a copy
    if changeable(f, type_or_none(value)):
        seen_inside(f, node, type_or_none(value))
    elif alone:
        f.owned.add(deep(str(name)))  # `table[i][j]`: nothing refers to `table[i]` any more
    if not is_number(value) and not _copies(f, node.slice):
        seen_through_view(f, node)
        if is_array(value) and not is_array(f.env.get(name or "")):
            f.parts[variable_of(value)] = variable_of(whole)
    elif is_number(value) and is_tensor_of_numbers(whole):
        note_element(f, node, value, whole)
    return value


def _indexing(f: Frame, index: ast.expr) -> set[str]:
    """The names in an index that are tensors. The parts of a tensor that it gives do not refer to them."""
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    return {e.id for e in entries if isinstance(e, ast.Name) and is_array(f.env.get(e.id))}


def _copies(f: Frame, index: ast.expr) -> bool:
    """Whether a tensor that is indexed gives a copy of its parts: by a list, by a tensor of ints or by a mask."""
    value = f.env.get(index.id) if isinstance(index, ast.Name) else None
    return isinstance(index, ast.List) or is_array(value) or isinstance(value, Held) and value.kind in ("ids", "mask", "ones")


@handles(EXPRESSIONS, ast.Lambda)
def _lambda(f: Frame, node: ast.Lambda, hint: str) -> Value:
    if node.args.kwarg:
        return f.problem(node, "a lambda with `**` parameters is not in the language", "write a method or a function")
    written = node.args
    places = [*written.posonlyargs, *written.args, *([written.vararg] if written.vararg else []), *written.kwonlyargs]
    parameters = {a.arg for a in places}
    names = {*names_in(node.body)} - parameters
    env = {k: v for k, v in f.env.items() if k in names or is_hidden(k) and k not in f.program.carried.types}
    return Closure(node, env, f.function, f.file, defaults=defaults_here(f, written))


@handles(EXPRESSIONS, ast.NamedExpr)
def _walrus(f: Frame, node: ast.NamedExpr, hint: str) -> Value:
    return f.problem(node, "`:=` is not in the language here", "assign the value in a statement of its own")


@handles(EXPRESSIONS, ast.Starred)
def _star(f: Frame, node: ast.Starred, hint: str) -> Value:
    return f.problem(node, "`*` is not in the language", "write the elements one by one, or join lists with `+`")


@handles(EXPRESSIONS, ast.JoinedStr)
def _text(f: Frame, node: ast.JoinedStr, hint: str) -> Value:
    """An f-string. Parts that are known at run time only are strings and numbers."""
    parts: list[Shown] = []
    for part in node.values:
        match part:
            case ast.Constant(str() as text):
                parts.append(Shown(Static(text)))
            case ast.FormattedValue(inner, conversion, spec):
                value = f.expression(inner)
                how = Static("") if spec is None else f.expression(spec)
                if is_unknown(how):
                    return unknown()
                format_spec = str(constant(how, "how a value is shown in an f-string"))
                parts.append(Shown(value, format_spec, chr(conversion) if conversion != -1 else ""))
    return text_of(f, node, parts, "an f-string")
