"""Values that exist while a function is compiled only: functions, methods, slices and the like, with the few uses of each."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar

from backends.acrobat.core.types import Type
from backends.acrobat.frontend.kinds import type_of
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Dyn, Special, Static, TupleV, Value
from backends.acrobat.ir import nodes as n


@dataclass(frozen=True, slots=True)
class SharedFactory(Special):
    """What makes the values of a `defaultdict(list)` for missing keys, where these are shared lists (`shared_lists`)."""

    cls: type
    what: str

    refusal: ClassVar[str] = "the factory of a `defaultdict` cannot be kept in a variable of the compiled program"


@dataclass(frozen=True, slots=True, eq=False)
class Closure(Special):
    """A lambda, the values of the names that it uses, its function and file, and the values of its parameters' defaults. A call
    compiles its expression in place."""

    passed = True
    unkeyed = frozenset({"function", "file", "ended"})
    node: ast.Lambda
    env: dict[str, Any]
    function: Any = None
    file: str = ""
    ended: bool = False
    """Whether its function has ended, after which no name in it gets another value."""
    defaults: tuple[tuple[str, Value], ...] = ()

    refusal: ClassVar[str] = "a lambda cannot be kept in a variable of the compiled program"


@dataclass(frozen=True, slots=True, eq=False)
class Nested(Special):
    """A function inside a function. `env` has the values of the names that it uses from the functions around it, once it was
    given to another function; before that it is None, and the names have the values of the moment of the call."""

    passed = True
    unkeyed = frozenset({"file", "outer", "to"})
    node: ast.FunctionDef
    file: str
    outer: FunctionType | None
    defaults: tuple[tuple[str, Value], ...]
    env: dict[str, Any] | None = None
    lifted: FunctionType | None = None
    to: Any = None
    """The function to which it was given, together with what it captures (`callbacks`)."""

    @property
    def refusal(self) -> str:
        return f"the function `{self.node.name}` cannot be kept in a variable of the compiled program"


@dataclass(frozen=True, slots=True)
class OneOf(Special):
    """A module of a list or dictionary that is chosen at run time. The program checks that `index` is one of `alternatives`."""

    index: Dyn
    alternatives: tuple[Value, ...]
    about: Dyn | None = None
    """The object whose class decides; the alternatives are in the order of `classes`."""
    classes: tuple[type, ...] = ()
    key: Value | None = None
    """The string that decides; the alternatives are in the order of `keys`."""
    keys: tuple[Any, ...] = ()

    @property
    def constants(self) -> tuple[Static, ...]:
        constants = tuple(v for v in self.alternatives if isinstance(v, Static) and isinstance(v.value, (str, int, float)))
        types = {type_of(v) for v in constants}
        return constants if len(constants) == len(self.alternatives) and len(types) == 1 else ()

    @property
    def of_containers(self) -> bool:
        """Whether it is one of several constant dictionaries, lists, tuples or sets."""
        containers = (dict, list, tuple, set, frozenset)
        return all(isinstance(v, Static) and isinstance(v.value, containers) for v in self.alternatives)

    @property
    def refusal(self) -> str:
        if self.of_containers:
            return "a dictionary of the model that is chosen at run time is looked up, or walked over, where it is chosen"
        if all(isinstance(v, Static) and isinstance(v.value, (str, int, float)) for v in self.alternatives):
            return "the numbers or strings that are chosen from here at run time are of several types"
        return "a module chosen at run time is called where it is chosen: `self.modules[i](x)`"

    def signature(self, of: Callable[[Value], Any]) -> Any:
        return "one of", tuple(map(of, self.alternatives))

    def operands(self, of: Callable[[Value], list[n.Atom]]) -> list[n.Atom]:
        return [*of(self.index), *(a for v in self.alternatives for a in of(v))]

    def parameter(self, inner: Callable[[Value], Value], weight: Callable[[str, Type], n.Var]) -> Value:
        index = inner(self.index)
        assert isinstance(index, Dyn)
        return OneOf(index, tuple(map(inner, self.alternatives)))


@dataclass(frozen=True, slots=True)
class SomeOf(Special):
    """Those of a list of modules from `start` to before `stop`, two ints that are known at run time only: both are places in
    the list, and `stop` is not less than `start`."""

    passed = True
    alternatives: tuple[Value, ...]
    start: Value
    stop: Value
    in_turn: bool = False
    """Whether they are a part of a `Sequential`, which may be called."""

    refusal: ClassVar[str] = "a part of a list of modules that is chosen at run time is walked over where it is chosen"


@dataclass(frozen=True, slots=True)
class Narrowed(Special):
    """An argument whose value is known to be an object of `cls`, one of several classes of its union. In the function that is
    called the parameter is an object of that class alone."""

    passed = True
    value: Dyn
    cls: type

    refusal: ClassVar[str] = "an object of a known class is an argument of a function of the model here"


@dataclass(frozen=True, slots=True)
class Absent(Special):
    """A method that objects of one class of a union do not have, or an attribute that is no function where one of several is
    called: choosing it is an error of the instance, with this text."""

    passed = True
    chosen = True
    text: str

    @property
    def refusal(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class CaughtException(Special):
    """An exception that is caught, of a class without an `__init__` of its own: the program keeps its arguments."""

    cls: type[Exception]
    args: TupleV

    refusal: ClassVar[str] = "an exception is no value of the compiled program"


@dataclass(frozen=True, slots=True)
class Method(Special):
    """A method and the value that it belongs to. `function` is the Python function, None for methods that the tables handle."""

    passed = True
    unkeyed = frozenset({"function"})
    owner: Any
    name: str
    function: Any = None

    @property
    def refusal(self) -> str:
        return f"the method `{self.name}` cannot be kept in a variable of the compiled program"


@dataclass(frozen=True, slots=True)
class SliceOf(Special):
    """A `slice` that the source makes, for use as an index."""

    start: Value
    stop: Value
    step: Value

    refusal: ClassVar[str] = "a `slice` serves as an index, and is not kept in a variable of the compiled program"


@dataclass(frozen=True, slots=True)
class Partial(Special):
    """A `functools.partial`: a function with its first arguments and some arguments by name."""

    passed = True
    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]

    refusal: ClassVar[str] = "a `partial` function cannot be kept in a variable of the compiled program"


@dataclass(frozen=True, slots=True)
class Endless(Special):
    """What `itertools.count`, `cycle` and `repeat` without a number give: an iterator that does not end. `first` gives its
    first items: as a tuple if their number is known, as a list of the program if it is a value of the program."""

    first: Callable[[Any], Value]

    refusal: ClassVar[str] = "an iterator without an end stands in a `zip` with others, or in `islice`"


@dataclass(frozen=True, slots=True)
class Super(Special):
    """`super()`: an object whose methods are looked up in the classes behind `cls` in its method resolution order."""

    owner: Value
    cls: type

    refusal: ClassVar[str] = "`super()` stands where a method of it is called"


@dataclass(frozen=True, slots=True)
class Keywords(Special):
    """The value of a parameter `**kwargs`: the named arguments that belong to no other parameter."""

    passed = True
    entries: tuple[tuple[Any, Value], ...]

    refusal: ClassVar[str] = "`**` arguments cannot be kept in a variable of the compiled program"


class AttributesByName(Keywords):
    """`vars(x)`: the attributes of an object as they are at this moment. As Python's shows later changes, too, it is used at
    once here, and has no name."""

    __slots__ = ()

    refusal: ClassVar[str] = "what `vars` or `__dict__` gives is used at once: `C(**{**vars(x), ...})`"

    def signature(self, of: Callable[[Value], Any]) -> Any:
        raise Mismatch(self.refusal)


class FunctionTable(Keywords):
    """A dictionary of functions, methods or modules that the source writes out, with keys that are known at compile time."""

    __slots__ = ()

    refusal: ClassVar[str] = "a dictionary of functions cannot be kept in a variable of the compiled program"
