"""The functions of the model that are compiled, and what the rounds of compiling have found out about them."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from torch import nn

from backends.acrobat import library
from backends.acrobat.core.messages import Messages
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import DataT
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.evaluator.callables.callbacks import version_for
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import Claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.sizes import Size
from backends.acrobat.frontend.evaluator.rewriting.generator_bodies import Generator
from backends.acrobat.frontend.evaluator.rewriting.outputs import Changing, assigns_items, changes_object
from backends.acrobat.frontend.evaluator.syntax.order import Moved
from backends.acrobat.frontend.evaluator.syntax.raised import TryKey
from backends.acrobat.frontend.functions.body import FunctionBody
from backends.acrobat.frontend.functions.call import FunctionCall
from backends.acrobat.frontend.functions.carried import CarriedValues
from backends.acrobat.frontend.functions.newness import Newness
from backends.acrobat.frontend.functions.signatures import fixed, has_fixed, signature
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.instances.boundary import Symbols
from backends.acrobat.frontend.instances.datatypes import Datatypes
from backends.acrobat.frontend.kinds import is_array, is_container
from backends.acrobat.frontend.noted_numbers import NotedNumbers
from backends.acrobat.frontend.other_sequences import OtherSequences
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.source import GENERIC, decorated, is_installed, of_python, stripped
from backends.acrobat.frontend.specials import Narrowed
from backends.acrobat.frontend.syntax_nodes import Place
from backends.acrobat.frontend.types import UNKNOWN
from backends.acrobat.frontend.values import Dyn, Value
from backends.acrobat.frontend.work import Effort
from backends.acrobat.ir import nodes as n

LIBRARY = str(Path(library.__file__ or "").parent)


VERSIONS = 64
"""The most versions of a function that are compiled for different constants: a recursion that counts up would have no end."""


@dataclass(slots=True)
class Asked:
    """A user's call for which a library function is compiled; `first` is the first problem found there: (message, advice)."""

    first: tuple[str, str] | None = None


