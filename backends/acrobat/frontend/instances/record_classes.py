"""Record classes: the classes that stand in the compiled program for dictionaries with names as keys, and for ordinary classes
whose objects the model makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any


class RecordOf:
    """The base of record classes. Each stands for the dictionaries with the keys `keys_of_record`, or for a class
    (`stand_in`). Its own attributes have long names, since each key is one too: `{"keys": ..., "values": ...}`."""

    __slots__ = ()
    keys_of_record: tuple[str, ...] = ()
    class_of_record: type | None = None
    """An ordinary class whose objects the model makes, in the place of a dictionary."""

    @classmethod
    def object_of_class(cls, fields: dict[str, Any]) -> Any:
        """The object of the ordinary class with these attributes."""
        assert cls.class_of_record is not None
        if issubclass(cls.class_of_record, tuple):  # a named tuple
            return cls.class_of_record(**fields)
        record: Any = object.__new__(cls.class_of_record)
        for name, value in fields.items():
            object.__setattr__(record, name, value)
        return record

    @classmethod
    def record_of_fields(cls, fields: dict[str, Any]) -> RecordOf:
        """The record with these values of its keys."""
        record = object.__new__(cls)
        for name, value in fields.items():
            setattr(record, name, value)
        return record


@cache
def _record_class(keys: tuple[str, ...]) -> type:
    """The class that stands for dictionaries with these keys in this order."""
    return type("dict_" + "_".join(keys), (RecordOf,), {"keys_of_record": keys, "__slots__": keys})


class Records:
    """The record classes of one program: one for each set of keys. Results have the keys in the order of the first dictionary
    with that set, which is one of the sample if there is such a dictionary, else the first that is compiled."""

    def __init__(self) -> None:
        self._classes: dict[frozenset[str], type] = {}

    def class_of(self, keys: Iterable[str]) -> type:
        """The class that stands for dictionaries with exactly these keys, the same one for the same keys in any order."""
        ordered = tuple(keys)
        return self._classes.setdefault(frozenset(ordered), _record_class(ordered))


def is_name(key: Any) -> bool:
    """Whether a key of a dictionary may be the name of a field of a record."""
    return isinstance(key, str) and key.isidentifier()


def stand_in(cls: type, keys: Sequence[str]) -> type:
    """The record class that stands in the compiled program for an ordinary class with the attributes `keys`."""
    return type(cls.__name__, (RecordOf,), {"keys_of_record": tuple(keys), "__slots__": tuple(keys), "class_of_record": cls})
