"""The unions that the compiler adds to those of a model's classes: what may be None, values of several of Python's own types,
and trees of tuples or lists that the model makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum
from typing import Any

from torch import Tensor

from backends.acrobat.core.types import FLOAT, INT, PYTHON_TYPES, RANKS, TUPLE, DataT, ListT, ScalarT, TensorWord, TupleT, Type
from backends.acrobat.frontend.described import SHOWN, describe
from backends.acrobat.frontend.instances.fixed_shapes import by_shape
from backends.acrobat.frontend.instances.made_trees import Guess, has_leaf, is_guess, with_trees_below
from backends.acrobat.frontend.tensor_types import kind_and_rank
from backends.acrobat.frontend.types import NEVER, SYMBOL, UNKNOWN, Role, UnionName, contains_unknown, union_name, word_of_type


class _TypesAndShapes(dict[str, tuple[str, type]]):
    def __missing__(self, word: str) -> tuple[str, type]:
        assert isinstance(word, TensorWord)
        return f"a tensor of shape ({', '.join('n' if e is None else str(e) for e in word.shape or ())})", Tensor


TYPES = _TypesAndShapes(
    {
        "bool": ("a bool", bool),
        "int": ("an int", int),
        "float": ("a float", float),
        "str": ("a string", str),
        "tensor": ("a tensor", Tensor),
        "tuple": ("a tuple", tuple),
        "list": ("a list", list),
        "dict": ("a dict", dict),
        "object": ("an object", object),
    }
)
TYPES.update((word, (f"a {word.kind} of rank {word.rank}", Tensor)) for word in RANKS)
"""Of each of `PYTHON_TYPES` its words in messages, and the class; also with a shape behind it."""


class AddedUnions:
    """Optionals, and mixed unions of Python's own types."""

    def __init__(self) -> None:
        self.cases: dict[str, tuple[type, ...]] = {}  # union of classes of the model -> classes
        self.optionals: dict[str, Type] = {}  # optional -> type of what it may hold
        self.mixed: dict[str, dict[str, Any]] = {}  # mixed union -> of PYTHON_TYPES those that it has, and their types here
        self.trees: dict[Any, DataT] = {}  # what is known of trees of tuples, or a leaf and a tuple -> their mixed union
        self.with_leaves: set[str] = set()  # those of them that `tree_over` has made
        self.guessed: dict[DataT, Guess] = {}  # those of these of whose nodes no more is known than that they are lists
        self.enums: set[str] = set()  # mixed unions whose strings are members of Enums
        self.changed = False  # whether a type was changed in this round of compiling

    def unused_name(self, name: str) -> str:
        """The name, or one like it where a union has it."""
        while name in self.cases or name in self.mixed:
            name += "_"
        return name

    def optional(self, inner: Any) -> Any:
        """The type of a value of type `inner` or None; unknown as long as `inner` is not known entirely."""
        return self._or_nothing(inner, "Optional", " or None")

    def unassigned(self, inner: Any) -> Any:
        """The type of a name to which a value of a type is assigned on some paths only."""
        return self._or_nothing(inner, "Unassigned", ", or not assigned")

    def _or_nothing(self, inner: Any, role: Role, shown: str) -> Any:
        if contains_unknown(inner):
            return UNKNOWN
        name = _name_of(role, inner)
        self.optionals[name] = inner
        SHOWN[name] = describe(inner) + shown
        return DataT(name)

    def has_dict(self, type: Any) -> bool:
        """Whether values of a type are dictionaries, or have such in them outside of objects."""
        match type:
            case ListT(item, rows=None):
                return type.container == "dict" or self.has_dict(item)
            case TupleT(items):
                return any(map(self.has_dict, items))
            case DataT(name) if name in self.optionals:
                return self.has_dict(self.optionals[name])
        return False

    def classes_of(self, type: Any) -> tuple[type, ...]:
        """The classes of which an object of this type may be; none for the types of other values."""
        return self.cases.get(type.name, ()) if isinstance(type, DataT) else ()

    def either(self, types: dict[str, Any], role: Role = "Either") -> Any:
        """The type of values that are of one of several of PYTHON_TYPES, by their words. `role` says where such values come
        from."""
        if any(map(contains_unknown, types.values())):
            return UNKNOWN
        name = _name_of(role, types)
        self.mixed[name] = types
        SHOWN[name] = " or ".join(map(describe, types.values()))
        return DataT(name)

    def by_word(self, types: Iterable[Any]) -> dict[str, list[Any]]:
        """The types among `types`, and in the mixed unions among them, by their words in `PYTHON_TYPES`; types without a word
        by "". Tensors are told apart by kind and rank where they have several, and by shape where these may differ."""
        found: dict[str, list[Any]] = {}
        for type in types:
            inside = self.mixed.get(type.name, {}) if isinstance(type, DataT) else {}
            for t in inside.values() or [type]:
                found.setdefault(word_of_type(t), []).append(t)
        tensors = [*found.get("tensor", ()), *found.get("", ())]  # masks have no other word
        words = [*map(kind_and_rank, tensors)]
        ranks: dict[str, list[Any]] = {}
        for word, t in zip(words, tensors, strict=True):
            ranks.setdefault(word, []).append(t)
        shapes = {rank: inside for rank, its in ranks.items() if self.may_differ((inside := by_shape(its)).keys())}
        if all(words) and (len(ranks) > 1 or "" in found or shapes):
            found.pop("tensor", None)
            found.pop("", None)
            for rank, its in ranks.items():
                found |= shapes.get(rank, {rank: its})
        return dict(sorted(found.items()))

    def may_differ(self, shapes: Set[str]) -> bool:
        """Whether tensors of these shapes keep them in one place, as an earlier attempt has found that they need to."""
        return False

    def tree(self, node: Any, type_of: Callable[[DataT], Any]) -> DataT:
        """The type of trees whose nodes are tuples, which the model makes: `node` is what is known of the tuple's type, and
        `type_of(tree)` is its type when the trees below are of type `tree`."""
        if node not in self.trees:
            name = self.unused_name(f"Tree_{len(self.trees)}")
            SHOWN[name] = "a tuple with others of its kind in it"
            self.trees[node] = DataT(name)
            self.mixed[name] = {"tuple": type_of(DataT(name))}
        return self.trees[node]

    def tree_over(self, leaf: Any, node: Any, none: bool = False) -> DataT:
        """The type of trees of tuples or lists, of which `made_trees` says what `leaf` and `node` are. With `none` there may be
        None in place of one below."""
        none = none and not has_leaf(node, self.optional(leaf))  # else there may be None in any case
        if (leaf, node, none) not in self.trees:
            name = self.unused_name(f"Tree_{len(self.trees)}")
            word, kind = ("str" if leaf == SYMBOL else leaf.kind), word_of_type(node)
            SHOWN[name] = f"{TYPES[word][0]}, or {TYPES[kind][0]} with others of its kind in it"
            tree = self.trees[leaf, node, none] = DataT(name)
            part = self.optional(tree) if none else tree
            below = with_trees_below(node, leaf, part, lambda t: t if none and t == part else self.optional(t))
            self.mixed[name] = {word: leaf, kind: below}
            self.with_leaves.add(name)
            if is_guess(node):
                self.guessed[tree] = leaf, kind
        return self.trees[leaf, node, none]

    def tree_in_results(self, type: DataT) -> DataT:
        """The type that represents a self-containing shared list or mixed union in results: a tree."""
        if (type, "in results") not in self.trees:
            name = self.unused_name(f"Tree_{len(self.trees)}")
            SHOWN[name] = describe(type)
            self.trees[type, "in results"] = DataT(name)
            self.mixed[name] = {}
        return self.trees[type, "in results"]

    def widen_tree(self, tree: DataT, word: str, type: Any) -> None:
        """Note the type of the parts of such a tree that are of the Python type `word` (one of PYTHON_TYPES)."""
        self.changed |= self.mixed[tree.name].get(word) != type
        self.mixed[tree.name][word] = type

    def number_or_string(self, number: ScalarT) -> DataT:
        """The type of what is an int, or a bool, or else a string, in what the model makes."""
        name = f"Made_{number.kind}_str"
        SHOWN[name] = f"{TYPES[number.kind][0]} or {TYPES['str'][0]}"
        self.mixed[name] = {number.kind: number, "str": SYMBOL}
        return DataT(name)

    def numbers_apart(self, types: Sequence[Any]) -> Any:
        """The type of values that are ints or floats, where `types` are those of both and no others; else None."""
        words = {word for t in types if t is not NEVER for word in self.by_word([t])}
        if not words.issuperset(("int", "float")) or not words <= {"int", "float"}:
            return None
        return self.either({"int": INT, "float": FLOAT}, "Numbers")

    def number_or_tensor(self, types: Sequence[Any]) -> dict[str, list[Any]]:
        """The types among `types` by their words, where these are several of bool, int, float and tensors of one kind; else
        none."""
        words = self.by_word(t for t in types if t is not NEVER)
        if len(words) < 2 or not words.keys() <= {"bool", "int", "float", "tensor"}:
            return {}
        return {word: words[word] for word in PYTHON_TYPES if word in words}

    def mixture(self, types: Mapping[str, Any], nested: bool, none: bool, listed: bool = False) -> Any:
        """The type of the elements of tuples that the model makes: of the types of Python's own that `types` has by their words
        in `PYTHON_TYPES`, `nested` also tuples of such elements, `listed` also lists of them, and with `none` also None."""
        node = (tuple(types.items()), nested, none, listed)
        if node not in self.trees:
            words = [x for x in PYTHON_TYPES if x in types or nested and x == "tuple" or listed and x == "list"]
            tree = self.trees[node] = DataT(self.unused_name(f"Tree_{len(self.trees)}"))
            SHOWN[tree.name] = " or ".join(TYPES[x][0] for x in words)
            item = self.optional(tree) if none else tree
            inside = {"tuple": ListT(item, kind=TUPLE), "list": ListT(item)}
            self.mixed[tree.name] = {x: types[x] if x in types else inside[x] for x in words}
        return self.optional(self.trees[node]) if none else self.trees[node]

    def class_in_mixed(self, name: str, word: str) -> type:
        """The class of the values of a mixed union for one of `PYTHON_TYPES`."""
        return Enum if word == "str" and name in self.enums else TYPES[word][1]


def _name_of(role: Role, types: Any) -> UnionName:
    """The name of a union that the compiler adds, which these types are in."""
    return union_name(f"{role}_" + "".join(c if c.isalnum() else "_" for c in repr(types)), role)
