"""Record classes: the classes that stand in the compiled program for dictionaries with names as keys, and for ordinary classes
whose objects the model makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from backends.acrobat.core.made_objects import with_attributes


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
        return with_attributes(cls.class_of_record, fields)

    @classmethod
    def record_of_fields(cls, fields: dict[str, Any]) -> RecordOf:
        """The record with these values of its keys."""
        record = object.__new__(cls)
        for name, value in fields.items():
            setattr(record, name, value)
        return record


@cache
def _record_class(keys: tuple[str, ...], lists: frozenset[str] = frozenset()) -> type:
    """The class that stands for dictionaries with these keys in this order, of which those in `lists` have lists."""
    name = "_".join(["dict", *keys, *(f"_{key}_list" for key in sorted(lists))])
    return made_record_class(name, keys, None)


class Records:
    """The record classes of one program: one for each set of keys. Results have the keys in the order of the first dictionary
    with that set, which is one of the sample if there is such a dictionary, else the first that is compiled. Where a key has a
    list in some dictionaries and a tensor or number in others (`d["x"] = torch.stack(d["x"])`), which an attempt finds out,
    there is one class for each of these from the next attempt on."""

    def __init__(self) -> None:
        self._classes: dict[frozenset[str], type] = {}
        self._plain: dict[type, type] = {}  # class of dictionaries with lists at some keys -> the one without
        self._telling_keys: dict[type, frozenset[str]] = {}  # class -> the keys by whose lists dictionaries are told apart

    def class_of(self, keys: Iterable[str]) -> type:
        """The class that stands for dictionaries with exactly these keys, the same one for the same keys in any order."""
        ordered = tuple(keys)
        return self._classes.setdefault(frozenset(ordered), _record_class(ordered))

    @property
    def telling_key_count(self) -> int:
        """How many keys there are by whose lists dictionaries are told apart."""
        return sum(map(len, self._telling_keys.values()))

    def plain(self, cls: type) -> type:
        """The class of dictionaries without lists at the keys by which they are told apart; other classes as they are."""
        return self._plain.get(cls, cls)

    def telling_keys(self, cls: type) -> frozenset[str]:
        """The keys by whose lists the dictionaries with the keys of `cls` are told apart."""
        return self._telling_keys.get(self.plain(cls), frozenset())

    def tell(self, cls: type, key: str) -> bool:
        """Have dictionaries with the keys of `cls` be told apart by whether they have a list at `key`; False if they are."""
        before = self.telling_keys(cls)
        self._telling_keys[self.plain(cls)] = before | {key}
        return key not in before

    def with_lists(self, cls: type, keys: frozenset[str]) -> type:
        """The class of dictionaries with the keys of `cls` which have lists at those in `keys`, of its `telling_keys`."""
        plain: Any = self.plain(cls)
        if not keys:
            return plain  # type: ignore[no-any-return]
        result = _record_class(plain.keys_of_record, keys)
        self._plain[result] = plain
        return result


def is_name(key: Any) -> bool:
    """Whether a key of a dictionary may be the name of a field of a record."""
    return isinstance(key, str) and key.isidentifier()


def made_record_class(name: str, keys: tuple[str, ...], of_class: type | None) -> type:
    """A record class like one of another process."""
    return type(name, (RecordOf,), {"keys_of_record": keys, "__slots__": keys, "class_of_record": of_class})


def stand_in(cls: type, keys: Sequence[str]) -> type:
    """The record class that stands in the compiled program for an ordinary class with the attributes `keys`."""
    return made_record_class(cls.__name__, tuple(keys), cls)
