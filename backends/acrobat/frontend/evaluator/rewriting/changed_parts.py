"""Names for parts of tensors that are changed in place: `row = t[i]`, then `row += x`, is compiled as `t[i] += x`, and
`for row in t: row.mul_(2)` as a loop over the indices of `t`. For this the function itself makes `t`, by a call that is known
to give a tensor, and the index is an int by the look of it: what another tensor chooses of a tensor is a copy."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.changing_methods import changes_owner, root_of
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted_expression, replaced
from backends.acrobat.frontend.evaluator.syntax.reading import is_own, live_after
from backends.acrobat.frontend.syntax_nodes import every_node, is_variable, mentions, names_in

MAKERS = {
    "zeros",
    "ones",
    "empty",
    "full",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "cat",
    "stack",
    "tensor",
    "eye",
}
MAKERS |= {"arange", "linspace", "clone", "matmul", "einsum", "softmax", "sigmoid", "tanh", "relu", "exp"}
"""Functions of torch that give one new tensor."""
MAKING = {"new_empty", "new_zeros", "new_ones", "new_full", "new_tensor"}
"""Methods of tensors that do so, which no other class is likely to have."""
KEEPING = {"view", "float", "reshape", "to", "unsqueeze", "squeeze", "repeat", "long", "t", "fill_", "zero_"}
"""Methods of tensors that give one tensor."""


def with_changed_parts(definition: ast.FunctionDef, body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a function without such names. Gives `body` itself where there are none."""
    nodes = [x for s in body for x in every_node(s)]
    tensors = _tensors(nodes)
    if not tensors or any(isinstance(x, (ast.Try, ast.Yield, ast.YieldFrom)) for x in nodes):
        return body
    whole = ast.copy_location(ast.FunctionDef(definition.name, definition.args, body, [], None), definition)
    return _Parts(whole, tensors, _ints(nodes)).rewritten(body)


