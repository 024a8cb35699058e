"""Classes whose objects the model makes and has in one place: `tree = Leaf(word)` on one path, `tree = Node(label, [tree])` on
another.

Nothing in the source needs to say that such classes are a union. An attempt that ends with problems tells which classes it has
met in one place, and the next one begins with their union. Likewise numbers or strings that stand in the place of tuples or
lists of such are the leaves of trees (`made_trees`). And values of different types of Python's, as the string or the object
that a grammar's rule gives, are one mixed union."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from backends.acrobat.core.types import RANKS, is_tensor_word
from backends.acrobat.frontend.instances.constant_graphs import ConstantGraphs
from backends.acrobat.frontend.instances.divided import Division
from backends.acrobat.frontend.instances.made_trees import Guess, Pair, form_of, is_guess
from backends.acrobat.frontend.instances.record_classes import Records
from backends.acrobat.frontend.instances.shared import (
    NO_ELEMENTS,
    Choice,
    Noted,
    SharedGroup,
    Site,
    of_kind,
    sites_of_type,
    with_sites,
)
from backends.acrobat.frontend.types import contains_unknown, word_of_type

Attributes = tuple[str, ...]
PlaceInSource = tuple[str, int, int]
"""A file, a line and a column."""


@dataclass(frozen=True)
class JoinedClasses:
    """Unions of classes that the model makes, with the attributes that objects of the ordinary classes and named tuples among
    them have."""

    unions: tuple[tuple[type, ...], ...] = ()
    attributes: dict[type, Attributes] = field(default_factory=dict)
    trees: tuple[Pair, ...] = ()  # leaves, and the tuples or lists that were met in their place
    guesses: frozenset[Guess] = frozenset()  # such of which more is known by now than that there are tuples or lists
    referenced: frozenset[type] = frozenset()  # classes whose objects the program refers to by numbers
    graphs: ConstantGraphs = field(default_factory=ConstantGraphs)  # constant objects that are referred to by numbers
    shared: tuple[SharedGroup, ...] = ()  # lists that several names refer to while they are changed
    shared_types: tuple[Any, ...] = ()  # types of these
    division: Division = field(default_factory=Division)  # versions of classes
    mixtures: frozenset[frozenset[str]] = frozenset()  # words in `PYTHON_TYPES` of types that were met in one place
    walked: set[type] = field(default_factory=set)  # record classes of dictionaries that the program walks over
    endless: set[Any] = field(default_factory=set)  # functions that were called with ever more constants, without an end
    # calls of generators whose values are computed one after the other (`by_turns`), by file and place; None where there are
    # several generators
    lazy: dict[Any, Any] = field(default_factory=dict)
    by_name: bool = False  # whether dictionaries with a few sets of names are told apart by these, whatever their values are
    exact: bool = False  # whether numbers and tensors, too, keep their types where they meet
    records: Records = field(default_factory=Records)  # for dictionaries whose keys are names
    copied: frozenset[type] = frozenset()  # classes of which `forward` changes copies of its arguments
    named_dicts: frozenset[PlaceInSource] = frozenset()  # the `{}` that get values of several types under names

    def joined(self, pairs: Sequence[tuple[tuple[type, ...], tuple[type, ...]]], made: dict[type, Attributes]) -> JoinedClasses:
        """These unions and those of each pair of others in `pairs`; unions that have a class in common are one. `made` has the
        attributes of ordinary classes. The same object where `pairs` is empty, or would join classes of one name, by which the
        program tells them apart."""
        unions = list(self.unions)
        for one, other in pairs:
            inside = [u for u in unions if {*u} & {*one, *other}]
            unions = [u for u in unions if u not in inside]
            unions.append(tuple(dict.fromkeys(c for u in (*inside, one, other) for c in u)))
        if not pairs or any(len({c.__name__ for c in u}) < len(u) for u in unions):
            return self
        larger = replace(self, unions=tuple(unions), attributes={c: made[c] for u in unions for c in u if c in made})
        return larger.with_referenced(self.referenced)

    def with_trees(self, pairs: Sequence[Pair], wrong: Collection[Guess] = (), with_none: Sequence[Pair] = ()) -> JoinedClasses:
        """The same with the leaves and nodes in `pairs`, of each leaf and form once, and without the guesses that were `wrong`;
        with those in `with_none` in place of such of which not all was known. The same object if nothing is new."""
        known = replace(self, guesses=self.guesses.union(wrong))
        trees: list[Pair] = []
        for leaf, node in (*[_with_none(pair, with_none) for pair in self.trees], *pairs):
            if not known.knows_more(leaf, node) and not any(leaf == x and form_of(node) == form_of(t) for x, t in trees):
                trees.append((leaf, node))
        return self if trees == [*self.trees] else replace(known, trees=tuple(trees))

    def knows_more(self, leaf: Any, node: Any) -> bool:
        """Whether a tuple or list, of whose elements the type `node` says nothing, is one of which an earlier attempt knew
        more, where it stands beside a leaf."""
        return is_guess(node) and (leaf, word_of_type(node)) in self.guesses

    def with_mixtures(self, mixtures: Collection[frozenset[str]]) -> JoinedClasses:
        """The same with `mixtures` among the types that may be in one place; the same object if nothing is new. Where a float
        may be beside other types an int may be too, and stays one."""
        allowed = {m | {"int"} if "float" in m else m for m in mixtures if self._stay_as_they_are(m)}
        return self if self.mixtures.issuperset(allowed) else replace(self, mixtures=self.mixtures | allowed)

    def with_numbers(self) -> JoinedClasses:
        """The same with numbers beside tensors, which stay what they are; the same object if they do already."""
        return self.with_shapes([frozenset((number, "tensor")) for number in ("float", "int")])

    def with_shapes(self, shapes: Collection[frozenset[str]]) -> JoinedClasses:
        """The same with tensors of each of these sets of shapes, as their words, as mixed unions; the same object if nothing is
        new."""
        exact = replace(self, exact=True).with_mixtures(shapes)
        return self if exact.mixtures == self.mixtures else exact

    def with_named_dicts(self, places: Set[PlaceInSource]) -> JoinedClasses:
        """The same with the dictionaries that begin at `places` as ones whose keys are names; the same object if nothing is
        new."""
        return self if places <= self.named_dicts else replace(self, named_dicts=self.named_dicts | places)

    def with_referenced(self, classes: Set[type]) -> JoinedClasses:
        """The same with `classes`, and those that are in a union with one of them, among those whose objects are referred to by
        numbers; the same object if they are."""
        classes = {*classes, *(c for u in self.unions if not classes.isdisjoint(u) for c in u)}
        return self if classes <= self.referenced else replace(self, referenced=self.referenced | classes)

    def with_shared(self, noted: Sequence[Noted], made: Mapping[Site, Any], choice: Choice) -> JoinedClasses:
        """The same with the lists in `noted`, and others of the types noted now or before, among the shared ones; `made` says
        where lists of which types are made. The same object if that is nothing new."""
        types = tuple(dict.fromkeys((*self.shared_types, *(t for t, _ in noted))))
        parts = [(t, of_kind(sites, t, made)) for t, sites in noted]
        grouped = {site for g in self.shared for site in g.sites}
        for t in types if choice != "named" else ():
            sites = sites_of_type(t, made, choice == "alike")
            parts.append((t, sites - grouped if t.item in NO_ELEMENTS else sites))  # what is shared already was not met as `t`
        groups = with_sites(self.shared, parts)
        if groups is self.shared:
            return self
        referenced = self.referenced | {g.cls for g in groups}
        return replace(self, shared=groups, shared_types=types, referenced=referenced)

    def _stay_as_they_are(self, words: Set[str]) -> bool:
        """Whether values of these of PYTHON_TYPES keep their types wherever they meet. A list may become a tensor beside one;
        if types are not `exact`, a list a tuple, an int a float, a number a tensor, and a tensor one of another extent."""
        tensors, numbers = any(map(is_tensor_word, words)), words & {"bool", "int", "float"}
        if "list" in words and (tensors or "tuple" in words and not self.exact):
            return False
        several = not words.isdisjoint(RANKS) or all(map(is_tensor_word, words))
        return self.exact or "float" not in words and len(numbers) < 2 and not (tensors and numbers) and not several


def _with_none(pair: Pair, others: Sequence[Pair]) -> Pair:
    """A pair, or where not all is known of its nodes, the one of the others that has the same leaf and nodes of that form."""
    leaf, node = pair
    same = (other for other in others if other[0] == leaf and form_of(other[1]) == form_of(node))
    return next(same, pair) if contains_unknown(node) else pair
