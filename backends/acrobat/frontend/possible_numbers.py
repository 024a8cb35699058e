"""Which parts of the model's result may be a number in PyTorch, where the program has a tensor.

A number becomes a tensor where it stands in a place that has tensors too (`noted_numbers.py`). Where that tensor is added to
another one, or goes through a layer, the result is a tensor in PyTorch, too. But where it is returned as it is, or what is
computed of it and of numbers alone, as `total / 2` of a `total` to which nothing was added, PyTorch returns a number. This
follows such values through the finished program, in lists, objects and functions, until nothing new is found. It may find too
many, never too few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import DataT, ListT
from backends.acrobat.frontend.filled_lists import filled_folds
from backends.acrobat.frontend.noted_numbers import Name, NotedNumbers
from backends.acrobat.frontend.types import UnionName
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import lets

ARITHMETIC = {"add", "sub", "mul", "div", "neg", "floor", "maximum", "minimum"}
"""The operations that operators of Python, `abs`, `max` and `min` are made of: of numbers they give numbers."""
ITEM, OPERAND = "item", "operand"
"""The step from a list to its items; and that to nothing, of a number that is an operand of an operation on tensors."""
INSIDE = ("Optional", "Unassigned", "Either", "Met", "Result", "Numbers")
"""The unions whose values are followed one by one. Of others, whose values may be deep, it is known what any of them holds."""

Found = Mapping[tuple[Any, ...], Span]
"""The ways to the parts of a value that may be numbers in PyTorch, each with the place where a number becomes a tensor."""
NOTHING: Found = {}


def possible_numbers(
    functions: Mapping[str, n.Function], keys: Mapping[str, Any], noted: NotedNumbers, unions: Collection[str]
) -> list[Span]:
    """The places where numbers become tensors that may be numbers in what `forward` gives. `unions` are in the type of that;
    the functions' keys are those of `noted`."""
    places = PossibleNumbers(functions, keys, noted).in_result(unions)
    if places and (filled := filled_folds(functions)):
        return PossibleNumbers(functions, keys, noted, filled).in_result(unions)
    return places


class PossibleNumbers:
    """The numbers in the values of a program's functions, whose keys are those of `noted`."""

    def __init__(
        self, functions: Mapping[str, n.Function], keys: Mapping[str, Any], noted: NotedNumbers, filled: Set[int] = frozenset()
    ) -> None:
        """`filled` has the ids of the folds that have a round in any case."""
        self.functions, self.keys, self.noted, self.filled = functions, keys, noted, filled
        self.fields: dict[tuple[str, str, int], Found] = {}  # of a case of a union, what any of its values has in a field
        self.doubtful = set(noted.doubtful)  # names that may hold a number where they say that they do not
        self.changed = False
        self._given: dict[Any, Found] = {}  # function, and what its arguments are -> what it gives
        self._seen: set[Any] = set()

    def in_result(self, unions: Collection[str]) -> list[Span]:
        """The places of those in what `forward` gives, where `unions` are in the type of that."""
        if not self.noted.numbers:
            return []
        self.changed = True
        while self.changed:
            self.changed = False
            self._seen.clear()
            found = self.given("forward", ())
        return [*found.values(), *(x for key, inside in self.fields.items() if key[0] in unions for x in inside.values())]

    def given(self, function: str, args: Sequence[Found]) -> Found:
        """Those in what a function gives for arguments with these."""
        key = (function, tuple(frozenset(a) for a in args))
        if key not in self._seen:
            self._seen.add(key)
            params = self.functions[function].params
            body = _FunctionNumbers(self, self.keys[function])
            for var, found in zip(params, args, strict=bool(args)):
                body.bind(var, found)
            self.widen(self._given, key, body.value(self.functions[function].body))
        return self._given.get(key, NOTHING)

    def widen(self, table: dict[Any, Found], key: Any, found: Found) -> None:
        """Add to what is known at a key."""
        before = table.get(key, NOTHING)
        if not found.keys() <= before.keys():
            table[key] = {**found, **before}
            self.changed = True

    def doubt(self, name: Name) -> None:
        """Note that a name may hold a number where it says that it does not."""
        self.changed |= name not in self.doubtful
        self.doubtful.add(name)

    def is_certain(self, name: Name) -> bool:
        """Whether a name holds a tensor wherever it says so."""
        key, _ = name
        return name not in self.doubtful and all(self.is_certain((key, x)) for x in self.noted.computed_from.get(name, ()))


