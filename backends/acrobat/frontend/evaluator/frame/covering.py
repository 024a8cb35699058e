"""The type that covers several types, and whether one type covers another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import LIST, DataT, ListKind, ListT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.frame_state import FrameState
from backends.acrobat.frontend.evaluator.frame.joined_tuples import joined_tuples, part_by_part
from backends.acrobat.frontend.evaluator.frame.several_shapes import differ_in_shape
from backends.acrobat.frontend.joined_types import join_types
from backends.acrobat.frontend.tensor_types import kind_and_rank
from backends.acrobat.frontend.types import (
    NEVER,
    NONE,
    UNASSIGNED,
    UNKNOWN,
    Mismatch,
    UnknownT,
    contains_held,
    has_met,
    is_leaf,
    is_never_filled,
    is_node,
    is_tuple_type,
    is_unassigned,
    is_varying_tuple,
)

DEEPEST = 4
"""So many mixed unions may be asked for within each other: those of a tree that each round puts into a larger one never end."""

GROWS = "make the parts objects of one class, as `Node(label, word, children)` with a list of Nodes: these nest to any depth"
"""What to write where lists of tuples, or of values of several types, have no type together with other values."""


def _is_tuples(type: Any) -> bool:
    return isinstance(type, ListT) and type.rows is None and isinstance(type.item, TupleT)


class CoveringFrame(FrameState):
    """A frame that knows which values can stand in one place, and as values of which type."""

    def common(self, types: Sequence[Any], numbers: bool = False) -> Any:
        """The type that covers all of `types`; `numbers` as in `join_types`. Raises Mismatch."""
        self.program.work.note_joined()
        beside_none, self.beside_none = self.beside_none, False
        types = [t for t in types if t is not NEVER] or types
        some = [t for t in types if t is not NONE]
        if not some and types:
            return NONE
        joined: Any = UnknownT()
        optional = next((t for t in some if isinstance(t, DataT) and t.name in self.program.datatypes.optionals), None)
        unassigned = next((t for t in some if is_unassigned(t)), None)
        if UNASSIGNED in types or unassigned is not None:
            inner = [self.program.datatypes.optionals[t.name] if is_unassigned(t) else t for t in types if t is not UNASSIGNED]
            return self.program.datatypes.unassigned(self.common(inner, numbers)) if inner else UNASSIGNED
        if len(some) < len(types) or optional is not None:
            self.beside_none = True
            return self.program.datatypes.optional(self.common([self.without_none(t) for t in some], numbers))
        if (mixed := next((t for t in some if self.mixed(t)), None)) is not None and self.fit(some, mixed):
            return mixed
        there = [t for t in some if not isinstance(t, UnknownT)]
        some = there if len(there) > 1 else some  # what is not known yet says nothing of those that are
        if len(there) > 1 and all(map(is_tuple_type, there)) and any(t != there[0] for t in there):
            return joined_tuples(self, there, numbers)
        if len(some) > 1 and all(isinstance(t, ListT) and t.rows is None and t.kind == some[0].kind for t in some):
            item = self.common_items([t.item for t in some], some[0].kind, numbers)
            never_filled = next(filter(is_never_filled, some), None)
            if never_filled is not None and item in (UNKNOWN, TupleT((UNKNOWN, UNKNOWN))):
                return never_filled
            return replace(some[0], item=item)
        if len(some) > 1 and all(isinstance(t, TupleT) and t.listed and len(t.items) == len(some[0].items) for t in some):
            return part_by_part(self, some, numbers)
        for tree in self.program.datatypes.made_trees(some, beside_none):
            if self.fit(some, tree):
                return tree
        if self.program.datatypes.exact and (mixture := self._mixture(there, numbers)) is not None:
            return mixture  # before a number would become a float, or a tensor
        if (inside := self.program.datatypes.by_word(there)).keys() == {"tensor"}:
            some = inside["tensor"]  # of shapes that are told apart, and others, as one whose extents vary
        try:
            for t in some:
                joined = join_types(joined, t, numbers)
        except Mismatch as error:
            if numbers and (together := self._list_of_tensors(some)) is not None:
                return together
            self.program.datatypes.met.note(some)
            if (mixture := self._mixture(there, numbers)) is None:
                if len(self.program.datatypes.by_word(there)) > 1 and any(has_met(t) or _is_tuples(t) for t in there):
                    error.advice = GROWS
                raise
            return mixture
        if not self.covering:
            self.program.datatypes.met.shapes.note_joined(some, joined)
        return joined

    def _list_of_tensors(self, types: Sequence[Any]) -> Any:
        """The type of lists of tensors, or of tuples of such, that covers written lists of them, each with its shape, which
        differ in length or stand beside such lists; None for other types. Raises Mismatch."""
        written = [t for t in types if isinstance(t, TupleT) and t.listed]
        lists = [t for t in types if isinstance(t, ListT) and t.rows is None and t.kind == LIST]
        items = [x for t in written for x in t.items] + [t.item for t in lists if t.item is not UNKNOWN]
        if not written or len(written) + len(lists) < len(types) or not differ_in_shape(items):
            return None
        return ListT(self.common(items, numbers=True))

    def common_items(self, items: Sequence[Any], kind: ListKind, numbers: bool = False) -> Any:
        """The type that covers elements of all these types, of lists or of containers of this kind: the keys of dictionaries,
        and the values, each have one type. Raises Mismatch."""
        if kind.container == "dict" and all(isinstance(t, TupleT) for t in items):
            return part_by_part(self, items, numbers)
        return self.common(items, numbers)

    def _mixture(self, types: Sequence[Any], numbers: bool) -> Any:
        """The mixed union of values of these types, if an earlier attempt has met such in one place; else None."""
        if any(contains_held(t) == "iterator" for t in types):
            return None  # a use of it would exhaust it in one case and not in the other
        by_word = self.program.datatypes.by_word(types)
        if not numbers and all("_" in word for word in by_word):
            return None  # the parts of one tensor, say: only what branches give, and what loops leave, is of several shapes
        if len(by_word) < 2 or not self.program.datatypes.may_mix(by_word.keys()):
            return None
        if any(has_met(t) and not self._has_leaves_only(t) for t in types):  # each round of a loop would put one into the next
            return None
        several = frozenset(types)
        if several in self.mixing or len(self.mixing) == DEEPEST:  # trees of two types, whose parts are again such
            raise Mismatch(", ".join(map(describe, types)))
        self.mixing.add(several)
        try:
            return self.program.datatypes.either({word: self.common(its, numbers) for word, its in by_word.items()}, "Met")
        finally:
            self.mixing.discard(several)

    def _has_leaves_only(self, type: Any) -> bool:
        """Whether a type is that of lists of such values of several types of which none has elements itself."""
        if not (isinstance(type, ListT) and type.rows is None and type.kind == LIST):
            return False
        return not self.mixed(self.without_none(type.item)).keys() & {"list", "tuple", "dict", "set"}

    def without_none(self, type: Any) -> Any:
        """What values of an optional type are if they are not None; other types as they are."""
        return self.program.datatypes.optionals.get(type.name, type) if isinstance(type, DataT) else type

    def mixed(self, type: Any) -> dict[str, Any]:
        """The types of a mixed union by their words; empty for other types."""
        return self.program.datatypes.mixed.get(type.name, {}) if isinstance(type, DataT) else {}

    def fit(self, types: Sequence[Any], mixed: Any) -> bool:
        """Whether values of all types are values of a mixed union."""
        return all(isinstance(t, UnknownT) or t == mixed or self.word_of(t, mixed) is not None for t in types)

    def word_of(self, type: Any, mixed: Any) -> str | None:
        """Which type of a mixed union covers values of a type; None if none does."""
        if is_leaf(type) and type in self.mixed(mixed).values():
            return next(word for word, inner in self.mixed(mixed).items() if inner == type)
        for word, inner in self.mixed(mixed).items():
            if is_varying_tuple(inner) and isinstance(type, TupleT) and not type.listed:
                if all(self.covers(inner.item, t) for t in type.items):
                    return word
                continue
            if is_node(type) != is_node(inner) and (is_leaf(type) or is_leaf(inner)):
                continue  # these are values of another case, also of a tree that has both
            if mixed.name in self.program.datatypes.with_leaves and not self._without_widening(type, inner):
                continue
            rank = kind_and_rank(type)
            if self.covers(inner, type, numbers=bool(rank) and rank == kind_and_rank(inner)):
                return word
        return None

    def covers(self, whole: Any, part: Any, numbers: bool = False) -> bool:
        """Whether values of a type `part` are, or can become, values of the type `whole`; `numbers` as in `common`. Not known
        for trees that contain each other, about which this would ask without end."""
        if (whole, part) in self.covering:
            return False
        self.covering.add((whole, part))
        try:
            with self.program.datatypes.met.asking():
                return bool(self.common([part, whole], numbers) == whole)
        except Mismatch:
            return False
        finally:
            self.covering.discard((whole, part))

    def _without_widening(self, type: Any, have: Any) -> bool:
        """Whether values of a type can become part of a tree without an int becoming a float."""
        if isinstance(type, TupleT) and isinstance(have, TupleT) and len(type.items) == len(have.items):
            return all(map(self._without_widening, type.items, have.items))
        return type == have or not (is_leaf(type) and is_leaf(have))