class Functions:
    """The functions compiled so far. Each round uses the types of results and fields that the one before has found."""

    module: nn.Module
    """The model."""

    def __init__(self, datatypes: Datatypes) -> None:
        self.datatypes = datatypes
        self.results: dict[Any, Any] = {}  # function key -> result type found so far
        self.problems: list[Problem] = []
        self.asked: Asked | None = None  # the user's call that the library is compiled for
        self.python: tuple[Span, str] | None = None  # the user's call, and its text, that a module of Python's is compiled for
        self.reads = Reads()
        self.changing = Changing(())  # function -> the parameters whose lists it changes
        self.gave_none: set[Any] = set()  # functions, by key, of which a round has found that they give None, and no more
        self.only_none: set[Any] = set()  # those of them of which no round has found more: for these arguments they give None
        self.raised: dict[Any, set[type]] = {}  # function -> the classes of exceptions that it raises, also in what it calls
        self.raising: set[tuple[str, Place]] = set()  # calls that raise what is caught, and are not alone in their statement
        self.followed_tries: dict[tuple[str, TryKey], Refused] = {}  # see `follow_raises`
        self.gives_iterators: set[Any] = set()  # functions that give iterators, as lists of what these give
        self.walked_of: dict[Any, set[tuple[str, bool]]] = {}  # functions -> parameters, see `lists/kept_iterators`
        self.walked_fields: set[tuple[type, str]] = set()  # attributes with lists that iterators go through which are kept
        # parameters, by their functions, that are given what stands for an iterator, and may be a list in Python
        self.may_be_lists: set[tuple[Any, str]] = set()
        self.gives_functions: set[Any] = set()  # functions that give functions, which are compiled where they are called
        self.newness: dict[Any, Newness] = {}  # function key -> whether nothing else refers to what it gives
        self.newness_known: set[Any] = set()  # function keys of which no type was missing when that was found
        self.still_owned: dict[Any, Claims] = {}  # function key -> what it leaves in `Frame.owned` of what it gives back
        self.changed_fields: set[tuple[type, str]] = set()  # attributes through which something is changed in place
        self.changed_classes: set[type] = set()  # those of objects to whose attributes something is assigned
        # where dictionaries are kept that something sees as wholes, or types of these (`missing_keys`), by the round before
        self.seen_whole: set[Any] = set()
        self.seen_whole_now: set[Any] = set()  # the same, by this round
        # the types of the numbers and tensors that the model returns, by the ways to them (`returned`), by the round before
        self.returned: dict[Any, set[Any]] = {}
        self.returned_now: dict[Any, set[Any]] = {}  # the same, by this round
        self.giving: set[Any] = set()  # the functions that give parts of the model's result (`returned`)
        self.lending: set[tuple[type, str]] = set()  # attributes that may hold something that is seen elsewhere, too
        self.versions: dict[Any, set[Any]] = {}  # function that needs constants for its numbers -> the keys of its versions
        self.endless = datatypes.endless  # those that have had more versions than are compiled
        self.sized: dict[
            Any, set[tuple[object, ...]]
        ] = {}  # function -> the numbers for which it makes tensors of fixed extents
        self.stored: dict[tuple[type, str], Span] = {}  # attributes of modules that the model assigns to -> where
        self.given_values: set[tuple[type, str]] = set()  # those of them that get a new value, not only another one by `+=`
        self.step_by_step: set[tuple[str, int, int]] = set()  # expressions that change lists, by file, line and column
        self.hints = cache(self.datatypes.hints)  # annotations do not change while the model is compiled
        self.carried = CarriedValues(self, self.path_of)
        self.recursive: set[Any] = set()  # functions that call themselves, directly or by others
        self.closing = False  # whether what is unknown in the result of a recursion is taken for what it gives (`trees`)
        self.entered: list[Any] = []  # the functions that are being compiled, from `forward` on
        self.copied: dict[Any, tuple[str, ...]] = {}  # function -> parameters of which it changes copies of its own
        self.definitions: dict[Any, ast.FunctionDef] = {}  # (function, class, attributes that are variables) -> syntax tree
        # function key -> the indices of the parameters that are as long as the list that it returns, and as each list in it
        self.lengths: dict[Any, list[int | None]] = {}
        self.sizes: dict[Any, Size] = {}  # function key -> how many elements the lists that it returns always have
        self.tuples: dict[tuple[Any, str], tuple[int, int]] = {}  # see `FunctionCall._note_tuples`
        self.lengthened: dict[tuple[Any, str], Any] = {}  # parameter whose tuples a recursion makes longer -> type of one
        self.factories: dict[str, Value] = {}  # functions that make the values for missing keys of a `defaultdict`, by place
        self.derived: dict[
            str, type
        ] = {}  # classes that add methods to lists or dictionaries, by the names that their kinds have
        self.never_filled: set[Span] = set()  # where the source makes lists and the like that nothing is ever put into
        self.learnt: dict[Any, Any] = {}  # (function key, place in the source) -> the type of a list that is made there
        self.lost_in_rounds: dict[Any, set[Any]] = {}  # place of a loop -> what only several rounds take out of `owned`
        self.passed: dict[Any, dict[Any, None]] = {}  # (function, parameter) -> the types of the lists that calls give it
        self.changed_by: dict[Any, set[str]] = {}  # function key -> names of what it gives back, changed in place
        self.moves: dict[Any, set[Moved]] = {}  # function key -> what happens in it to the items of lists outside of it
        self.grown: dict[Any, Any] = {}  # (function, parameter) -> the type of the list that it changes
        symbols = self.symbols = Symbols()
        # Executables keep `messages`, which must not refer to `self`: it would keep the module alive.
        self.messages = Messages(symbols.value)
        self.reset()

    def gives_part(self, function: Any) -> bool:
        """Whether what a function gives is the model's result, or a part of it."""
        return function is self.entered[0] or function in self.giving

    def reset(self) -> None:
        """Begin a round. Problems of the round before are dropped: they may come from types that were not complete then."""
        self.problems = []
        self.work = Effort()
        self.seen_whole, self.seen_whole_now = self.seen_whole_now, set()
        self.returned, self.returned_now = self.returned_now, {}
        self.noted = NotedNumbers()
        self.sequences, self.listed = OtherSequences("list"), OtherSequences("tuple")
        self.functions: dict[Any, n.Function | None] = {}
        self.refused: dict[Any, tuple[str, str]] = {}  # key of a library function -> the problem of its calls
        self.told_outside: dict[Span, Problem] = {}  # user's call -> what was found in the library that it calls
        self.found_in: dict[Any, list[Problem]] = {}  # function key -> the problems in it, and in what it calls
        self.names: dict[str, Any] = {}
        self.key_names: dict[Any, str] = {}
        self.newness_taken: dict[Any, Newness] = {}  # function key -> what the calls that it makes of itself take it for
        self.partial: set[Any] = set()  # keys of functions that lack types in this round
        self.kept_keys: dict[tuple[Any, str], set[str]] = {}  # (function, parameter) -> what is in the keys of kept results
        self.empties: set[Span] = set()  # where the source makes an empty list, set or dictionary whose type is not known
        self.filled: set[Span] = set()  # those of them of which the type was found later
        self.incomplete = False  # whether the function that is compiled now lacks types
        # place of a loop -> what was known of the names where it was entered, and the types and numbers of elements found then
        self.settled: dict[Any, Any] = {}
        self.lost: Problem | None = None  # a loop that could not be compiled in this round
        self.changed = False
        self.datatypes.changed = False
        self.datatypes.met.start_round()

    def problem(self, problem: Problem) -> None:
        """Note a problem. Of those found in the library, in Python's own modules or in an installed library, the first is
        reported, at the user's call; others follow from it."""
        if self.python is not None and (of_python(problem.span.file) or is_installed(problem.span.file)):
            where, name = self.python
            home = "Python's own modules" if of_python(problem.span.file) else "an installed library"
            what = f"`{name}` of {home} cannot be compiled: {problem.message}"
            told = Problem(where, what, "write a function of your own that does what is needed of it")
            problem = self.told_outside.setdefault(where, told)
        asked = self.asked
        if asked is not None and problem.span.file.startswith(LIBRARY):
            asked.first = asked.first or (problem.message, problem.advice)
            return
        if problem not in self.problems:
            self.problems.append(problem)

    @contextmanager
    def in_file(self, f: Frame, node: ast.AST, file: str) -> Iterator[None]:
        """A context for compiling a function of a file for the call `node`. Problems in Python's own modules and in installed
        libraries are told at the call that leads there from elsewhere."""
        before, installed = self.python, is_installed(file)
        if not of_python(file) and not installed:
            self.python = None
        elif before is None and isinstance(node, ast.Call) and not (installed and is_installed(f.file)):
            self.python = f.span, ast.unparse(node.func)
        try:
            yield
        finally:
            self.python = before

    def on_behalf(self, name: str, key: Any, work: Callable[[], None]) -> None:
        """Run `work`, which compiles the library function with this key for a call in the user's source. A problem found there
        is kept in `refused`, for this call and each other call with the same key; its text names the function as `name`."""
        if self.asked is not None:
            work()
            return
        self.asked = asked = Asked()
        try:
            work()
        finally:
            self.asked = None
        if asked.first is not None:
            message, advice = asked.first
            self.refused[key] = (message if name in message else f"`{name}`: {message}", advice)

    def raises(self, cls: type) -> None:
        """Note that the function that is compiled may raise exceptions of a class."""
        raised = self.raised.setdefault(self.entered[-1], set())
        self.changed |= cls not in raised
        raised.add(cls)

    def raising_in(self, file: str) -> frozenset[Place]:
        """The places in a file of calls that raise what is caught, which the next round takes out of their statements."""
        return frozenset(place for where, place in self.raising if where == file)

    def follow_raises(self, file: str, place: TryKey, refused: Refused) -> bool:
        """Have the next round follow each `raise` in a `try` that catches exceptions of Python's own, which was `refused` as a
        test for what would raise one. False if that is done already."""
        if (file, place) in self.followed_tries:
            return False
        self.followed_tries[file, place] = refused
        self.changed = self.incomplete = True
        return True

    def followed_in(self, file: str) -> frozenset[TryKey]:
        """The places in a file of the `try`s in which each `raise` is followed."""
        return frozenset(place for where, place in self.followed_tries if where == file)

    def lazy_in(self, file: str) -> dict[Place, Generator]:
        """The generators in a file that this attempt puts around the bodies of the loops over them, by the places of the
        calls."""
        return {place: made for (where, place), made in self.datatypes.lazy.items() if where == file and made is not None}

    def wrap(self, value: Any) -> Value:
        """The value of a global or closure variable of the source."""
        raise NotImplementedError

    def path_of(self, module: Any) -> str:
        """The name of a module in the model."""
        raise NotImplementedError

    def is_apart(self, owner: Any) -> bool:
        """Whether an object that an argument stands for shares its functions with no other one of its class: a module, if the
        model assigns to attributes of it or of its parts, and reads them, or keeps the module or a part in an object."""
        raise NotImplementedError

    def keep_apart(self, module: Any) -> bool:
        """Whether a module that is an argument has functions of its own, which are compiled for no other module. If it has none
        yet, it and the modules like it have them from the next round on."""
        raise NotImplementedError

    def weight_of_constants(self, name: str) -> n.Weight | None:
        """The model's buffer of ints or bools of that name as a weight, of ones and zeros for bools; None if there is none."""
        raise NotImplementedError

    def tensor_name(self, t: Any, name: str) -> str:
        """The first name of a parameter or buffer in the model; `name` for a tensor that is not part of the model."""
        raise NotImplementedError

    def annotation(self, f: Frame, node: ast.expr) -> Any:
        try:
            value = eval(compile(ast.Expression(node), f.file, "eval"), dict(f.namespace))
        except Exception as error:
            if self.datatypes.sampled:
                return UNKNOWN  # the value tells
            raise AnnotationError(f"the annotation cannot be evaluated: {error}") from error
        return self.datatypes.resolve(value)

    # ---- calls

    def call(self, f: Frame, node: ast.AST, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """The value of a call of a Python function, which is compiled first where it was not yet. Raises Refused."""
        function = stripped(function)
        if strange := decorated(function):
            return f.problem(node, strange, "write what it does into the function")
        if (generic := GENERIC.get(function)) is not None:
            self.reads.note_object(generic, "registry", generic.registry)  # type: ignore[attr-defined]
        if not isinstance(function, types.FunctionType):
            return f.problem(node, f"a {type(function).__name__} cannot be compiled", "write a method or a function")
        function, args, kwargs = version_for(f, node, function, args, kwargs)
        return FunctionCall(self, f, node, function).value(args, kwargs)

    def version(self, function: Any, values: Sequence[Value], depends: tuple[Any, ...]) -> list[Value] | None:
        """The arguments with those numbers that are known at compile time as constants, for a function that cannot be compiled
        for numbers known at run time only. None if there are none, or if the function has `VERSIONS` versions already, also in
        an attempt before."""
        constants = [fixed(v) for v in values]
        if function in self.endless or not any(map(has_fixed, constants)):
            return None
        key, versions = (*self.key(function, constants), *depends), self.versions[function]
        if key not in versions and len(versions) == VERSIONS:
            self.endless.add(function)
            return None
        versions.add(key)
        return constants

    def may_change(self, function: types.FunctionType, owner: type | None, name: str, value: Value) -> bool:
        """Whether `function`, a method of `owner` or else a function, changes in place what its parameter `name`, one of
        `changed_parameters`, has as its `value`: a list, set or dictionary, or an object of one class."""
        value = value.value if isinstance(value, Narrowed) else value
        if is_array(value):
            return assigns_items(function, name)
        union = value.type.name if isinstance(value, Dyn) and isinstance(value.type, DataT) else ""
        classes = self.datatypes.cases.get(union, ())
        if not classes or union in self.carried.unions or self.datatypes.is_referenced(union):
            return is_container(value)
        return changes_object(function, owner, name, classes, self.changing)

    def forget_results(self, function: Any) -> None:
        """Forget what is known of the types of a function's results, for arguments of any types."""
        for key in [k for k in self.results if k[0] is function]:
            del self.results[key]

    def key(self, function: Any, values: Sequence[Value]) -> Any:
        """The key of a function for these arguments. Raises Mismatch."""
        return (function, tuple(signature(v, self.is_apart) for v in values))

    def name_of(self, key: Any) -> str:
        """The name in the program of the function with this key."""
        if key not in self.key_names:
            base = key[0].__qualname__.split("<locals>.")[-1]
            name, k = base, 1
            while name in self.names:
                k += 1
                name = f"{base}_{k}"
            self.names[name] = key
            self.key_names[key] = name
        return self.key_names[key]

    # ---- functions

    def compile(self, key: Any, function: types.FunctionType, values: Sequence[Value]) -> None:
        """Compile a function for these arguments: enters its code in `functions` and the type of its result in `results`."""
        outer, self.incomplete = self.incomplete, False
        self.entered.append(function)
        FunctionBody(self, key, function, values).compile()
        self.entered.pop()
        if self.incomplete:
            self.partial.add(key)
            self.newness_known.discard(key)
        else:
            self.newness_known.add(key)
        self.incomplete |= outer
