"""`zip` of modules with lists that may be shorter: `for u, (h, c) in zip(self.u_f, children)`, for a tree whose nodes have at
most as many children as there are modules. Each round is compiled for its module, and tests first whether the lists have an
element for it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.sizes import size_of
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.lists.zipping import of_modules
from backends.acrobat.frontend.evaluator.loops.endless import is_endless
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.kinds import is_list, is_unknown
from backends.acrobat.frontend.values import Static, TupleV, Value


@dataclass(frozen=True)
class _ZippedRows:
    """What a `zip` of modules and lists of the program iterates: up to `count` rows, each of one element of every argument."""

    arguments: tuple[Value, ...]
    count: int
    lengths: tuple[Value, ...]
    """The lengths of the lists that may have fewer than `count` elements."""


def is_short_zip(f: Frame, iterated: ast.expr) -> bool:
    """Whether a loop or comprehension iterates modules beside a list that may be shorter."""
    if not _names_modules(f, iterated):
        return False
    with f.trial():
        return _parts(f, iterated) is not None
    return False


def guarded(f: Frame, s: ast.For) -> tuple[TupleV, ast.For] | None:
    """A loop over modules beside lists that may be shorter, as the numbers of its rounds and a loop over these whose body first
    tests whether the lists have an element for the round. None for other loops. Raises Refused."""
    if not is_short_zip(f, s.iter):
        return None
    zip_parts = _parts(f, s.iter)
    assert zip_parts is not None
    rows, start = zip_parts
    name = hidden("round", s)
    number = ast.Name(name, ast.Load())
    tests: list[ast.expr] = [ast.Compare(CompiledNode(n), [ast.Gt()], [number]) for n in rows.lengths]
    item: ast.expr = ast.Tuple([ast.Subscript(CompiledNode(v), number, ast.Load()) for v in rows.arguments], ast.Load())
    if start is not None:
        item = ast.Tuple([ast.BinOp(number, ast.Add(), start), item], ast.Load())
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    text = "for number in iterable:\n    if test:\n        target = item\n        body"
    (loop,) = quoted(s, text, number=name, iterable=s.iter, test=test, target=s.target, item=item, body=s.body)
    assert isinstance(loop, ast.For)
    return TupleV(tuple(map(Static, range(rows.count)))), loop


def _zip_of(f: Frame, node: ast.expr) -> tuple[ast.Call, ast.expr | None] | None:
    """The call of `zip` that an expression is, alone or in `enumerate`, and the number with which `enumerate` begins."""
    match node:
        case ast.Call(ast.Name("zip"), [_, _, *_], words) if "zip" not in f.env:
            return (node, None) if [ast.unparse(k) for k in words] in ([], ["strict=False"]) else None
        case ast.Call(ast.Name("enumerate"), [ast.Call() as call, *start], []) if "enumerate" not in f.env and len(start) < 2:
            inner = _zip_of(f, call)
            return (inner[0], start[0] if start else ast.Constant(0)) if inner is not None and inner[1] is None else None
    return None


def _names_modules(f: Frame, node: ast.expr) -> bool:
    """Whether one argument of the `zip` is a list of modules, which has a name; found without compiling the others."""
    zip_call = _zip_of(f, node)
    if zip_call is None or any(isinstance(a, ast.Starred) for a in zip_call[0].args):
        return False
    with f.trial():
        named = [f.borrowed(a) for a in zip_call[0].args if isinstance(a, (ast.Name, ast.Attribute, ast.Subscript))]
        return any(isinstance(xs, TupleV) and of_modules(xs) for v in named for xs in [_iterated(f, v)])
    return False


def _iterated(f: Frame, value: Value) -> Value | None:
    """What a value iterates, if it is a tuple or a list of the program."""
    return None if is_endless(value) or is_unknown(value) else iterable(f, value)


def _parts(f: Frame, node: ast.expr) -> tuple[_ZippedRows, ast.expr | None] | None:
    """The rows that an expression iterates, and the number with which `enumerate` begins; None where no list may be shorter."""
    zip_call = _zip_of(f, node)
    assert zip_call is not None
    lists = [_iterated(f, f.borrowed(a)) for a in zip_call[0].args]
    if not all(isinstance(xs, TupleV) or is_list(xs) and not is_unknown(xs) for xs in lists if xs is not None) or None in lists:
        return None
    each = [xs for xs in lists if xs is not None]
    sizes = [len(xs.items) if isinstance(xs, TupleV) else size_of(f, xs) for xs in each]
    known = [size for size in sizes if size is not None]
    if not known or not any(isinstance(xs, TupleV) and of_modules(xs) for xs in each):
        return None
    lengths = [length(f, xs) for xs, size in zip(each, sizes, strict=True) if size is None]
    return (_ZippedRows(tuple(each), min(known), tuple(lengths)), zip_call[1]) if lengths else None
