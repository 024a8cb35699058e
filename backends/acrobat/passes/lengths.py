"""Which lists of a function are known to have one length.

Source: our own.
"""

from __future__ import annotations

from backends.acrobat.ir.nodes import Atom, Host, Lit, Map, Var
from backends.acrobat.passes.simplify import MAX_LENGTH
from backends.acrobat.passes.variables import Variables


class Lengths:
    """The lengths of the lists of one function."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._roots: dict[str, tuple[str, list[set[str]]]] = {}  # of the lists asked about, see `_root`

    def equal(self, a: Var, b: Var) -> bool:
        """Whether two lists are known to have one length."""
        roots: list[str] = []
        equal: list[set[str]] = []
        for xs in (a, b):
            root, checked = self._root(xs)
            roots.append(root)
            equal += checked
        return roots[0] == roots[1] or set(roots) in equal

    def _root(self, xs: Atom) -> tuple[str, list[set[str]]]:
        """The list from which `xs` is made item by item, and pairs of lists whose lengths the program compares, with an error
        if they differ (`of_length` in the front end). Answers are kept: by zips of zips one list is reached on many paths."""
        if not isinstance(xs, Var):
            return "", []
        if xs.name not in self._roots:
            self._roots[xs.name] = self._search_root(xs)
        return self._roots[xs.name]

    def _search_root(self, xs: Atom) -> tuple[str, list[set[str]]]:
        """`_root` of a list that is asked about for the first time."""
        checked: list[set[str]] = []
        while isinstance(xs, Var):
            definition = self._variables.value(xs)
            if isinstance(definition, Map):
                xs = definition.iterable
                continue
            if isinstance(definition, Host) and definition.op == "list.slice" and isinstance(definition.args[2], Lit):
                lengths = self._compared_lists(definition.args[1])
                if lengths is not None and definition.args[2].value >= MAX_LENGTH:
                    checked.append({self._root(each)[0] for each in lengths})
                    xs = definition.args[0]
                    continue
            if isinstance(definition, Host) and definition.op == "zip":
                roots = [self._root(each) for each in definition.args]
                if len({root for root, _ in roots}) == 1 or {root for root, _ in roots} in [p for _, c in roots for p in c]:
                    checked += [pair for _, pairs in roots for pair in pairs]
                    xs = definition.args[0]
                    continue
            return xs.name, checked
        return "", checked

    def _compared_lists(self, start: Atom) -> tuple[Atom, Atom] | None:
        """The two lists whose lengths the number `start` compares: it raises an error if they differ, and is else 0."""
        match self._variables.value(start):
            case Host("list.get", (numbers, index)):
                match self._variables.value(numbers), self._variables.value(index):
                    case Host("range", (Lit(0), Lit(1), Lit(1))), Host("mul", (a, b)) if a == b:
                        match self._variables.value(a):
                            case Host("sub", (first, second)):
                                lengths = [self._variables.value(each) for each in (first, second)]
                                if all(isinstance(f, Host) and f.op == "list.len" for f in lengths):
                                    return lengths[0].args[0], lengths[1].args[0]  # type: ignore[union-attr]
        return None
