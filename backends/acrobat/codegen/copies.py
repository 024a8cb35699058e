"""Functions whose C++ differs in numbers only are one C++ function that gets the numbers from a table.

A layer that is specialised for the weights of each of its copies has as many functions, which differ in static depths, in units
(the weights of a unit are its own) and in what they call. The C++ compiler takes most of the time of a large model, and as much
for each copy, so that long ones are compiled once:

    at(3)  record_linear(cx, ...)      at(28)  record_linear_2(cx, ...)
    at(numbers[0])  enter_linear(cx, numbers[1], ...)      kNumbers_0 = {3, 1}, kNumbers_1 = {28, 7}

Functions are written in parts (`parts.py`), of which `Copies` compares and replaces those that are no text. Source: our own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backends.acrobat.codegen.parts import CallOf, Cpp, Number, Part, RecordOfUnit, parts_of

LONG = 10_000
"""So many characters of text has a function that is worth it: numbers from a table cost a little when the model runs."""


@dataclass(frozen=True, slots=True)
class WrittenFunction:
    """A function of the program in C++: a line of comment, the type of its result, the parameters after the session (and after
    the table), whether it has `calls` as the last one, and the lines of its body."""

    comment: str
    result: str
    params: tuple[str, ...]
    counts_calls: bool
    body: Cpp

    @property
    def length(self) -> int:
        return sum(len(part) for part in parts_of(self.body) if isinstance(part, str))

    def head(self, name: str, several: bool, declared: bool = False) -> str:
        """The head, where it is declared or defined. Callers from outside of a recursion do not count its calls."""
        calls = ["int64_t calls = 0" if declared else "int64_t calls"] if self.counts_calls else []
        numbers = ["const int* numbers"] if several else []
        return f"static {self.result} {name}({', '.join(['Session& s', *numbers, *self.params, *calls])})"


class Copies:
    """The functions of a model as C++. `functions` has them by name, as they are written; `names` has their C++ names, `units`
    those of the units by number, and `recorders` what follows the name of a function that records a call of a unit with its
    number as an argument. The function `entry` keeps its own."""

    def __init__(
        self,
        functions: Mapping[str, WrittenFunction],
        names: Mapping[str, str],
        units: Sequence[str],
        recorders: Sequence[str],
        entry: str,
    ) -> None:
        self._functions, self._names, self._units = functions, names, units
        first: dict[str, int] = {}
        self._alike = [first.setdefault(text, i) for i, text in enumerate(recorders)]  # unit -> the first recorded likewise
        self.groups = self._grouped(entry)
        self._first = {name: group[0] for group in self.groups for name in group}
        several = [name for group in self.groups if len(group) > 1 for name in group]
        self.table = {name: i for i, name in enumerate(several)}
        self._rows: dict[str, list[int]] = {}
        self._entered: set[int] = set()
        self.bodies = [self._joined(group) for group in self.groups]
        self.heads = [
            f"{functions[f].head(names[f], len(group) > 1, declared=True)};" for group in self.groups for f in group[:1]
        ]
        self.tables = [f"static const int kNumbers_{self.table[f]}[] = {_braced(row)};" for f, row in self._rows.items()]
        if several:
            self.tables.append(f"static const int* const kTables[] = {_braced(f'kNumbers_{i}' for i in range(len(several)))};")
        self.recorders = [f"static inline Tensor enter_{units[i]}{recorders[i]}" for i in sorted(self._entered)]

    def _grouped(self, entry: str) -> list[list[str]]:
        """The functions that become one each: those with one text, but for numbers, that call functions which become one."""
        groups = dict.fromkeys(self._functions, 0)
        while True:
            found: defaultdict[object, list[str]] = defaultdict(list)
            for name, f in self._functions.items():
                alone = name if name == entry or f.length < LONG else ""
                pattern = tuple(self._same(part, groups) for part in parts_of(f.body))
                found[alone, groups[name], f.result, f.params, f.counts_calls, pattern].append(name)
            if len(found) == len(set(groups.values())):
                return list(found.values())
            groups = {name: i for i, group in enumerate(found.values()) for name in group}

    def _same(self, part: Part, groups: Mapping[str, int]) -> object:
        """What must be equal in the copies of a function, of one of its parts."""
        match part:
            case Number():
                return Number
            case RecordOfUnit(unit):
                return RecordOfUnit(self._alike[unit])
            case CallOf(function):
                return groups[function]
        return part

    def _joined(self, group: Sequence[str]) -> str:
        """The C++ function of a group."""
        first, several = self._functions[group[0]], len(group) > 1
        columns: dict[tuple[int, ...], int] = {}

        def number(values: Sequence[int]) -> str:
            if len(set(values)) == 1:
                return str(values[0])
            return f"numbers[{columns.setdefault(tuple(values), len(columns))}]"

        def written(copies: Sequence[Part]) -> str:
            """The text for a part of the first function; `copies` has those in its place in all."""
            match copies[0]:
                case Number():
                    return number([x.value for x in copies if isinstance(x, Number)])
                case CallOf(function):
                    call = f"model::{self._names[self._first[function]]}(s"
                    if function not in self.table:
                        return call
                    return f"{call}, kTables[{number([self.table[x.function] for x in copies if isinstance(x, CallOf)])}]"
                case RecordOfUnit(unit):
                    units = [x.unit for x in copies if isinstance(x, RecordOfUnit)]
                    if len(set(units)) == 1:
                        return f"record_{self._units[unit]}(cx, "
                    alike = self._alike[unit]
                    self._entered.add(alike)
                    return f"enter_{self._units[alike]}(cx, {number(units)}, "
                case text:
                    return text

        body = "".join(map(written, zip(*(parts_of(self._functions[name].body) for name in group), strict=True)))
        if several:
            self._rows |= {name: [values[i] for values in columns] or [0] for i, name in enumerate(group)}
        return f"{first.comment}\n{first.head(self._names[group[0]], several)} {{\n{body}}}\n"


def _braced(items: Iterable[object]) -> str:
    return f"{{{', '.join(map(str, items))}}}"
