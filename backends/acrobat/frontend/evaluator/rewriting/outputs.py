"""Parameters whose lists or objects a function changes: the compiled function returns the new ones beside its result.

The source shows which these are: those on which a method that changes lists is called, to an item or attribute of which a value
is assigned, or that are passed on as such a parameter of another function.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from backends.acrobat.frontend.changing_methods import CHANGING, changes_owner, root_of
from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.evaluator.rewriting.meanings import is_receiver, meanings
from backends.acrobat.frontend.evaluator.syntax.hidden_names import Path
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes_of
from backends.acrobat.frontend.evaluator.tables import CHANGE_FIRST
from backends.acrobat.frontend.source import LIFTED, source_of, static_attribute, stripped
from backends.acrobat.frontend.syntax_nodes import every_node, parameter_names


def changed_parameters(function: types.FunctionType, owner: type | None, known: Changing) -> tuple[str, ...]:
    """The names of the parameters whose lists or objects `function` changes, in order. `owner` is the class of the object whose
    method it is, or None; `known` is a cache of results, by function."""
    function = stripped(function)
    if function in known:
        return known[function]
    if known.assumed is not None:
        return _assumed(function, owner, known, known.assumed)
    assumed = known.assumed = dict[Any, tuple[str, ...]]()
    try:
        before = None
        while before != assumed:  # functions that call each other change what any of them changes
            before = dict(assumed)
            known.visited = set()
            _assumed(function, owner, known, assumed)
        known |= assumed
    finally:
        known.assumed = None
    return known[function]


def _assumed(
    function: types.FunctionType, owner: type | None, known: Changing, assumed: dict[Any, tuple[str, ...]]
) -> tuple[str, ...]:
    """As `changed_parameters`, with what is known so far of functions that are still being analysed: in each iteration of the
    analysis each function is analysed once."""
    if function not in known.visited:
        known.visited.add(function)
        assumed[function] = _changed(function, owner, known)
    return assumed.get(function, ())


def _changed(function: types.FunctionType, owner: type | None, known: Changing) -> tuple[str, ...]:
    """`changed_parameters` by a look at the function's source, and at what is known of the functions that it calls."""
    definition = plainly(source_of(function)[0])
    parameters = parameter_names(definition)
    rebound = {
        name.id
        for s in every_node(definition)
        if isinstance(s, (ast.Assign, ast.AnnAssign, ast.For))
        for target in (s.targets if isinstance(s, ast.Assign) else [s.target])
        for name in every_node(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    changed = set(nonlocals(definition))
    rebound -= changed
    others = LIFTED[function].others if function in LIFTED else ()
    for other in others:
        changed |= nonlocals(other)
    changed |= changed_roots(function, owner, (definition, *map(plainly, others)), known)
    changed |= LIFTED[function].changes if function in LIFTED else frozenset()
    return tuple(p for p in parameters if p in changed - rebound)


def changed_values(
    function: types.FunctionType, owner: type | None, known: Changing, is_changed_by_reading: Callable[[str], bool]
) -> tuple[str, ...]:
    """As `changed_parameters`, where a loop over a parameter, or looking up an entry of it, also changes it if it is an
    iterator or a dictionary that keeps what it gives for missing keys (`is_changed_by_reading`)."""
    always = changed_parameters(function, owner, known)
    return tuple(p for p in changed_parameters(function, owner, known.by_reading) if p in always or is_changed_by_reading(p))


def changes_object(
    function: types.FunctionType, owner: type | None, name: str, classes: Sequence[type], known: Changing
) -> bool:
    """Whether `function` also changes its parameter `name`, one of `changed_parameters`, if that is an object of one of
    `classes`: `hyp.extend(x)` changes a list, but for an object it calls a method of its class, which may change nothing."""
    if not any(_have_method(classes, method) for method in CHANGING):
        return True
    others = LIFTED[function].others if function in LIFTED else ()
    nodes = [plainly(d) for d in (source_of(function)[0], *others)]
    return name in nonlocals(nodes[0]) or name in changed_roots(function, owner, nodes, known, {name: classes})


def changed_roots(
    function: types.FunctionType,
    owner: type | None,
    nodes: Sequence[ast.AST],
    known: Changing,
    objects: Mapping[str, Sequence[type]] = MappingProxyType({}),
) -> set[str]:
    """The names of `function` whose lists or objects, or parts of them, some of its nodes change; other parameters are those of
    `changed_parameters`. Of names that are objects, `objects` has the classes."""
    changed: set[str] = set()
    for node in (x for d in nodes for x in every_node(d)):
        match node:
            case ast.Subscript() | ast.Attribute() if isinstance(node.ctx, ast.Store):
                changed.add(str(root_of(node)))
            case ast.Call(ast.Attribute(ast.Name(name), method)) if _have_method(objects.get(name), method):
                for cls in objects[name]:
                    changed |= _changed_by_one(node, node.func, (static_attribute(cls, method), True, cls), known)
            case ast.Call(ast.Attribute(path, method)) if method in CHANGING:
                changed.add(str(root_of(path)))
            case ast.Call(callee, [first, *_]) if _named_in(function, callee) in CHANGE_FIRST:
                changed.add(str(root_of(first)))
            case ast.For(iter=ast.Name(name)) | ast.Subscript(ast.Name(name)) if known is known.by_reading:
                changed.add(name)
            case ast.Call(callee):
                for meant in meanings(function, owner, callee):
                    changed |= _changed_by_call(function, owner, node, meant, known)
    return changed


def _have_method(classes: Sequence[type] | None, name: str) -> bool:
    """Whether all of `classes` have a method of that name which the source defines."""
    return bool(classes) and all(_of_source(static_attribute(c, name)) for c in classes or ())


def _of_source(function: Any) -> bool:
    """Whether a function is one of the model's source."""
    return (
        isinstance(function, types.FunctionType)
        and not function.__module__.startswith(CHANGE_NO_ARGUMENTS)
        and function.__code__.co_filename.endswith(".py")
    )


def _changed_by_call(
    function: types.FunctionType, owner: type | None, call: ast.Call, callee: ast.expr, known: Changing
) -> set[str]:
    """The names of `function` whose lists or objects a call may change; `callee` is what it calls."""
    is_method = owner is not None and any(isinstance(a, ast.Name) and is_receiver(function, a.id) for a in call.args[:1])
    if isinstance(callee, ast.Name) and not is_method:  # its first parameter is no object of that class
        owner = None
    resolved = _resolved(function, owner, callee, known)
    return {name for target in resolved for name in _changed_by_one(call, callee, target, known)}


def _changed_by_one(
    call: ast.Call, callee: ast.expr, called: tuple[types.FunctionType, bool, type | None], known: Changing
) -> set[str]:
    """The names whose lists or objects a call changes if it calls one of `called`, the functions as `_resolved` gives them."""
    target, bound, cls = called
    inner = changed_parameters(target, cls, known)
    names = [a.arg for a in source_of(target)[0].args.args]
    changed: set[str] = set()
    if bound:
        if isinstance(callee, ast.Attribute) and names[:1] and names[0] in inner:
            changed.add(str(root_of(callee.value)))
        names = names[1:]
    changed |= {str(root_of(a)) for a, p in zip(call.args, names, strict=False) if p in inner}
    return changed | {str(root_of(k.value)) for k in call.keywords if k.arg in inner}


def _named_in(function: types.FunctionType, callee: ast.expr) -> types.BuiltinFunctionType | None:
    """The function written in C that a callee such as `heapq.heappush` names in the file of `function`; None for others."""
    match callee:
        case ast.Name(name):
            target = function.__globals__.get(name, getattr(builtins, name, None))
        case ast.Attribute(ast.Name(module), name) if isinstance(function.__globals__.get(module), types.ModuleType):
            target = getattr(function.__globals__[module], name, None)
        case _:
            return None
    return target if isinstance(target, types.BuiltinFunctionType) else None


def nonlocals(definition: ast.FunctionDef) -> set[str]:
    """The names that a function declares `nonlocal`, functions inside of it aside, and the variables it assigns that stand for
    attributes of an object whose `__init__` it is in."""
    own = [*own_nodes_of(definition)]
    paths = {x.id for x in own if isinstance(x, ast.Name) and isinstance(x.id, Path) and isinstance(x.ctx, ast.Store)}
    return paths | {name for x in own if isinstance(x, ast.Nonlocal) for name in x.names}


def given_back(function: types.FunctionType) -> set[str]:
    """The names that a nested function, or one that it calls, declares `nonlocal`: their values always become results."""
    if function not in LIFTED:
        return set()
    return set().union(*map(nonlocals, (LIFTED[function].definition, *LIFTED[function].others)))


def changed_in_place(function: types.FunctionType, name: str) -> bool:
    """Whether a nested function, or one that it calls, changes what a `nonlocal` name refers to, and not the name alone."""
    if function not in LIFTED:
        return False
    for x in (x for d in (LIFTED[function].definition, *LIFTED[function].others) for x in every_node(d)):
        match x:
            case ast.AugAssign(ast.Name(target)) if target == name:
                return True
            case ast.Call(ast.Attribute(owner, method)) if changes_owner(method) and root_of(owner) == name:
                return True
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store()) if root_of(x) == name:
                return True
    return False


def assigns_items(function: types.FunctionType, name: str) -> bool:
    """Whether a function assigns to items or slices of its parameter `name`, as `seq[:, 0] = 1` does."""
    stored = (x for x in own_nodes_of(plainly(source_of(function)[0])) if isinstance(x, ast.Subscript))
    return any(isinstance(x.ctx, ast.Store) and isinstance(x.value, ast.Name) and x.value.id == name for x in stored)


def changes_in_place(function: types.FunctionType, owner: type | None, name: str, known: Changing) -> bool:
    """As `changed_in_place`, where also a function of the source that is given the value may change it."""
    others = LIFTED[function].others if function in LIFTED else ()
    nodes = [plainly(d) for d in (source_of(function)[0], *others)]
    return changed_in_place(function, name) or name in changed_roots(function, owner, nodes, known)


def _resolved(
    function: types.FunctionType, owner: type | None, callee: ast.expr, known: Changing
) -> list[tuple[types.FunctionType, bool, type | None]]:
    """The functions that a call may mean, judged by the name, each with whether it is a method, and of which class: a global of
    the file, a method of the same object, the methods of that name of all classes among the file's globals, or `forward` of
    modules of the model."""
    targets: list[tuple[Any, bool, type | None]] = []
    match callee:
        case ast.Name(name):
            named = function.__globals__.get(name)
            targets = [(stripped(named) if isinstance(named, types.FunctionType) else named, False, owner)]
        case ast.Attribute(ast.Name(me), name) if owner is not None and is_receiver(function, me):
            targets = [(static_attribute(owner, name), True, owner)]
        case ast.Attribute(_, name):
            classes = [v for v in function.__globals__.values() if isinstance(v, type) and name in dir(v)]
            targets = [(static_attribute(c, name), True, c) for c in classes]
    if not any(callable(t) or isinstance(t, staticmethod) for t, _, _ in targets):
        targets = [(c.forward, True, c) for c in known.called(function, owner, callee)]
    # The first parameter of a static method is no object of its class.
    targets = [(t.__func__, False, None) if isinstance(t, staticmethod) else (t, bound, c) for t, bound, c in targets]
    return [(t, bound, c) for t, bound, c in targets if _of_source(t)]


class Changing(dict[Any, tuple[str, ...]]):
    """The parameters that each function changes, as far as they are known; and the model's modules, which calls may mean.

    While functions are analysed, `assumed` has what is known of them so far, and `visited` those that this iteration has
    analysed. `by_reading` is the same for arguments that are changed by loops over them and by looking up their entries.
    """

    def __init__(self, modules: Sequence[Any], by_reading: bool = False) -> None:
        super().__init__()
        self.by_reading = self if by_reading else Changing(modules, True)
        self.modules = modules
        self.assumed: dict[Any, tuple[str, ...]] | None = None
        self.visited: set[Any] = set()

    def called(self, function: types.FunctionType, owner: type | None, callee: ast.expr) -> list[Any]:
        """The classes of the modules that `callee`, which is no function or method of the source, may be: those of that name,
        or all for a variable or an item."""
        match callee:
            case ast.Attribute(path, name):
                mine = owner is not None and isinstance(path, ast.Name) and is_receiver(function, path.id)
                outer = [m for m in self.modules if not mine or isinstance(m, owner)]  # type: ignore[arg-type]
                modules = [m._modules[name] for m in outer if name in m._modules]
            case ast.Subscript():
                modules = list(self.modules)
            case ast.Name(name) if name not in function.__globals__ and not hasattr(builtins, name):
                modules = list(self.modules)
            case _:
                modules = []
        return list(dict.fromkeys(type(m) for m in modules if m is not None))


CHANGE_NO_ARGUMENTS = ("torch", "collections", "enum", "typing", "dataclasses", "abc")
"""Modules whose functions change nothing that a model gives them."""
