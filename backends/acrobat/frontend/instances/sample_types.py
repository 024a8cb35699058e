"""Types of what stands at the places of a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum
from typing import Any

import torch
from torch import Tensor

from backends.acrobat.core.types import BOOL, FLOAT, INT, PYTHON_TYPES, RANKS, DataT, ListT, ScalarT, TupleT, Type
from backends.acrobat.frontend.described import SHOWN, describe
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.instances.fixed_shapes import by_shape
from backends.acrobat.frontend.instances.made_trees import Guess, is_guess, with_trees_below
from backends.acrobat.frontend.instances.places import Place
from backends.acrobat.frontend.tensor_types import kind_and_rank, ragged_type
from backends.acrobat.frontend.types import NEVER, SYMBOL, UNKNOWN, Role, UnionName, contains_unknown, union_name, word_of_type

SHORT = 4
"""The longest extent of a tensor of ints with several dimensions that is fixed where all instances of a sample have it."""


KINDS_OF_TENSORS = {torch.int64: "ints", torch.int32: "ints", torch.bool: "mask"}
"""The words of `RANKS` without the rank, for tensors of a dtype other than float32."""
KINDS = {"str": "symbol", "object": "class"}
"""The words of `PYTHON_TYPES` that places in a sample have other words for (`Place.kinds`)."""


class _TypesAndShapes(dict[str, tuple[str, type]]):
    def __missing__(self, word: str) -> tuple[str, type]:
        return f"a tensor of shape ({word.partition('_')[2].replace('x', ', ')})", Tensor


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
        **{word: (f"a {word[:-1]} of rank {word[-1]}", Tensor) for word in RANKS},
    }
)
"""Of each of `PYTHON_TYPES` its words in messages, and the class; also with a shape behind it."""


class SampleTypes:
    """The types of the places of a sample, and the unions that they need: optionals, and mixed unions of Python's own types."""

    def __init__(self) -> None:
        self.of_class: dict[type, str] = {}  # class -> union
        self.cases: dict[str, tuple[type, ...]] = {}  # union -> classes
        self.optionals: dict[str, Type] = {}  # optional -> type of what it may hold
        self.mixed: dict[str, dict[str, Any]] = {}  # mixed union -> of PYTHON_TYPES those that it has, and their types here
        self.trees: dict[Any, DataT] = {}  # what is known of trees of tuples, or a leaf and a tuple -> their mixed union
        self.with_leaves: set[str] = set()  # those of them that `tree_over` has made
        self.guessed: dict[DataT, Guess] = {}  # those of these of whose nodes no more is known than that they are lists
        self._enums: set[str] = set()  # mixed unions whose strings are members of Enums
        self._mixed_at: dict[Place, str] = {}  # place in the sample -> its mixed union
        self._settled: set[str] = set()  # mixed unions whose types are those of this round of compiling
        self.changed = False  # whether a type was changed in this round of compiling
        self.ints_as_floats = False  # whether an int has become a float, in a place that has floats too
        self.asked_for_ints = False  # whether the program asks of a float whether it is an int
        self.numbers_as_tensors = False  # whether a number has become a tensor, in a place that has tensors too
        self.asked_for_tensors = False  # whether the program asks of a tensor whether it is one
        self.walked: set[type] = set()  # record classes of dictionaries that the program walks over

    def start_round(self) -> None:
        """Have the types of mixed unions found anew: more may be known of the sample than when they were found last."""
        self._settled.clear()

    def unused_name(self, name: str) -> str:
        """The name, or one like it where a union has it: a class may be called as a mixed union is."""
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
        """Whether tensors of these shapes keep them in one place, as an earlier build has found that they need to."""
        return False

    @property
    def tells_numbers_apart(self) -> bool:
        """Whether ints and floats in one place keep their types: an earlier build has found that the program asks for them."""
        return False

    def note_int_as_float(self) -> None:
        """Note that an int becomes a float, because it stands where floats do."""
        self.changed |= self.asked_for_ints and not self.ints_as_floats
        self.ints_as_floats = True

    def note_number_as_tensor(self) -> None:
        """Note that a number becomes a tensor, because it stands where tensors do."""
        self.changed |= self.asked_for_tensors and not self.numbers_as_tensors
        self.numbers_as_tensors = True

    def type_at(self, place: Place, what: str, of_list: bool = False) -> Any:
        """The type of what was seen at a place of a sample; `what` names the place in errors, `of_list` says that elements of
        lists are there, which are computed with together. Raises AnnotationError."""
        place = place.representative()
        if place.trouble:
            raise AnnotationError(place.trouble)
        kinds = place.types
        if place.is_dict and place.of_names:
            kinds = kinds - {"class"} | {"dict"}
        if kinds == {"int", "float"} and (of_list or not self.tells_numbers_apart):
            self.note_int_as_float()
            kinds = {"float"}
        if "set" in kinds and len(kinds) > 1:
            raise AnnotationError(f"{what} is a set in one place of the sample and no set in another")
        if "tensor" in kinds and len(place.shapes) > 1:
            kinds = kinds - {"tensor"} | {
                f"{KINDS_OF_TENSORS.get(d, 'tensor')}{rank}" for d in place.dtypes for rank in place.shapes
            }
        if len(kinds) > 1 or place.recursive:
            inner = self._mixed_type_at(place, kinds, what)
        else:
            inner = self._plain_type_at(place, next(iter(kinds), ""), what)
        return self.optional(inner) if "none" in place.kinds and kinds else inner

    def _mixed_type_at(self, place: Place, kinds: set[str], what: str) -> Any:
        """The type of a place that has values of several of Python's types, or has trees in tuples or lists."""
        if place not in self._mixed_at:
            words = [x for x in PYTHON_TYPES if KINDS.get(x, x) in kinds]
            shown = [TYPES[x][0] for x in words]
            name = self.unused_name("Mixed_" + "_".join(words))
            self._mixed_at[place], self.mixed[name] = name, {}
            self._enums |= {name} if place.enums else set()
            SHOWN[name] = " or ".join(shown) if len(shown) > 1 else f"{shown[0]} with others of its kind in it"
        name = self._mixed_at[place]
        if name not in self._settled:
            self._settled.add(name)  # entered before they are found: a tree's type has itself in it
            result = {x: self._plain_type_at(place, KINDS.get(x, x), what) for x in PYTHON_TYPES if KINDS.get(x, x) in kinds}
            self.changed = self.changed or result != self.mixed[name]
            self.mixed[name] = result
        return DataT(name)

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
        """The type of what results have in place of values of a type, shared lists or a mixed union with such, that may have
        others of it in them."""
        if (type, "in results") not in self.trees:
            name = self.unused_name(f"Tree_{len(self.trees)}")
            SHOWN[name] = describe(type)
            self.trees[type, "in results"] = DataT(name)
            self.mixed[name] = {}
        return self.trees[type, "in results"]

    def widen_tree(self, tree: DataT, word: str, type: Any) -> None:
        """Note of such a tree of which type the values are that are of one of PYTHON_TYPES."""
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

    def mixture(self, types: Mapping[str, Any], nested: bool, none: bool) -> Any:
        """The type of the elements of tuples that the model makes: of the types of Python's own that `types` has by their words
        in `PYTHON_TYPES`, `nested` also tuples of such elements, and with `none` also None."""
        node = (tuple(types.items()), nested, none)
        if node not in self.trees:
            words = [x for x in PYTHON_TYPES if x in types or nested and x == "tuple"]
            tree = self.trees[node] = DataT(self.unused_name(f"Tree_{len(self.trees)}"))
            SHOWN[tree.name] = " or ".join(TYPES[x][0] for x in words)
            inside = ListT(self.optional(tree) if none else tree, kind="tuple")
            self.mixed[tree.name] = {x: types.get(x, inside) for x in words}
        return self.optional(self.trees[node]) if none else self.trees[node]

    def class_in_mixed(self, name: str, word: str) -> type:
        """The class of the values of a mixed union for one of `PYTHON_TYPES`."""
        return Enum if word == "str" and name in self._enums else TYPES[word][1]

    def _plain_type_at(self, place: Place, kind: str, what: str) -> Any:
        match kind:
            case "int" | "bool" | "float":
                return {"int": INT, "bool": BOOL, "float": FLOAT}[kind]
            case "symbol":
                return SYMBOL
            case "tensor":
                return self._tensor_at(place, what, next(iter(place.shapes)))
            case word if word in RANKS:
                return self._tensor_at(place, what, int(word[-1]))
            case "list":
                assert place.item is not None
                return ListT(self.type_at(place.item, f"an element of {what}", of_list=True))
            case "set":
                assert place.item is not None
                return ListT(self.type_at(place.item, f"an element of {what}"), kind="set")
            case "tuple":
                if len(place.sizes) > 1 and place.item is not None:
                    return ListT(self.type_at(place.item, f"an element of {what}"), kind="tuple")
                return TupleT(tuple(self.type_at(p, f"element {i} of {what}") for i, p in enumerate(place.items)))
            case "dict":
                assert place.key is not None
                assert place.value is not None
                pair = TupleT((self.type_at(place.key, f"a key of {what}"), self.type_at(place.value, f"a value of {what}")))
                return ListT(pair, kind=place.kind_of_dict)
            case "class":
                return DataT(self.of_class[next(iter(place.classes))])
        return UNKNOWN  # nothing was seen: a list that was always empty, a field that was always None

    def _tensor_at(self, place: Place, what: str, rank: int) -> Any:
        if len(place.dtypes) > 1:
            raise AnnotationError(f"{what} is a tensor of several dtypes in the sample")
        (dtype,) = place.dtypes
        shape = list(place.shapes[rank])
        if dtype in (torch.int64, torch.int32, torch.bool) and shape:
            wider = [d for d, e in enumerate(shape) if e != 1] or [len(shape) - 1]
            if len(wider) == 1:  # one sentence of ints, which may have dimensions of extent 1 around it
                units = len(shape) - 1 - wider[0]
                one = 1 if len(shape) > 1 and shape[wider[0]] == 1 else None
                return ListT(BOOL if dtype == torch.bool else INT, rows=wider[0], extent=one, units=units)
            numbers: Any = BOOL if dtype == torch.bool else INT
            for extent in reversed(shape):  # extents count as varying, but for short ones, such as those of edges (2, n)
                numbers = ListT(numbers, rows=0, extent=extent if extent is not None and extent <= SHORT else None)
            return numbers
        if dtype != torch.float32:
            raise AnnotationError(f"{what} is a tensor of {dtype} and shape {tuple(shape)}: give float32, or a list of ints")
        return ragged_type(shape)


def _name_of(role: Role, types: Any) -> UnionName:
    """The name of a union that the compiler adds, which these types are in."""
    return union_name(f"{role}_" + "".join(c if c.isalnum() else "_" for c in repr(types)), role)