class _FunctionNumbers:
    """The values in one function, for certain arguments."""

    def __init__(self, whole: PossibleNumbers, key: Any) -> None:
        self.whole, self.key = whole, key
        self.env: dict[str, Found] = {}  # of the variables that have some

    def bind(self, var: n.Var, found: Found) -> None:
        if not found:
            self.env.pop(var.name, None)
            return
        self.env[var.name] = found
        for name in self.whole.noted.assigned.get((self.key, var.name), ()):
            self.whole.doubt((self.key, name))

    def of(self, atom: n.Atom) -> Found:
        return self.env.get(atom.name, NOTHING) if isinstance(atom, n.Var) else NOTHING

    def value(self, expr: n.Expr) -> Found:
        """Those in the value of an expression."""
        bindings, tail = lets(expr)
        for var, bound in bindings:
            self.bind(var, self.value(bound))
        match tail:
            case n.Var():
                found = self.of(tail)
            case n.Op():
                found = self._operation(tail)
            case n.Host():
                found = self._host(tail)
            case n.Tuple(items):
                found = _parts(map(self.of, items))
            case n.Field(of, index):
                found = _inside(self.of(of), index)
            case n.ListOf(items):
                found = _together(_at(ITEM, self.of(x)) for x in items)
            case n.Construct(case, args, type):
                found = self._constructed(case, [self.of(a) for a in args], type)
            case n.Call(function, args):
                found = self.whole.given(function, [self.of(a) for a in args])
            case n.If():
                found = self._chosen(tail)
            case n.Match():
                found = self._matched(tail)
            case n.Map(var, iterable, body):
                self.bind(var, _inside(self.of(iterable), ITEM))
                found = _at(ITEM, self.value(body))
            case n.Fold() | n.Loop():
                found = self._repeated(tail)
            case _:
                return NOTHING
        return NOTHING if isinstance(tail.type, ListT) and tail.type.rows is not None else found  # there are none in a tensor

    def _operation(self, e: n.Op) -> Found:
        noted = self.whole.noted
        if id(e) in noted.numbers:
            return {(): e.span}
        if id(e) in noted.operands:
            return {(OPERAND,): e.span}
        _, args = noted.powers.get(id(e), (e, e.args if e.op in ARITHMETIC else ()))
        found = [self.of(a) for a in args if isinstance(a, n.Var)]
        if len(found) < sum(not isinstance(a, (n.Lit, type(None))) for a in args):
            return NOTHING  # a weight
        spans = [each[()] for each in found if () in each]
        return {(): spans[0]} if spans and all(() in each or (OPERAND,) in each for each in found) else NOTHING

    def _host(self, e: n.Host) -> Found:
        args = [self.of(a) for a in e.args]
        match e.op:
            case "list.get":
                return _inside(args[0], ITEM)
            case "list.append":
                return _together([args[0], _at(ITEM, args[1])])
            case "list.slice" | "list.reverse" | "list.concat" | "phase":
                return _together(args)
            case "parallel":
                return _parts(args) if len(args) > 1 else args[0]
            case "zip":
                return _at(ITEM, _parts(_inside(a, ITEM) for a in args))
            case "enumerate":
                return _at(ITEM, _at(1, _inside(args[0], ITEM)))
        return NOTHING

    def _constructed(self, case: str, args: Sequence[Found], type: Any) -> Found:
        if _is_followed(type):
            return _at(case, _parts(args))
        for i, found in enumerate(args):
            self.whole.widen(self.whole.fields, (type.name, case, i), found)
        return NOTHING

    def _chosen(self, e: n.If) -> Found:
        then, orelse = self.value(e.then), self.value(e.orelse)
        if id(e) in self.whole.noted.asked:
            _, first, names, lists = self.whole.noted.asked[id(e)]
            filled_with_tensors = not any(_inside(self.env.get(x, NOTHING), ITEM) for x in lists)
            if filled_with_tensors and all(map(self.whole.is_certain, names)):
                return orelse if first else then
        return _together([then, orelse])

    def _matched(self, e: n.Match) -> Found:
        of, type = self.of(e.value), e.value.type
        assert isinstance(type, DataT)
        found = []
        for arm in e.arms:
            for i, var in enumerate(arm.vars):
                inside = _inside(_inside(of, arm.case), i)
                self.bind(var, inside if _is_followed(type) else self.whole.fields.get((type.name, arm.case, i), NOTHING))
            found.append(self.value(arm.body))
        return _together(found)

    def _repeated(self, e: n.Fold | n.Loop) -> Found:
        """Those in the last values of a loop's variables, which may be the first ones, too, if there may be no round."""
        if isinstance(e, n.Fold):
            self.bind(e.var, _inside(self.of(e.iterable), ITEM))
        current = _parts(map(self.of, e.init))
        while True:
            for i, var in enumerate(e.vars):
                self.bind(var, _inside(current, i))
            if isinstance(e, n.Loop):
                self.value(e.cond)
            last = self.value(e.body)
            before, current = current, _together([current, last])
            if before.keys() == current.keys():
                return last if id(e) in self.whole.filled else current


def _is_followed(type: Any) -> bool:
    """Whether what a value of a union has in it is known of the value."""
    return isinstance(type, DataT) and isinstance(type.name, UnionName) and type.name.role in INSIDE


def _inside(found: Found, step: Any) -> Found:
    """Those in the part of a value to which a step leads."""
    return {way[1:]: span for way, span in found.items() if way[:1] == (step,)} if found else NOTHING


def _at(step: Any, found: Found) -> Found:
    """Those in a value of which a step leads to a part with these."""
    return {(step, *way): span for way, span in found.items()} if found else NOTHING


def _parts(parts: Iterable[Found]) -> Found:
    """Those in the tuple of values with these."""
    return _together(_at(i, found) for i, found in enumerate(parts))


def _together(several: Iterable[Found]) -> Found:
    """Those in one of several values."""
    some = [found for found in several if found]
    return {way: span for found in reversed(some) for way, span in found.items()} if some else NOTHING
