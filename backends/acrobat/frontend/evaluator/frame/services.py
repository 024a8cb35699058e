"""What the evaluator asks of the compiler of the whole program."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from backends.acrobat.core.messages import Messages
from backends.acrobat.core.span import Span
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.instances.boundary import Symbols
from backends.acrobat.frontend.instances.datatypes import Datatypes
from backends.acrobat.frontend.noted_numbers import NotedNumbers
from backends.acrobat.frontend.other_sequences import OtherSequences
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.values import Value
from backends.acrobat.frontend.work import Effort
from backends.acrobat.ir.nodes import Weight

Key = tuple[str, str]
"""A field of objects that functions take beside their parameters: the name that these have, and that of the attribute."""


@dataclass
class Heard:
    """What is done with the values that functions take beside their parameters: which are touched, read or changed, and which
    fields of objects that existed before are read or written."""

    touched: set[str] = field(default_factory=set)
    read: set[Key] = field(default_factory=set)
    written: set[Key] = field(default_factory=set)


class CarriedServices(Protocol):
    """What is known of the values that functions take and give beside their parameters (`functions/carried.py`)."""

    types: dict[str, Any]
    attributes: set[str]
    cleared: set[str]
    written_none: set[str]
    only_none: set[str]

    def writes_field(self, name: str, union: str, field: str, classes: Sequence[type]) -> None: ...
    def touches(self, name: str, writes: bool) -> None: ...
    def is_field(self, field: str) -> bool: ...
    def heard(self) -> AbstractContextManager[Heard]: ...
    def note_field(self, key: Key, writes: bool) -> None: ...
    def changed_here(self) -> list[str]: ...
    def used_by(self, function: Any) -> dict[str, bool]: ...
    def fields_of(self, function: Any) -> set[tuple[Key, bool]]: ...
    def handed_on(self, f: Any, name: str) -> Value: ...
    def state_of(self, module: Any, name: str) -> str: ...
    def place_of(self, variable: str) -> tuple[Any, str]: ...
    def holds_alone(self, module: Any, name: str) -> bool: ...

    objects: set[str]

    @property
    def tracked(self) -> set[str]: ...
    def holds_objects(self, name: str, type: Any, writes: bool) -> None: ...
    def is_state(self, variable: str) -> bool: ...
    def learn_state(self, f: Any, variable: str, value: Value) -> None: ...


class ProgramServices(Protocol):
    """What a frame needs of the compiler of the whole program, `ProgramBuilder`. `f` is the frame that asks."""

    datatypes: Datatypes
    asked: Any  # the user's call that the library is compiled for; None in the user's own functions
    symbols: Symbols
    messages: Messages
    reads: Reads
    learnt: dict[Any, Any]
    work: Effort
    settled: dict[Any, Any]
    lost_in_rounds: dict[Any, set[Any]]
    changed: bool
    incomplete: bool
    lost: Problem | None
    problems: list[Problem]
    stored: dict[tuple[type, str], Span]
    given_values: set[tuple[type, str]]
    step_by_step: set[tuple[str, int, int]]
    changed_fields: set[tuple[type, str]]
    changed_classes: set[type]
    lending: set[tuple[type, str]]
    factories: dict[str, Value]
    derived: dict[str, type]
    gives_iterators: set[Any]
    may_be_lists: set[tuple[Any, str]]
    walked_of: dict[Any, set[tuple[str, bool]]]
    walked_fields: set[tuple[type, str]]
    seen_whole: set[Any]
    seen_whole_now: set[Any]
    returned: dict[Any, set[Any]]
    returned_now: dict[Any, set[Any]]
    noted: NotedNumbers
    sequences: OtherSequences
    listed: OtherSequences
    entered: list[Any]
    changing: Any
    empties: set[Span]
    filled: set[Span]
    never_filled: set[Span]
    followed_tries: dict[tuple[str, tuple[int, int]], Any]

    def raises(self, cls: type) -> None: ...
    def follow_raises(self, file: str, place: tuple[int, int], refused: Any) -> bool: ...
    def in_file(self, f: Any, node: ast.AST, file: str) -> AbstractContextManager[None]: ...
    @property
    def carried(self) -> CarriedServices: ...
    def problem(self, problem: Problem) -> None: ...
    def wrap(self, value: Any) -> Value: ...
    def keep_apart(self, module: Any) -> bool: ...
    def annotation(self, f: Any, node: ast.expr) -> Any: ...
    def tensor_name(self, t: Any, name: str) -> str: ...
    def weight_of_constants(self, name: str) -> Weight | None: ...
    def call(self, f: Any, node: ast.AST, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value: ...
