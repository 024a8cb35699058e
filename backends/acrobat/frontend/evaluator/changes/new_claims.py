"""Which names alone refer to their list, object or tensor after an assignment."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.core.types import ScalarT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.changes import state
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, deep, each_claim, spine
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.referenced import claims_on_objects
from backends.acrobat.frontend.evaluator.ownership.elements import note_named
from backends.acrobat.frontend.evaluator.ownership.fresh import (
    calls_own_function,
    fresh,
    fresh_inside,
    gives_new_memory,
    lists_alone,
    parted,
)
from backends.acrobat.frontend.evaluator.ownership.ownership import holds_parts, is_handed_over, is_unchanged
from backends.acrobat.frontend.evaluator.ownership.passing_names import is_passing
from backends.acrobat.frontend.evaluator.syntax.reading import is_last_use
from backends.acrobat.frontend.evaluator.tables import OWNERS
from backends.acrobat.frontend.kinds import is_array, is_held_tensor, is_number, is_object, type_or_none, variable_of
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.tensor_types import innermost
from backends.acrobat.frontend.values import Value, is_empty, unknown


def own(f: Frame, target: ast.expr, source: ast.expr) -> None:
    """Update `Frame.owned` after `target = source`: a name that was given a new list, object or tensor alone refers to it."""
    match source:
        case ast.Call(ast.Attribute(seen, "items" | "keys" | "values"), []) if not is_object(f.env.get(root_of(seen) or "")):
            f.owned -= claims(root_of(seen) or "")  # a name for what is in a dictionary shows what is put into it later
    match target, source:
        case ast.Tuple(targets), ast.Tuple(sources) if len(targets) == len(sources):
            for t, s in zip(targets, sources, strict=True):
                own(f, t, s)
        case ast.Tuple(targets) | ast.List(targets), ast.Call() if len(parts := f.new_parts.get(source, ())) == len(targets):
            names = names_in(target)
            for t, new in zip(targets, parts, strict=True):
                if isinstance(t, ast.Name) and is_number(f.env.get(t.id, unknown())) and not new.whole:
                    f.elements.setdefault(variable_of(f.env[t.id]), frozenset())
                if isinstance(t, ast.Name) and new.whole and names.count(t.id) == 1:
                    f.owned |= {t.id} if holds_parts(f, f.env.get(t.id)) and not new.inside else claims(t.id)
                elif isinstance(t, ast.Name) and new.given == t.id and names.count(t.id) == 1:
                    f.owned.add(t.id)  # `seq, score = self.put(seq, i)`, which gives the tensor that it has changed
        case ast.Name(name), ast.Call() if f.gives_name.get(source) == name:
            f.owned.add(name)
        case ast.Name(name), _ if name in f.env and is_number(
            f.env[name]
        ):  # as a tensor in its place, it will be one of its own
            f.owned.add(name)
            note_named(f, name, source)
        case ast.Name(name), _ if fresh(f, source, f.env.get(name)):
            f.owned.add(name)
            owner_variable = variable_of(f.env.get(name))
            if (
                not holds_parts(f, f.env.get(name))
                or is_empty(f.env[name])
                or deep(owner_variable) in f.new_lists
                or fresh_inside(f, source, type_or_none(f.env[name]))
            ):
                f.owned |= {deep(name), spine(name)}
            elif source in f.made_with_own_lists or not is_object(f.env[name]) and lists_alone(f, source, f.env[name]):
                f.owned.add(spine(name))
        case ast.Attribute(), _ if variable := state.variable_assigned(f, target):
            own(f, ast.Name(variable, ast.Store()), source)
        case ast.Attribute() | ast.Subscript(), _:
            root = root_of(target) or ""
            if root in f.owned and not fresh_inside(f, source) and not _put_unchanged(f, target):
                f.owned.discard(deep(root))
                if spine(root) in f.owned and not _lets_lists_alone(f, source):
                    f.owned.discard(spine(root))
        case ast.Name(name), ast.Call() if (new := variable_of(f.env.get(name))) in f.new_lists:
            f.owned |= claims(name) if deep(new) in f.new_lists else {name}
        case ast.Name(name), ast.Call(ast.Attribute(ast.Call() as made, method)) if (
            method.endswith("_") and not method.endswith("__") and _is_memory(f.env.get(name))
        ):  # such as `torch.empty(3).fill_(1)`, which gives the tensor that it has changed
            own(f, target, made)
        case ast.Name(name), ast.Call(ast.Attribute(attr=callee) | ast.Name(callee)) if callee in OWNERS:
            if _is_memory(f.env.get(name)) and not calls_own_function(f, source):
                f.owned.add(name)
        case _, ast.Call() if gives_new_memory(f, source):
            targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            f.owned |= {x.id for x in targets if isinstance(x, ast.Name) and _is_memory(f.env.get(x.id))}
        case ast.Name(name), ast.Subscript() | ast.Attribute() | ast.IfExp() if _is_memory(
            f.env.get(name)
        ) and gives_new_memory(f, source):
            f.owned.add(name)
        case ast.Name(name), ast.Call() | ast.Subscript() if _may_be_view(f.env.get(name)):
            f.owned -= {x.id for x in every_node(source) if isinstance(x, ast.Name) and is_held_tensor(f.env.get(x.id))}


def _may_be_view(value: Value | None) -> bool:
    """Whether a value may show the memory of a mask or of a tensor of ints."""
    return is_held_tensor(value) or is_array(value) and isinstance(innermost(type_or_none(value)), ScalarT)  # type: ignore[arg-type]


def _is_memory(value: Value | None) -> bool:
    """Whether a value is a tensor, in whatever form the program has it."""
    return is_array(value) or is_held_tensor(value)


def _put_unchanged(f: Frame, target: ast.expr) -> bool:
    """Whether a target is an attribute through which the program never changes anything."""
    if not isinstance(target, ast.Attribute):
        return False
    with f.trial():
        whole = f.borrowed(target.value)
    return is_unchanged(f, type_or_none(whole), target.attr)


def hand_over(f: Frame, s: ast.Assign, owned: Claims, shown: Sequence[str]) -> None:
    """Update `Frame.owned` after `target = name`, if nothing reads `name` any more: its claims pass to the target. `owned` is
    `Frame.owned` from before the statement, and `shown` the names of tensors of one of which the statement assigns a view."""
    match s.targets:
        case [ast.Name(new)]:
            for tensor in shown:
                if tensor not in owned or names_in(s.value).count(tensor) > 1:
                    continue
                if len(shown) == 1 and not isinstance(s.value, ast.IfExp) and _is_last(f, s, new, tensor):
                    f.owned.add(new)
                elif new != tensor and is_passing(f, s, new, tensor):
                    f.owned.add(tensor)
    match s:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(sources)) if len(targets) == len(sources):
            pairs = list(zip(targets, sources, strict=True))
        case ast.Assign([target]):
            pairs = [(target, s.value)]
        case _:
            return
    names = names_in(s.value)
    for target, source in pairs:
        new = target.id if isinstance(target, ast.Name) else state.variable_assigned(f, target)
        if new and isinstance(source, ast.Name) and source.id in owned and names.count(source.id) == 1:
            if is_last_use(f.definition, s, source.id):
                f.owned |= {one for one, other in zip(each_claim(new), each_claim(source.id), strict=True) if other in owned}
        elif isinstance(target, (ast.Attribute, ast.Subscript)) and is_handed_over(f, s, source, owned):
            f.owned |= (claims(root_of(target) or "") | claims_on_objects(f, target)) & owned


def divided(f: Frame, s: ast.Assign, owned: Claims) -> list[str]:
    """The names to which `a, b = x.chunk(2)` and the like give the parts of a tensor, if nothing else shows it any more: each
    of them alone refers to its part then. `owned` is `Frame.owned` from before the statement."""
    match s.targets:
        case [ast.Tuple(targets) | ast.List(targets)] if all(isinstance(t, ast.Name) for t in targets):
            names = [x.id for x in targets if isinstance(x, ast.Name)]
        case _:
            return []
    whole = parted(f, s.value)
    if whole is None or len({*names}) < len(names):
        return []
    if isinstance(whole, ast.Name):
        alone = whole.id in owned and names_in(s.value).count(whole.id) == 1
        return names if alone and (whole.id in names or is_last_use(f.definition, s, whole.id)) else []
    return names if gives_new_memory(f, whole) else []


def _is_last(f: Frame, s: ast.Assign, new: str, tensor: str) -> bool:
    """Whether the name of a tensor does not stand for it any more once the statement has assigned a view of it to `new`."""
    return new == tensor or is_last_use(f.definition, s, tensor)


def _lets_lists_alone(f: Frame, source: ast.expr) -> bool:
    """Whether the value of an expression can become a part of another value without any list in it being seen under another
    name."""
    with f.trial():
        return lists_alone(f, source, f.expression(source))
