"""Values that functions take and give beside their parameters, because the compiled program is pure.

Three kinds: dictionaries of fields that the model writes on objects of the instance (`evaluator/changes/written_fields.py`),
attributes of modules that the model assigns to and reads (`evaluator/changes/state.py`), and lists of all objects of a class to
which several names refer (`evaluator/objects/referenced.py`). Each has a name that is the same in all functions' scopes. A
function that uses such a value, or calls one that does, takes it; one that changes it also gives the new value.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any, Protocol

import torch
from torch import nn

from backends.acrobat.core.types import BOOL, DataT, ListT, TensorT
from backends.acrobat.frontend.evaluator.changes.written_fields import empty_dictionary, empty_list_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.services import Heard, Key
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable
from backends.acrobat.frontend.evaluator.syntax.hidden_names import carried_name
from backends.acrobat.frontend.instances.datatypes import Datatypes
from backends.acrobat.frontend.kinds import is_container, is_unknown, type_or_none
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.types import NEVER, NONE, UNASSIGNED, UNKNOWN, Mismatch, contains_unknown, is_unassigned
from backends.acrobat.frontend.values import NOTHING, Static, Value, guess, is_empty


class CompilingProgram(Protocol):
    """What is asked of the program that is compiled: the function on whose behalf a value is used, and a place to note news."""

    module: nn.Module
    reads: Reads
    datatypes: Datatypes
    changed: bool
    entered: list[Any]

    def forget_results(self, function: Any) -> None: ...


class CarriedValues:
    """The values that functions take and give beside their parameters, by name, as far as the rounds so far have found them."""

    def __init__(self, program: CompilingProgram, path_of: Callable[[Any], str]) -> None:
        self._program = program
        self._path_of = path_of  # gives the name of a module in the model
        self.types: dict[str, Any] = {}  # name -> the type of the field, or of the attribute, as far as it is known
        self.unions: set[str] = set()  # the unions of objects on which the model writes fields
        self.state: set[tuple[type, str]] = set()  # attributes of modules that are assigned to and read, as (class, name)
        self._fields: set[str] = set()  # the names of fields that the model writes
        self.written_none: set[str] = set()  # those of `types` that are fields to which None is written
        self.only_none: set[str] = set()  # those of them to which it is found that nothing else is
        self.attributes: set[str] = set()  # those of `types` that are attributes of modules
        self.cleared: set[str] = set()  # those of `attributes` that are cleared, in place of an assignment
        self._places: dict[str, tuple[Any, str]] = {}  # the modules and attributes of these
        self.objects: set[str] = set()  # those that are lists of all objects of a class
        self._heard: list[Heard] = []  # what `heard` is giving
        self._fields_of: dict[Any, set[tuple[Key, bool]]] = {}  # function -> fields of objects, and whether it writes them
        self._uses: dict[Any, dict[str, bool]] = {}  # function -> the names that it uses, and whether it changes their value

    def used_by(self, function: Any) -> dict[str, bool]:
        """The values that a function uses, by name, with whether it changes them."""
        return dict(self._uses.get(function, {}))

    def touches(self, name: str, writes: bool) -> None:
        """Note that the function that is compiled reads such a value, or changes it."""
        for heard in self._heard:
            heard.touched.add(name)
        uses = self._uses.setdefault(self._program.entered[-1], {})
        if uses.get(name) is not True and uses.get(name) is not writes:
            if name in uses:  # it was taken only so far, and is given, too, from now on: the results have another type
                self._program.forget_results(self._program.entered[-1])
            uses[name] = writes
            self._program.changed = True

    def note_field(self, key: Key, writes: bool) -> None:
        """Note that the function that is compiled reads or writes a field of objects that may have been there before."""
        for heard in self._heard:
            (heard.written if writes else heard.read).add(key)
        fields = self._fields_of.setdefault(self._program.entered[-1], set())
        self._program.changed |= (key, writes) not in fields
        fields.add((key, writes))

    def fields_of(self, function: Any) -> set[tuple[Key, bool]]:
        """The fields of objects that a function reads or writes, with whether it writes them."""
        return set(self._fields_of.get(function, ()))

    @contextmanager
    def heard(self) -> Iterator[Heard]:
        """A context that gives the names of all such values that what is compiled in it reads or changes."""
        heard = Heard()
        self._heard.append(heard)
        try:
            yield heard
        finally:
            self._heard = [x for x in self._heard if x is not heard]

    def changed_here(self) -> list[str]:
        """The names of the values that the function that is compiled changes."""
        return [name for name, changes in self.used_by(self._program.entered[-1]).items() if changes]

    def at_first(self, f: Frame) -> dict[str, Value]:
        """All values as they are when an instance begins: dictionaries and lists are empty, attributes of modules have no
        value."""
        lists = {x: empty_list_of(f, t) for x, t in self.types.items() if x in self.objects}
        return lists | {
            x: NOTHING if x in self.attributes else empty_dictionary(f, t) for x, t in self.types.items() if x not in lists
        }

    def handed_on(self, f: Frame, name: str) -> Value:
        """The value that a frame has under a name, as functions take and give it: an attribute may have none yet."""
        value = f.env[name]
        if name not in self.attributes:
            return value
        if isinstance(self.types[name], ListT) and contains_unknown(self.types[name]) and not is_container(value):
            return guess(self.types[name])  # so that a function is compiled which tells what the list has in it
        t = self._program.datatypes.unassigned(self.types[name])
        if contains_unknown(t) and type_or_none(value) is NONE:
            return Static(None)  # so that a function is compiled which tells what else the attribute has
        if contains_unknown(t):
            return value if is_container(value) else guess(t)
        return guess(t) if is_unknown(value) and not is_empty(value) else f.coerce(value, t)

    def may_be_seen(self, f: Frame, name: str) -> bool:
        """Whether something else than the attribute of this name may refer to its value: to a list, an object or a tensor."""
        if name not in self.attributes:
            return name in self.objects
        t = type_or_none(f.env[name])
        inner = self._program.datatypes.optionals.get(t.name, t) if isinstance(t, DataT) else t
        return changeable(f, t) or isinstance(inner, TensorT) or isinstance(inner, ListT) and inner.rows is not None

    @property
    def beside(self) -> set[str]:
        """The names of values that no value of Python corresponds to: dictionaries of fields, and lists of objects. No two of
        them are one value in Python, not even while both are empty."""
        return self.types.keys() - self.attributes

    @property
    def tracked(self) -> set[str]:
        """The names of values to parts of which something else may refer: what `Frame.owned` says of them is handed on."""
        return self.attributes | self.objects

    # ---- fields that the model writes on objects of the instance

    def finds_only_none(self) -> bool:
        """Whether there are fields to which only None is written, of which this was not known. It is asked when a round has
        found no further type; from the next round on their dictionaries have bools, which nothing reads."""
        new = {x for x in self.written_none - self.only_none if self.types[x] in (NONE, UNKNOWN)}
        self.only_none |= new
        self.types |= dict.fromkeys(new, BOOL)
        return bool(new)

    def writes_field(self, name: str, union: str, field: str, classes: Sequence[type]) -> None:
        """Note that the function that is compiled writes a field of objects of a union; `name` is its dictionary's."""
        self.touches(name, True)
        if name not in self.types:
            self._program.changed = True
            self.unions.add(union)
            self.types[name] = UNKNOWN
            self._fields.add(field)
            self._program.datatypes.forget_none(classes, field)

    def is_field(self, field: str) -> bool:
        """Whether the model writes a field of this name on objects of the instance."""
        return field in self._fields

    # ---- objects that several names refer to

    def holds_objects(self, name: str, type: Any, writes: bool) -> None:
        """Note that the function that is compiled reads the list of all objects of a class, or changes it."""
        self.touches(name, writes)
        self.objects.add(name)
        if self.types.get(name) != type:
            self.types[name] = type
            self._program.changed = True

    # ---- attributes of modules that the model assigns to and reads

    def state_of(self, module: Any, name: str) -> str:
        """The name in functions' scopes of an attribute of a module that the model assigns to and reads; "" for others."""
        if not any((cls, name) in self.state for cls in type(module).__mro__):
            return ""
        path = self._path_of(module)
        shown = f"{name}_of_{path.replace('.', '_') or 'model'}"
        variable = carried_name("attribute", name, path, shown)
        while self.place_of(variable) not in ((None, ""), (module, name)):  # modules outside of the model have no path
            path, shown = f"{path} ", f"{shown}_"
            variable = carried_name("attribute", name, path, shown)
        self.types.setdefault(variable, UNKNOWN)
        self.attributes.add(variable)
        self._places[variable] = module, name
        return variable

    def place_of(self, variable: str) -> tuple[Any, str]:
        """The module and the attribute of which a name in functions' scopes is that; None and "" for other names."""
        return self._places.get(variable, (None, ""))

    def holds_alone(self, module: Any, name: str) -> bool:
        """Whether nothing else that the model has, or that the program reads, refers to the object in a module's attribute."""
        held, whole, reads = vars(module).get(name), self._program.module, self._program.reads
        pending = [x for m in whole.modules() for k, x in vars(m).items() if m is not module or k != name]
        pending += [*reads.names.values(), *(x for owner, _, x in reads.objects if owner is not held)]
        seen = set[int]()
        while pending:
            x = pending.pop()
            if x is held:
                return False
            if id(x) not in seen and not isinstance(x, (nn.Module, torch.Tensor, type, ModuleType, FunctionType)):
                seen.add(id(x))
                pending += gc.get_referents(x)
        return held is not None

    def is_state(self, variable: str) -> bool:
        """Whether a name in functions' scopes is that of such an attribute."""
        return variable in self.attributes

    def attributes_of(self, module: Any) -> dict[str, str]:
        """The attributes of a module that the model assigns to and reads, with their names in functions' scopes."""
        names = {name for cls, name in self.state if isinstance(module, cls)}
        return {name: self.state_of(module, name) for name in sorted(names)}

    def learn_state(self, f: Frame, variable: str, value: Value) -> None:
        """Note the type of a value that is assigned to such an attribute. It is the same in all functions; only the function
        that no other calls may give an attribute a value of another type, `self.scores = torch.stack(self.scores)` at its end,
        which is that of a local name then. Raises Mismatch."""
        t = type_or_none(value)
        if isinstance(t, ListT) and contains_unknown(t) and self.types[variable] == UNKNOWN:
            self.types[variable] = t
            self._program.changed = True
        if t is None or contains_unknown(t) or t in (UNASSIGNED, NEVER):
            return
        t = self._program.datatypes.optionals[t.name] if is_unassigned(t) else t
        try:
            together = f.common([self.types[variable], t], numbers=True)
        except Mismatch:
            if len(self._program.entered) == 1:
                return
            raise
        if together != self.types[variable]:
            self.types[variable] = together
            self._program.changed = True
