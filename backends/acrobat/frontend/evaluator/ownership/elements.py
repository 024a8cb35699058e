"""Elements of tensors of ints, which are numbers in the program and views in PyTorch: `first = ids[0]` shows what `ids[0] = 7`
does later, and `first += 1` changes `ids`. A name for one, or a list with one in it, counts as another name for the tensor,
unless it is read no more when the tensor is changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.fresh import calls_own_function
from backends.acrobat.frontend.evaluator.ownership.keeping import (
    COLLECTING,
    SAME,
    holder,
    is_kept,
    is_tensor_of_numbers,
    written_place,
)
from backends.acrobat.frontend.evaluator.ownership.origins import sources
from backends.acrobat.frontend.evaluator.ownership.ownership import seen_through_view
from backends.acrobat.frontend.evaluator.syntax.reading import is_last_use
from backends.acrobat.frontend.kinds import is_number, variable_of
from backends.acrobat.frontend.syntax_nodes import mentions, names_in
from backends.acrobat.frontend.values import TupleV, Value, unknown

TAKING = frozenset({"pop", "popleft", "get", "setdefault", "values", "items", "copy", "unbind", "chunk", "split"})
"""Methods that give what is in the list, dictionary or tensor to which they belong."""
CHOOSING = frozenset({"reduce", "heappop", "heapreplace", "heappushpop", "nlargest", "nsmallest", "chain", "islice"})
"""Functions of Python's modules that give something of what is in their arguments."""


def note_element(f: Frame, node: ast.expr, value: Value, whole: Value) -> None:
    """Note that `value`, a number, is an element of a tensor of ints, `whole`, as `node` says: a later `+=` would change the
    tensor, and where the number is kept the tensor has another name from here on."""
    root = root_of(node)
    names = named_by(f, variable_of(whole)) | ({root} if root is not None else set())
    _note(f, node, value, names, frozenset({variable_of(whole)}))


def note_given(f: Frame, node: ast.Call, value: Value) -> None:
    """As `note_element`, of a number that a call gives, if it may be an element of a tensor: `max(ids)`, `self.first(ids)`."""
    if not is_number(value):
        return
    known = f.elements.get(variable_of(value), frozenset()) if calls_own_function(f, node) else frozenset()
    if names := shown(f, node).union(*(named_by(f, variable) for variable in known)):
        f.shown_in_result[node] = names
        _note(f, node, value, names, known)


def is_element(f: Frame, name: str) -> bool:
    """Whether the number that a name has is an element of a tensor, as far as that is known: `int(...)` gives a number of its
    own."""
    return variable_of(f.env.get(name)) in f.elements and bool(shown(f, ast.Name(name, ast.Load())))


def named_by(f: Frame, variable: str) -> set[str]:
    """The names of the tensor that a variable of the program holds."""
    return {x for x, v in f.env.items() if variable and variable_of(v) == variable and is_tensor_of_numbers(v)}


def _note(f: Frame, node: ast.expr, value: Value, tensors: Iterable[str], variables: frozenset[str]) -> None:
    """As `note_element`, of an element of the tensors that have these names, and that these variables hold."""
    if variable := variable_of(value):
        f.elements[variable] = f.elements.get(variable, frozenset()) | variables
    names = frozenset(tensors)
    if not is_kept(f, node, names):
        return
    if place := holder(f, node):
        f.holders.setdefault(place, set()).update(names)
    for name in names:
        seen_through_view(f, ast.Name(name, ast.Load()))
        if name not in f.owned:
            f.ended_claims.add(name)


def note_walked(f: Frame, target: ast.expr, iterated: ast.expr, item: Value) -> None:
    """Note the elements of tensors among what a loop over `iterated` assigns to its target in a round: `item`."""
    match iterated, target, item:
        case ast.Call(ast.Name("enumerate"), [whole, *_]), ast.Tuple([_, inner]), TupleV((_, part)):
            note_walked(f, inner, whole, part)
        case ast.Call(ast.Name("zip"), wholes), ast.Tuple(targets), TupleV(parts) if len(wholes) == len(targets) == len(parts):
            for whole, inner, part in zip(wholes, targets, parts, strict=True):
                note_walked(f, inner, whole, part)
        case _, ast.Name(name), _ if is_tensor_of_numbers(f.env.get(root_of(iterated) or "")):
            if is_number(value := f.env.get(name, unknown())):
                f.elements.setdefault(variable_of(value), frozenset())


