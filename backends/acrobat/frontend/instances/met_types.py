"""What a round of compiling has met in one place, though it has no common type, and how the next attempt begins with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

from backends.acrobat.core.types import DataT, without_shape
from backends.acrobat.frontend.instances.divided import are_versions
from backends.acrobat.frontend.instances.fixed_shapes import FixedShapes
from backends.acrobat.frontend.instances.joined import JoinedClasses, PlaceInSource
from backends.acrobat.frontend.instances.list_sites import ListSites
from backends.acrobat.frontend.instances.made_trees import Guess, Pair, is_guess, is_open, leaf_and_node, with_replaced
from backends.acrobat.frontend.instances.shared import Choice
from backends.acrobat.frontend.instances.unions import Unions
from backends.acrobat.frontend.types import UNKNOWN, contains_unknown, word_of_type


class MetTypes:
    """Types of values that were met in one place in one attempt."""

    def __init__(self, joined: JoinedClasses, unions: Unions) -> None:
        """`joined` is what the attempt began with; `unions` are those of its classes."""
        self._joined = joined
        self._unions = unions
        self.shapes = FixedShapes()
        self.lists = ListSites(joined.shared)
        self._met_unions: list[tuple[str, str]] = []  # unions of which values were met in one place in this round of compiling
        self._in_displays: list[tuple[str, str]] = []  # likewise those met only in a list that is written out
        self._written_out = False
        self._trees: list[Pair] = []  # likewise numbers or strings, and tuples or lists of such
        self._wrong: set[Guess] = set()  # likewise those of which more was found than what this attempt began with
        self._with_none: list[Pair] = []  # likewise those in which trees may be None
        self._asks = False
        self.mixtures: list[frozenset[str]] = []  # likewise the words of several of PYTHON_TYPES
        self.named_dicts: set[PlaceInSource] = set()  # `{}` that get values under names which have no type together
        self.given_by_name = False  # whether a dictionary without known names is given to a call with `**`
        self._changed_elsewhere: set[type] = set()  # classes whose objects are changed while other names may refer to them

    def start_round(self) -> None:
        """Forget what the last round of compiling has met."""
        self._met_unions.clear()
        self._in_displays.clear()
        self._trees.clear()
        self._wrong.clear()
        self._with_none.clear()
        self.mixtures.clear()
        self.named_dicts.clear()

    def note(self, types: Sequence[Any]) -> None:
        """Note that values of these types were met in one place."""
        self._unions.note_constants_apart([t.name for t in types if isinstance(t, DataT)])
        names = list(dict.fromkeys(t.name for t in types if isinstance(t, DataT) and self._unions.is_only_made(t.name)))
        (self._in_displays if self._written_out else self._met_unions).extend(pairwise(names))
        if (pair := leaf_and_node(types)) is not None:
            self._note_tree(*pair)
        words = without_shape(self._unions.by_word(types))
        if len(words) > 1 and "" not in words:
            self.mixtures.append(words)

    def _note_tree(self, leaf: Any, node: Any) -> None:
        """Note that leaves of a type and such tuples or lists were met in one place. Trees in these of the same leaves, and of
        nodes of which nothing was known, were the wrong guess: what is known now stands around what the recursion gives. Such
        trees in which others may be None were not known to be so."""
        optional, guess = self._unions.optional, (leaf, word_of_type(node))
        guesses = [t for t, other in self._unions.guessed.items() if other == guess]
        known = with_replaced(node, dict.fromkeys((*guesses, *map(optional, guesses)), UNKNOWN))
        if known != node and not is_guess(known) and not self._asks:
            self._wrong.add(guess)
            node = known
        if is_open((leaf, node), optional):
            self._trees.append((leaf, node))
        trees = [DataT(name) for name in self._unions.with_leaves if leaf in self._unions.mixed[name].values()]
        with_none = with_replaced(node, {optional(t): optional(leaf) for t in trees})
        if with_none != node and not contains_unknown(with_none) and not self._asks:
            self._with_none.append((leaf, with_none))

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While it is asked whether types have a common one: no mixture that is noted inside was met in one place."""
        before, asks, self._asks = len(self.mixtures), self._asks, True
        try:
            yield
        finally:
            self._asks = asks
            del self.mixtures[before:]

    @contextmanager
    def in_display(self) -> Iterator[None]:
        """While it is asked for the type of the elements of a list that is written out, which may have one each."""
        before, self._written_out = self._written_out, True
        try:
            yield
        finally:
            self._written_out = before

    def note_changed_elsewhere(self, union: str) -> None:
        """Note that objects of a union are changed while other names may refer to them. If they are ones that the model makes,
        of ordinary classes or dataclasses, or dictionaries whose keys are names, an object is a number for the next attempt
        (`evaluator/objects/referenced.py`). Classes of which the instance has objects too are divided."""
        classes = self._unions.cases.get(union, ())
        if self._unions.is_only_made(union) and all(map(_may_be_referenced, classes)):
            self._changed_elsewhere |= {*classes}
        self._joined.division.changed |= {c for c in classes if self._unions.is_of_instance(c)}

    def classes(self, in_displays: bool = True) -> list[tuple[tuple[type, ...], tuple[type, ...]]]:
        """The unions of which values were met in one place in the last round, in pairs; those that were met only in lists that
        are written out are left out if `in_displays` is not set."""
        pairs = self._met_unions + (self._in_displays if in_displays else [])
        return [(self._unions.cases[one], self._unions.cases[other]) for one, other in pairs]

    def joined(
        self,
        trees: bool = True,
        by_name: bool = False,
        mixtures: bool = False,
        references: bool = False,
        shared: Choice | None = None,
        shapes: bool = False,
        named_dicts: bool = False,
    ) -> JoinedClasses:
        """The unions that this program began with, joined with those that were met in one place in the last round, and with
        `trees` also those of numbers or strings and tuples, with `by_name` dictionaries told apart by their names if one is
        given with `**`, with `mixtures` those of different types of Python's, with `references` the classes whose objects are
        numbers, with `shared` the lists that are, with `shapes` shapes that would be joined to one whose extents vary, where
        types are kept exactly, with `named_dicts` dictionaries that get values under names as ones of such entries. The same
        object if there were none."""
        pairs = [pair for pair in self.classes() if not are_versions(*pair)]
        unions = self._joined.joined(pairs, self._unions.made)
        if by_name and self.given_by_name and not unions.by_name:
            unions = replace(unions, by_name=True)
        unions = unions.with_mixtures([*self.mixtures, *self.shapes.broadcast]) if mixtures else unions
        unions = unions.with_referenced(self._changed_elsewhere) if references else unions
        unions = unions.with_shapes(self.shapes.joined()) if shapes and unions.exact else unions
        unions = unions.with_named_dicts(self.named_dicts) if named_dicts else unions
        unions = unions if shared is None else unions.with_shared(self.lists.changed_elsewhere, self.lists.types, shared)
        return unions.with_trees(self._trees, self._wrong, self._with_none) if trees else unions


def _may_be_referenced(cls: type) -> bool:
    """Whether objects of a class may be changed: no tuples or frozen dataclasses."""
    frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return not frozen and not issubclass(cls, tuple)
