"""Functions whose C++ differs in numbers only are one C++ function that gets the numbers from a table.

A layer that is specialised for the weights of each of its copies has as many functions, which differ in static depths, in units
(the weights of a unit are its own) and in what they call. The C++ compiler takes most of the time of a large model, and as much
for each copy, so that long ones are compiled once:

    at(3)  record_linear(cx, ...)      at(28)  record_linear_2(cx, ...)
    at(numbers[0])  enter_linear(cx, numbers[1], ...)      kNumbers_0 = {3, 1}, kNumbers_1 = {28, 7}

Functions are written with marks around such numbers and names, which `Copies` replaces. Source: our own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

NUMBER, RECORD, CALL, HEAD = "\x01", "\x02", "\x03", "\x04"
"""What stands on both sides of a number, of a unit's number, of the function that is called, and of one in its own head."""
MARKED = re.compile("|".join(f"{mark}([^{mark}]+){mark}" for mark in (NUMBER, RECORD, CALL, HEAD)))
LONG = 10_000
"""So many characters has a function that is worth it: numbers from a table cost a little when the model runs."""


def marked(mark: str, what: object) -> str:
    """`what` between two marks."""
    return f"{mark}{what}{mark}"


class Copies:
    """The functions of a model as C++. `texts` has them by name, as they are written, each with a line of comment first;
    `names` has their C++ names, `units` those of the units by number, and `recorders` the text of a function that records a
    call of a unit with its number as an argument, without its name. The function `entry` keeps its own."""

    def __init__(
        self, texts: Mapping[str, str], names: Mapping[str, str], units: Sequence[str], recorders: Sequence[str], entry: str
    ) -> None:
        self._texts, self._names, self._units = texts, names, units
        first: dict[str, int] = {}
        self._alike = [first.setdefault(text, i) for i, text in enumerate(recorders)]  # unit -> the first recorded likewise
        self.groups = self._grouped(entry)
        self._first = {name: group[0] for group in self.groups for name in group}
        several = [name for group in self.groups if len(group) > 1 for name in group]
        self.table = {name: i for i, name in enumerate(several)}
        self._rows: dict[str, list[int]] = {}
        self._entered: set[int] = set()
        self.bodies = [self._joined(group) for group in self.groups]
        self.heads = [_declared(body.split("\n", 2)[1]) for body in self.bodies]
        self.tables = [f"static const int kNumbers_{self.table[f]}[] = {_braced(row)};" for f, row in self._rows.items()]
        if several:
            self.tables.append(f"static const int* const kTables[] = {_braced(f'kNumbers_{i}' for i in range(len(several)))};")
        self.recorders = [recorders[i].replace("(", f" enter_{units[i]}(", 1) for i in sorted(self._entered)]

    def _grouped(self, entry: str) -> list[list[str]]:
        """The functions that become one each: those with one text, but for numbers, that call functions which become one."""
        groups = dict.fromkeys(self._texts, 0)
        while True:
            found: defaultdict[object, list[str]] = defaultdict(list)
            for name, text in self._texts.items():
                alone = name if name == entry or len(text) < LONG else ""
                found[alone, groups[name], self._pattern(text, groups)].append(name)
            if len(found) == len(set(groups.values())):
                return list(found.values())
            groups = {name: i for i, group in enumerate(found.values()) for name in group}

    def _pattern(self, text: str, groups: Mapping[str, int]) -> str:
        """The text of a function without its comment, in which stands for each number what must be equal in its copies."""

        def replaced(match: re.Match[str]) -> str:
            number, unit, called, _ = match.groups()
            if unit is not None:
                return f"{RECORD}{self._alike[int(unit)]}"
            return NUMBER if number is not None else f"{CALL}{groups[called]}" if called is not None else HEAD

        return MARKED.sub(replaced, text.split("\n", 1)[1])

    def _joined(self, group: Sequence[str]) -> str:
        """The C++ function of a group."""
        several = len(group) > 1
        columns: dict[tuple[int, ...], int] = {}
        found = zip(*(MARKED.finditer(self._texts[name].split("\n", 1)[1]) for name in group), strict=True)

        def number(values: Sequence[int]) -> str:
            if len(set(values)) == 1:
                return str(values[0])
            return f"numbers[{columns.setdefault(tuple(values), len(columns))}]"

        def replaced(_: re.Match[str]) -> str:
            numbers, units, called, heads = zip(*(m.groups() for m in next(found)), strict=True)
            if heads[0] is not None:
                return f"{self._names[group[0]]}(Session& s{', const int* numbers' if several else ''}"
            if numbers[0] is not None:
                return number([*map(int, numbers)])
            if called[0] is not None:
                name = self._names[self._first[called[0]]]
                if called[0] not in self.table:
                    return f"model::{name}(s"
                return f"model::{name}(s, kTables[{number([self.table[f] for f in called])}]"
            if len(set(units)) == 1:
                return f"record_{self._units[int(units[0])]}(cx, "
            alike = self._alike[int(units[0])]
            self._entered.add(alike)
            return f"enter_{self._units[alike]}(cx, {number([*map(int, units)])}, "

        comment, text = self._texts[group[0]].split("\n", 1)
        joined = MARKED.sub(replaced, text)
        if several:
            self._rows |= {name: [values[i] for values in columns] or [0] for i, name in enumerate(group)}
        return f"{comment}\n{joined}"


def _declared(head: str) -> str:
    """The declaration of a function that begins with this line. Callers from outside of a recursion do not count its calls."""
    return head.removesuffix(" {").replace("int64_t calls)", "int64_t calls = 0)") + ";"


def _braced(items: Iterable[object]) -> str:
    return f"{{{', '.join(map(str, items))}}}"
