"""Types of what stands at the places of a sample."""

from __future__ import annotations

from typing import Any

import torch

from backends.acrobat.core.types import (
    BOOL,
    FLOAT,
    INT,
    PYTHON_TYPES,
    SET,
    TUPLE,
    DataT,
    ListT,
    TensorKind,
    TensorWord,
    TupleT,
    tensor_word,
)
from backends.acrobat.frontend.described import SHOWN
from backends.acrobat.frontend.instances.added_unions import TYPES, AddedUnions
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.instances.places import Place
from backends.acrobat.frontend.tensor_types import ragged_type
from backends.acrobat.frontend.types import SYMBOL, UNKNOWN

SHORT = 4
"""The longest extent of a tensor of ints with several dimensions that is fixed where all instances of a sample have it."""


KINDS_OF_TENSORS: dict[torch.dtype, TensorKind] = {torch.int64: "ints", torch.int32: "ints", torch.bool: "mask"}
"""The kinds of tensors of a dtype other than float32."""
KINDS = {"str": "symbol", "object": "class"}
"""The words of `PYTHON_TYPES` that places in a sample have other words for (`Place.kinds`)."""


class SampleTypes(AddedUnions):
    """The types of the places of a sample, with the unions that they need."""

    def __init__(self) -> None:
        super().__init__()
        self.of_class: dict[type, str] = {}  # class -> union
        self._mixed_at: dict[Place, str] = {}  # place in the sample -> its mixed union
        self._settled: set[str] = set()  # mixed unions whose types are those of this round of compiling
        self.ints_as_floats = False  # whether an int has become a float, in a place that has floats too
        self.asked_for_ints = False  # whether the program asks of a float whether it is an int
        self.numbers_as_tensors = False  # whether a number has become a tensor, in a place that has tensors too
        self.asked_for_tensors = False  # whether the program asks of a tensor whether it is one
        self.walked: set[type] = set()  # record classes of dictionaries that the program walks over

    def start_round(self) -> None:
        """Have the types of mixed unions found anew: more may be known of the sample than when they were found last."""
        self._settled.clear()

    @property
    def tells_numbers_apart(self) -> bool:
        """Whether ints and floats in one place keep their types: an earlier attempt has found that the program asks for
        them."""
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
                tensor_word(KINDS_OF_TENSORS.get(d, "tensor"), rank) for d in place.dtypes for rank in place.shapes
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
            self.enums |= {name} if place.enums else set()
            SHOWN[name] = " or ".join(shown) if len(shown) > 1 else f"{shown[0]} with others of its kind in it"
        name = self._mixed_at[place]
        if name not in self._settled:
            self._settled.add(name)  # entered before they are found: a tree's type has itself in it
            result = {x: self._plain_type_at(place, KINDS.get(x, x), what) for x in PYTHON_TYPES if KINDS.get(x, x) in kinds}
            self.changed = self.changed or result != self.mixed[name]
            self.mixed[name] = result
        return DataT(name)

    def _plain_type_at(self, place: Place, kind: str, what: str) -> Any:
        match kind:
            case "int" | "bool" | "float":
                return {"int": INT, "bool": BOOL, "float": FLOAT}[kind]
            case "symbol":
                return SYMBOL
            case "tensor":
                return self._tensor_at(place, what, next(iter(place.shapes)))
            case TensorWord(rank=rank):
                return self._tensor_at(place, what, rank)
            case "list":
                assert place.item is not None
                return ListT(self.type_at(place.item, f"an element of {what}", of_list=True))
            case "set":
                assert place.item is not None
                return ListT(self.type_at(place.item, f"an element of {what}"), kind=SET)
            case "tuple":
                if len(place.sizes) > 1 and place.item is not None:
                    return ListT(self.type_at(place.item, f"an element of {what}"), kind=TUPLE)
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
