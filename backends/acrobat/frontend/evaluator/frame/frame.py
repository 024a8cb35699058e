"""The compilation of one function for one set of argument types: walking its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.components import TakingApartFrame
from backends.acrobat.frontend.evaluator.frame.services import Key
from backends.acrobat.frontend.evaluator.rewriting.outputs import changed_roots
from backends.acrobat.frontend.evaluator.syntax.bodies import leaves
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.order import parts_of, read_too_early
from backends.acrobat.frontend.evaluator.syntax.own_nodes import operands_of
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, LEAVING, MADE, STATEMENTS, Exits
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.kinds import is_number
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Value, unknown

REPEATED = (ast.IfExp, ast.BoolOp, ast.Compare)
"""Expressions whose parts are compiled several times, or for some instances only."""
ORDERED = (ast.Call, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.Subscript)
"""Expressions that may change a list or object, or have parts that do."""
MAKING = (ast.Call, ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp, ast.BinOp, ast.Subscript)
"""Expressions that may make a list, set or dictionary."""
IN_STEPS = (ast.IfExp, ast.BoolOp, ast.ListComp, ast.GeneratorExp)
"""Expressions that are compiled as statements where they change something."""
OUTSIDE: dict[type[ast.AST], str] = {
    ast.With: "`with`",
    ast.AsyncWith: "`async with`",
    ast.AsyncFor: "`async for`",
    ast.AsyncFunctionDef: "an `async` function",
    ast.ClassDef: "a class inside of a function",
    ast.TryStar: "`except*`",
}
"""Statements that are not in the language, as messages name them."""
ADVICE: dict[type[ast.AST], str] = {
    ast.FunctionDef: "make it a method of the model, or a function of the file",
    ast.ClassDef: "define it at the top of the file",
    ast.Global: "give the value to the functions that change it, and have them return it",
    **dict.fromkeys(
        (ast.AsyncWith, ast.AsyncFor, ast.AsyncFunctionDef), "leave `async` out: instances join batches without it"
    ),
}
"""What to write in their place."""
UNUSUAL: dict[type[ast.AST], tuple[str, str]] = {
    ast.Await: ("`await`", "leave it out: instances are batched by themselves"),
    **dict.fromkeys((ast.Yield, ast.YieldFrom), ("a `yield` with a value", "give the function what it is sent as an argument")),
}
"""Expressions that are not in the language, as messages name them, and what to write in their place."""


class Frame(TakingApartFrame):
    """Compiles one function for one set of argument types, step by step. Problems are noted, and compiling goes on."""

    def expression(self, node: ast.expr, hint: str = "") -> Value:
        """The value of `node`; a problem is noted and gives an unknown value. `hint` is a name for the value's variable."""
        self.users.update((operand, node) for operand in operands_of(node))
        with self.at(node):
            handler = EXPRESSIONS.get(type(node))
            if handler is None:
                what, advice = UNUSUAL.get(type(node), ("this expression", "LANGUAGE.md lists what is"))
                return self.problem(node, f"{what} is not in the language", advice)
            try:
                if type(node) in MAKING:
                    make = lambda: handler(self, node, hint)  # noqa: E731
                    return MADE[0](self, node, self._in_order(node, make) if type(node) in ORDERED else make())
                if type(node) in ORDERED or isinstance(node, ast.Compare) and len(node.ops) == 1:
                    return self._in_order(node, lambda: handler(self, node, hint))
                if type(node) not in REPEATED:
                    return handler(self, node, hint)
                return self.unchanging(node, lambda: handler(self, node, hint))
            except Refused as refused:
                return self.problem(node, refused.message, refused.advice)
            except (Mismatch, AnnotationError) as error:
                return self.problem(node, str(error), error.advice)

    def _in_order(self, node: ast.expr, work: Callable[[], Value]) -> Value:
        """`work()`, which compiles the expression `node`. It is a problem if one of its parts changes a list or object that an
        earlier part has read: the program would read it after the change."""
        with self.changes() as changed:
            value = work()
        self.changed_by[node] = changed
        if changed and (early := self.read_early(parts_of(node))):
            part = parts_of(node)[early[0]]
            named = self.shown(part.id) if isinstance(part, ast.Name) else f"`{ast.unparse(part)}`"
            return self.problem(node, f"{named} is changed later in the same expression", "write that as a statement before")
        return value

    def read_early(self, parts: Sequence[ast.expr]) -> list[int]:
        """As `read_too_early`, without numbers: these have the value from before the change in Python, too."""
        early = read_too_early(parts, self.changed_by)
        with self.trial():
            return [i for i in early if not is_number(self.borrowed(parts[i]))]

    def unchanging(self, node: ast.AST, work: Callable[[], Value]) -> Value:
        """`work()`, in which changing a list is a problem, because parts of `node` are compiled several times or in a branch. A
        conditional expression or comprehension that changes one is compiled as statements from the next round of compiling
        on."""
        if isinstance(node, ast.IfExp) and self.is_step_by_step(node):
            return self._as_statement(node)
        if isinstance(node, ast.BoolOp) and self.is_step_by_step(node):
            return self._operands_in_turn(node)
        with self.changes() as inside:
            value = work()
        changed = inside & set(self.env)
        if changed and isinstance(node, IN_STEPS) and not self.is_step_by_step(node):
            self.program.step_by_step.add((self.file, node.lineno, node.col_offset))
            self.program.changed = self.program.incomplete = True
            return unknown()
        if changed:
            what = "a list or field is changed in an expression of which parts are computed several times, or not at all"
            return self.problem(node, f"{what}: {self.shown(min(changed))}", "write it as a statement: a loop, or an `if`")
        return value

    def with_effects(self, node: ast.BoolOp, choice: ast.IfExp, work: Callable[[], Value]) -> Value:
        """`work()`, the truth of `node`. If its operands change a list or field, which must happen only if they are computed,
        `choice` is compiled in its place, by statements, from the next round of compiling on."""
        if self.is_step_by_step(node):
            return self._as_statement(choice)
        with self.changes() as changed:
            value = work()
        if not changed & set(self.env):
            return value
        self.program.step_by_step.add((self.file, node.lineno, node.col_offset))
        self.program.changed = self.program.incomplete = True
        return unknown()

    def is_step_by_step(self, node: ast.expr) -> bool:
        """Whether a conditional expression or comprehension is compiled as statements, because it changes a list or field."""
        return (self.file, node.lineno, node.col_offset) in self.program.step_by_step

    def _as_statement(self, node: ast.IfExp) -> Value:
        """The value of a conditional expression of which only the chosen side may have effects: an `if` that assigns it."""
        name = hidden("either", node)
        text = "if test: name = one\nelse: name = other"
        self.straight(quoted(node, text, test=node.test, name=name, one=node.body, other=node.orelse))
        return self.env.pop(name, unknown())

    def _operands_in_turn(self, node: ast.BoolOp) -> Value:
        """The value of `a or b`, or `a and b`, where `b` may have its effects only if it is computed."""
        name = hidden("operand", node)
        text = "if name: name = value" if isinstance(node.op, ast.And) else "if not name: name = value"
        self.straight(quoted(node, "name = value", name=name, value=node.values[0]))
        for value in node.values[1:]:
            self.straight(quoted(node, text, name=name, value=value))
        return self.env.pop(name, unknown())

    def note_field(self, key: Key, writes: bool) -> None:
        """Note that a field of objects that may have existed before is read or written. Raises Refused if a named iterator
        still has to read a field that is written."""
        self.program.carried.note_field(key, writes)
        if writes and any(key in read and first <= self.span.line <= last for read, first, last in self.kept_iterators):
            what = f"{self.shown(key[0])} is changed between where an iterator that reads it is made and where it is used"
            raise Refused(what, "write `list(...)` where it is made")

    def statement(self, s: ast.stmt) -> None:
        """Compile one statement that does not leave its body."""
        handler = STATEMENTS.get(type(s))
        if handler is None:
            what = OUTSIDE.get(type(s), f"`{type(s).__name__.lower()}`")
            self.problem(s, f"{what} is not in the language", ADVICE.get(type(s), "LANGUAGE.md lists the statements"))
            return
        problems = len(self.program.problems)
        try:
            handler(self, s)
        except Refused as refused:
            self.problem(s, refused.message, refused.advice)
        except (Mismatch, AnnotationError) as error:
            self.problem(s, str(error), error.advice)
        if len(self.program.problems) > problems:  # names that it would have given values to are no further problems
            for name in {x.id for x in every_node(s) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}:
                if name not in self.env and name not in self.poisoned:
                    self.env[name] = unknown()

    def straight(self, body: Sequence[ast.stmt]) -> None:
        """Compile a body that is not left early; what it assigns stays in scope."""
        for s in body:
            if self.gives_up and self.cause is not None:
                return
            self.program.work.note(self.file, s)
            with self.at(s):
                self.statement(s)

    def value_of(self, body: Sequence[ast.stmt], exits: Exits) -> Value:
        """Compile a body that may be left early. Its value is that of the exit through which it is left."""
        for i, s in enumerate(body):
            if self.gives_up and self.cause is not None:
                return unknown()
            self.program.work.note(self.file, s)
            with self.at(s):
                handler = LEAVING.get(type(s)) if leaves(s) else None
                if handler is not None:
                    try:
                        return handler(self, s, body[i + 1 :], exits)
                    except Refused as refused:
                        return self.problem(s, refused.message, refused.advice)
                    except (Mismatch, AnnotationError) as error:
                        return self.problem(s, str(error), error.advice)
                self.statement(s)
                if leaves(s):  # by a statement outside the language, whose problem is noted
                    return unknown()
        return exits.fall()

    def borrowed(self, node: ast.expr) -> Value:
        """As `expression`, for an operand to which the result keeps no reference: a name that owned its list still does."""
        name = root_of(node)
        kept = set() if name is None else claims(name) & self.owned
        if isinstance(node, (ast.Attribute, ast.Subscript)):  # of a module, or of an object that is a number: in a variable
            kept |= self._owned_states()
        before, self.ended_claims = self.ended_claims, set()
        value = self.expression(node)
        self.owned |= kept - self.ended_claims
        self.ended_claims |= before
        return value

    def changed_roots(self, nodes: Sequence[ast.AST]) -> set[str]:
        """The names of the function whose lists or objects, or parts of them, some of its nodes change."""
        parameters = self.definition.args.args if self.definition is not None else []
        model = getattr(self.env.get(parameters[0].arg) if parameters else None, "python_object", None)
        owner = None if model is None else type(model)
        return changed_roots(self.function, owner, nodes, self.program.changing) if self.function is not None else set()