class _Parts:
    """Rewrites the bodies of a function: `tensors` and `ints` are the names that are only ever given such."""

    def __init__(self, definition: ast.FunctionDef, tensors: set[str], ints: set[str]) -> None:
        self.definition = definition
        self.tensors = {name for name in tensors if is_own(definition, name)}
        self.ints = ints

    def rewritten(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a body, with those inside of them."""
        for at, s in enumerate(body):
            match s:
                case ast.Assign([ast.Name(name)], ast.Subscript(ast.Name(tensor), index) as part) if self._names_part(
                    tensor, index
                ):
                    end = next((k for k in range(at + 1, len(body)) if _assigns(body[k], name)), len(body))
                    region = body[at + 1 : end]
                    if self._is_changed(region, name, part) and not self._live(body, end, name):
                        inside = [_with_part(x, name, part) for x in region]
                        last = [_with_part(x, name, part) for x in body[end : end + 1]]
                        return self.rewritten([*body[:at], ast.copy_location(ast.Pass(), s), *inside, *last, *body[end + 1 :]])
                case ast.For(iter=ast.Name(tensor) | ast.Call(ast.Name("enumerate"), [ast.Name(tensor)], []), orelse=[]) if (
                    tensor in self.tensors and (loop := self._by_index(s, tensor)) is not None
                ):
                    return self.rewritten([*body[:at], loop, *body[at + 1 :]])
        result = [self._inside(s) for s in body]
        return body if all(new is old for new, old in zip(result, body, strict=True)) else result

    def _inside(self, s: ast.stmt) -> ast.stmt:
        """A statement with its own bodies rewritten."""
        if not isinstance(s, (ast.If, ast.For, ast.While, ast.With)):
            return s
        inner = {field: self.rewritten(getattr(s, field)) for field in ("body", "orelse") if getattr(s, field, None)}
        if all(new is getattr(s, field) for field, new in inner.items()):
            return s
        result = type(s)(**{field: inner.get(field, value) for field, value in ast.iter_fields(s)})
        return ast.copy_location(result, s)

    def _names_part(self, tensor: str, index: ast.expr) -> bool:
        """Whether an item of a tensor is a view of it, by the look of the index."""
        entries = index.elts if isinstance(index, ast.Tuple) else [index]
        bounds = [b for e in entries if isinstance(e, ast.Slice) for b in (e.lower, e.upper, e.step) if b is not None]
        return tensor in self.tensors and all(
            self._is_int(e) for e in (*bounds, *(e for e in entries if not isinstance(e, ast.Slice)))
        )

    def _is_int(self, e: ast.expr) -> bool:
        match e:
            case ast.Constant(int()):
                return not isinstance(e.value, bool)
            case ast.Name(name):
                return name in self.ints
            case ast.UnaryOp(ast.USub(), operand):
                return self._is_int(operand)
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), right):
                return self._is_int(left) and self._is_int(right)
        return False

    def _is_changed(self, region: Sequence[ast.stmt], name: str, part: ast.Subscript) -> bool:
        """Whether the statements change in place what a name stands for, and it stands for that part of the tensor throughout:
        neither it nor the tensor nor a name in the index is given another value."""
        nodes = [x for s in region for x in every_node(s)]
        augmented = [x.target for x in nodes if isinstance(x, ast.AugAssign) and is_variable(x.target, name)]
        if not is_own(self.definition, name) or len(mentions(region, name, ast.Store, ast.Del)) != len(augmented):
            return False
        tensor = root_of(part)
        in_place = [x.target for x in nodes if isinstance(x, ast.AugAssign)]
        stored = [x for x in nodes if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load)]
        if any(x.id in names_in(part.slice) or x.id == tensor and x not in in_place for x in stored):
            return False
        return bool(augmented) or any(_changes(x, name) for x in nodes)

    def _live(self, body: Sequence[ast.stmt], end: int, name: str) -> bool:
        """Whether a name may still be read behind the statements of a body before the one at `end`, which gives it another
        value if there is one."""
        return end == len(body) and live_after(self.definition.body, body[-1], name)

    def _by_index(self, s: ast.For, tensor: str) -> ast.For | None:
        """A loop over a tensor that changes its parts as one over their indices; None for other loops."""
        match s.target, s.iter:
            case ast.Tuple([ast.Name(index), ast.Name(name)]), ast.Call():
                target: ast.expr = ast.copy_location(ast.Name(index, ast.Store()), s.target)
            case ast.Name(name), ast.Name():
                target = ast.copy_location(ast.Name(index := hidden("row", s), ast.Store()), s.target)
            case _:
                return None
        at = ast.copy_location(ast.Name(index, ast.Load()), s.target)
        part = ast.copy_location(ast.Subscript(copied(s.iter if isinstance(s.iter, ast.Name) else s.iter.args[0]), at), s.iter)  # type: ignore[attr-defined]
        part.ctx = ast.Load()
        if not self._is_changed(s.body, name, part) or live_after(self.definition.body, s, name):
            return None
        rows = quoted_expression(s.iter, "range(len(rows))", rows=part.value)
        self.ints.add(index)
        return ast.copy_location(ast.For(target, rows, [_with_part(x, name, part) for x in s.body], [], None), s)


def _assigns(s: ast.stmt, name: str) -> bool:
    return isinstance(s, ast.Assign) and len(s.targets) == 1 and is_variable(s.targets[0], name)


def _changes(x: ast.AST, name: str) -> bool:
    """Whether a node changes in place what a name stands for, or a part of it."""
    match x:
        case ast.Subscript(ctx=ast.Store()):
            return root_of(x) == name
        case ast.Call(ast.Attribute(owner, method)):
            return method.endswith("_") and changes_owner(method) and root_of(owner) == name
    return False


def _with_part(s: ast.stmt, name: str, part: ast.Subscript) -> ast.stmt:
    """A statement with the part of the tensor in place of its name, but for where that is given another value."""

    def written_out(node: ast.AST) -> ast.AST:
        match node:
            case ast.Name(id, ast.Load()) if id == name:
                return ast.copy_location(copied(part), node)
            case ast.AugAssign(ast.Name(id) as target) if id == name:
                new = copied(part)
                new.ctx = ast.Store()
                node.target = ast.copy_location(new, target)
        return node

    result = replaced(s, written_out)
    assert isinstance(result, ast.stmt)
    return result


def _tensors(nodes: Sequence[ast.AST]) -> set[str]:
    """The names to which all assignments give a new tensor, or change it."""
    given = [x.targets[0] for x in nodes if isinstance(x, ast.Assign) and len(x.targets) == 1 and _makes_tensor(x.value)]
    changed = [x.target for x in nodes if isinstance(x, ast.AugAssign)]
    return _only_in(nodes, given, changed)


def _ints(nodes: Sequence[ast.AST]) -> set[str]:
    """The names to which all assignments give an int."""
    given: list[ast.expr] = []
    for x in nodes:
        match x:
            case ast.Assign([target], value) | ast.AugAssign(target, _, value) if _gives_int(value):
                given.append(target)
            case ast.For(target, ast.Call(ast.Name("range"))) | ast.For(
                ast.Tuple([target, *_]), ast.Call(ast.Name("enumerate"))
            ):
                given.append(target)
    return _only_in(nodes, given, [])


def _only_in(nodes: Sequence[ast.AST], given: Sequence[ast.expr], changed: Sequence[ast.expr]) -> set[str]:
    """The names among the targets `given` that stand as targets nowhere but there and among those `changed`."""
    known = {*given, *changed}
    others = {x.id for x in nodes if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load) and x not in known}
    others |= {x.name for x in nodes if isinstance(x, (ast.MatchAs, ast.MatchStar, ast.FunctionDef)) and x.name}
    return {x.id for x in given if isinstance(x, ast.Name)} - others


def _makes_tensor(value: ast.expr) -> bool:
    match value:
        case ast.BinOp(left, _, right):
            return _makes_tensor(left) or _makes_tensor(right)
        case ast.Call(ast.Attribute(ast.Name("torch" | "F"), function)):
            return function in MAKERS
        case ast.Call(ast.Attribute(owner, method)):
            return method in MAKING or method in KEEPING and _makes_tensor(owner)
    return False


def _gives_int(value: ast.expr) -> bool:
    match value:
        case ast.Constant(constant):
            return type(constant) is int
        case ast.Call(ast.Name(function)):
            return function in ("len", "int")
    return False