def note_named(f: Frame, name: str, source: ast.expr) -> None:
    """Note that a name was given a number that may be an element of a tensor, as in `y = t[0] if c else t[1]`."""
    if is_number(value := f.env.get(name, unknown())) and isinstance(source, (ast.IfExp, ast.BoolOp, ast.Subscript, ast.Name)):
        variable = variable_of(value)
        if variable and variable not in f.elements and shown(f, source):
            f.elements[variable] = frozenset()


def changes_element(f: Frame, s: ast.AugAssign) -> bool:
    """Whether an assignment with an operator to an item or an attribute changes an element of a tensor that may be read later
    on, since such a one was put there."""
    target, found = s.target, set[str]()
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        found |= f.holders.get(written_place(target), set())
        target = target.value  # type: ignore[assignment]
    found |= f.holders.get(getattr(target, "id", ""), set())
    return any(not is_last_use(f.definition, s, name) for name in found)


def shown(f: Frame, node: ast.expr) -> set[str]:
    """The names of tensors of which the value of an expression may be an element, or have one in it, as far as the function's
    source tells."""
    return _shown(f, node, {}, set())


def _shown(f: Frame, node: ast.expr, bound: Mapping[str, ast.expr], asked: set[str]) -> set[str]:
    """As `shown`. `bound`: the names that a comprehension around the expression gives values, and over what it goes. `asked`:
    the names that are being looked at."""

    def of(*parts: ast.expr) -> set[str]:
        return {name for part in parts for name in _shown(f, part, bound, asked)}

    match node:
        case ast.Name(name) if name in bound:
            return _shown(f, bound[name], {k: v for k, v in bound.items() if k != name}, asked)
        case ast.Name(name):
            return _of_name(f, name, asked)
        case ast.Subscript(whole) if (root := root_of(node)) is not None and not is_tensor_of_numbers(f.env.get(root)):
            return of(whole) | ({root} if _is_tensor(f, whole) else set())
        case ast.Attribute(attr="shape" | "ndim" | "dtype" | "device"):
            return set()
        case ast.Attribute(inner):
            return of(inner) | f.holders.get(ast.unparse(node), set())
        case ast.Subscript(inner) | ast.Starred(inner) | ast.NamedExpr(_, inner):
            return of(inner)
        case ast.UnaryOp(ast.UAdd(), inner):
            return of(inner)
        case ast.IfExp(_, one, other):
            return of(one, other)
        case ast.BoolOp(values=parts) | ast.List(parts) | ast.Tuple(parts) | ast.Set(parts) | ast.Dict(values=parts):
            return of(*parts)
        case ast.BinOp(one, ast.Add() | ast.Mult(), other) if any(isinstance(x, (ast.List, ast.Tuple)) for x in (one, other)):
            return of(one, other)
        case ast.ListComp(elt, generators) | ast.GeneratorExp(elt, generators) | ast.SetComp(elt, generators):
            walked = {name: g.iter for g in generators for name in names_in(g.target)}
            return _shown(f, elt, {**bound, **walked}, asked)
        case ast.Call():
            return _of_call(f, node, of)
    return set()


def _of_name(f: Frame, name: str, asked: set[str]) -> set[str]:
    value = f.env.get(name)
    if is_tensor_of_numbers(value):
        return {name}
    found = set(f.holders.get(name, ()))
    if name in asked or f.definition is None or (variable := variable_of(value)) and variable in f.elements and found:
        return found
    asked.add(name)
    for source in sources(f.definition, name):
        if not mentions(source, name):
            found |= _shown(f, source, {}, asked)
    return found


def _of_call(f: Frame, node: ast.Call, of: Callable[..., set[str]]) -> set[str]:
    if node in f.shown_in_result:
        return set(f.shown_in_result[node])
    operands = [*node.args, *(k.value for k in node.keywords if k.arg != "key")]
    match node.func:
        case ast.Name(name) if name in COLLECTING and f.is_builtin(name) or name in CHOOSING:
            return of(*operands)
        case ast.Attribute(ast.Name("torch"), name) if name in SAME and "torch" not in f.env:
            return of(*operands[:1])
        case ast.Attribute(owner, name) if name in SAME | TAKING:
            return of(owner, *operands)
        case ast.Attribute(_, name) if name in CHOOSING:
            return of(*operands)
        case ast.Lambda():
            return of(*operands)
    return set()


def _is_tensor(f: Frame, node: ast.expr) -> bool:
    with f.trial():
        value = f.borrowed(node)
    return is_tensor_of_numbers(value)
