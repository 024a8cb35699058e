"""Reads the text of `ir.printer` back: `read_program(print_program(p)) == p` for every verified program.

The types of operations are inferred, which gives the same types as in any verified program. Spans point into the text. The
program that is read has neither Python classes of cases nor values of weights, since the text has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from backends.acrobat.core.host import infer_host
from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.types import UNIT, Case, DataType, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import (
    Arm,
    Atom,
    Call,
    Construct,
    Derived,
    Expr,
    Field,
    Fold,
    Function,
    Host,
    If,
    Item,
    Launch,
    ListOf,
    Lit,
    Loop,
    Map,
    Match,
    Program,
    Tuple,
    Var,
    Weight,
)
from backends.acrobat.ir.tests.lines import TextLine
from backends.acrobat.ir.tests.unit_reader import UnitReader
from backends.acrobat.ir.visitor import Binding, from_lets


def read_program(text: str) -> Program:
    """The program that `text` is the print of. Raises ReadError."""
    return _TextReader(text).program()


class _TextReader(UnitReader):
    """Reads a program: its definitions, and the bodies of its functions when all of them are known."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.entry = "forward"
        self.datatypes: dict[str, DataType] = {}
        self.weights: dict[str, TensorT] = {}
        self.derived: dict[str, Derived] = {}
        self.headers: dict[str, Function] = {}  # of all functions, with their bodies still empty
        self.env: dict[str, Type] = {}

    def program(self) -> Program:
        bodies: list[tuple[Function, int]] = []
        while self.at < len(self.lines):
            line = self.line(0)
            match line.name():
                case "entry":
                    self.entry = line.name()
                case "type":
                    name, cases = line.name(), list[Case]()
                    line.expect("=")
                    while not cases or line.has("|"):
                        case = line.name()
                        line.expect("(")
                        cases.append(Case(case, tuple(line.many(line.named_type, ")"))))
                    self.datatypes[name] = DataType(name, tuple(cases))
                case "weight":
                    name = line.name()
                    line.expect(":")
                    self.weights[name] = line.tensor_type()
                case "derive":
                    name = line.name()
                    line.expect("=")
                    op = line.name()
                    args, attrs = line.arguments(line.name)
                    self.derived[name] = Derived(op, tuple(args), tuple(attrs.items()))
                case "kernel":
                    self.kernel(line)
                case "block":
                    self.block(line)
                case "def":
                    header = self.header(line)
                    self.headers[header.name] = header
                    bodies.append((header, self.at))
                    while self.at < len(self.lines) and self.lines[self.at].indent:
                        self.at += 1
                case word:
                    line.fail(f"expected a definition, found {word!r}")
        if self.last:
            self.last.end()
        functions = {header.name: self.function(header, at) for header, at in bodies}
        return Program(functions, self.datatypes, self.weights, self.derived, entry=self.entry)

    # ---- functions

    def header(self, line: TextLine) -> Function:
        name = line.name()
        line.expect("(")
        params = tuple(Var(n, t) for n, t in line.many(line.named_type, ")"))
        line.expect("->")
        result = line.type()
        origin = line.name() if line.has("from") else ""
        line.end()
        return Function(name, params, result, Tuple((), UNIT), span=self.span(line), origin=origin)

    def function(self, header: Function, at: int) -> Function:
        self.at = at
        self.last = None
        self.env = {p.name: p.type for p in header.params}
        body = self.chain(2)
        if self.last:
            self.last.end()
        if self.at < len(self.lines) and self.lines[self.at].indent:
            self.lines[self.at].fail("this line stands after the value of the body")
        return Function(header.name, header.params, header.result, body, span=header.span, origin=header.origin)

    def bind(self, name: str, t: Type, line: TextLine) -> Var:
        self.env[name] = t
        return Var(name, t, span=self.span(line))

    def chain(self, indent: int) -> Expr:
        """The body whose lines are indented by `indent`, nested bodies included."""
        bindings: list[Binding] = []
        while True:
            line = self.line(indent)
            if line.after.text != ":" or line.next.kind not in ("name", "quoted"):
                return from_lets(bindings, self.node(line))
            name, t = line.named_type()
            line.expect("=")
            value = self.chain(indent + 2) if line.has("begin") else self.node(line)
            bindings.append((self.bind(name, t, line), value))

    def atom(self, line: TextLine) -> Atom:
        span = self.span(line)
        if line.has("@"):
            name = line.name()
            if name not in self.weights:
                line.fail(f"there is no weight {name!r}")
            return Weight(name, self.weights[name], span=span)
        if (value := line.number()) is not None:
            return Lit(value, ScalarT(type(value).__name__), span=span)  # type: ignore[arg-type]
        name = line.name()
        if name not in self.env:
            line.fail(f"there is no variable {name!r}")
        return Var(name, self.env[name], span=span)

    def atoms(self, line: TextLine) -> tuple[Atom, ...]:
        return tuple(line.arguments(lambda: self.atom(line))[0])

    def node(self, line: TextLine) -> Expr:
        try:
            return self._node(line)
        except ShapeError as error:
            line.fail(str(error))

    def _node(self, line: TextLine) -> Expr:
        """The node that is written in the rest of `line` and in the lines indented below it."""
        for word, read in self.KEYWORDS.items():
            if line.starts(word):
                node: Expr = read(self, line)
                return node
        span = self.span(line)
        if line.has("loop"):
            return self.loop(line)
        if line.has("("):
            items = tuple(line.many(lambda: self.atom(line), ")"))
            return Tuple(items, TupleT(tuple(a.type for a in items)), span=span)
        if line.has("["):
            items = tuple(line.many(lambda: self.atom(line), "]"))
            line.expect("as")
            return ListOf(items, line.type(), span=span)
        if line.next.kind in ("name", "quoted") and line.after.text == "(":
            op = line.name()
            operands, attrs = line.arguments(lambda: self.atom(line))
            return make_op(op, operands, attrs, span)
        atom = self.atom(line)
        if line.has("["):
            index = line.count()
            line.expect("]")
            if not isinstance(atom.type, TupleT) or index >= len(atom.type.items):
                line.fail(f"there is no component {index}")
            return Field(atom, index, atom.type.items[index], span=span)
        return atom

    def host(self, line: TextLine) -> Host:
        op, args = line.name(), self.atoms(line)
        return Host(op, args, infer_host(op, [a.type for a in args]), span=self.span(line))

    def item(self, line: TextLine) -> Item:
        tensor = self.atom(line)
        line.expect("as")
        t = line.type()
        if not isinstance(t, (ScalarT, ListT)) or isinstance(t, ListT) and not isinstance(t.item, ScalarT):
            line.fail("an item is a scalar, or a list of scalars")
        return Item(tensor, t, span=self.span(line))

    def call(self, line: TextLine) -> Call:
        function = line.name()
        if function not in self.headers:
            line.fail(f"there is no function {function!r}")
        return Call(function, self.atoms(line), self.headers[function].result, span=self.span(line))

    def construct(self, line: TextLine) -> Construct:
        t, case = line.type(), line.name()
        return Construct(case, self.atoms(line), t, span=self.span(line))

    def launch(self, line: TextLine) -> Launch:
        name = line.name()
        if name not in self.units:
            line.fail(f"there is no kernel or block {name!r}")
        unit = self.units[name]
        try:
            results = unit.result_types
        except (LookupError, StopIteration):
            line.fail(f"{name!r} does not compute its results")
        return Launch(unit, self.atoms(line), results[0] if len(results) == 1 else TupleT(results), span=self.span(line))

    def branch(self, line: TextLine) -> If:
        cond = self.atom(line)
        then = self.chain(line.indent + 2)
        self.line(line.indent).expect("else")
        orelse = self.chain(line.indent + 2)
        return If(cond, then, orelse, then.type, span=self.span(line))

    def map(self, line: TextLine) -> Map:
        (var,) = self.binders(line, [line.named_type()])
        line.expect("in")
        iterable = self.atom(line)
        body = self.chain(line.indent + 2)
        return Map(var, iterable, body, ListT(body.type), span=self.span(line))

    def fold(self, line: TextLine) -> Fold:
        (var,) = self.binders(line, [line.named_type()])
        line.expect("in")
        iterable = self.atom(line)
        variables, init = self.carried(line)
        body = self.chain(line.indent + 2)
        return Fold(var, iterable, variables, init, body, TupleT(tuple(v.type for v in variables)), span=self.span(line))

    def loop(self, line: TextLine) -> Loop:
        variables, init = self.carried(line)
        self.line(line.indent).expect("while")
        condition = self.chain(line.indent + 2)
        self.line(line.indent).expect("do")
        body = self.chain(line.indent + 2)
        return Loop(variables, init, condition, body, TupleT(tuple(v.type for v in variables)), span=self.span(line))

    def match(self, line: TextLine) -> Match:
        value, arms = self.atom(line), list[Arm]()
        while (head := self.peek(line.indent + 2)) is not None:
            head = self.line(head.indent)
            case = head.name()
            head.expect("(")
            variables = self.binders(head, head.many(head.named_type, ")"))
            arms.append(Arm(case, variables, self.chain(line.indent + 4)))
        if not arms:
            line.fail("a match has no arm")
        return Match(value, tuple(arms), arms[0].body.type, span=self.span(line))

    KEYWORDS: ClassVar[dict[str, Callable[[_TextReader, TextLine], Expr]]] = {
        "host": host,
        "item": item,
        "call": call,
        "new": construct,
        "launch": launch,
        "if": branch,
        "match": match,
        "map": map,
        "fold": fold,
    }
    """The first word of a node -> what reads the rest of it."""

    def binders(self, line: TextLine, named_types: list[tuple[str, Type]]) -> tuple[Var, ...]:
        return tuple(self.bind(name, t, line) for name, t in named_types)

    def carried(self, line: TextLine) -> tuple[tuple[Var, ...], tuple[Atom, ...]]:
        """`with x: int = a, ...`"""
        named_types, init = list[tuple[str, Type]](), list[Atom]()
        while line.has("," if named_types else "with"):
            named_types.append(line.named_type())
            line.expect("=")
            init.append(self.atom(line))
        return self.binders(line, named_types), tuple(init)
