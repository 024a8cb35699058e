"""Objects of the sample that contain themselves by the fields that the program reads, such as `node.parent.children`.

Each object of their classes is read once, however it is reached, and is there before what is in it is read: what leads back to
it is the same value of the program (`Datatypes.tell_apart`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from backends.acrobat.frontend.instances.observed import attributes
from backends.acrobat.frontend.instances.record_classes import Records

Field = tuple[type, str]
"""A class and the name of a field."""


def cycle(
    instances: Sequence[Any], read: Mapping[type, Sequence[str]], records: Records, apart: Container[type] = ()
) -> list[Field]:
    """The fields, one after the other, by which an object leads back to itself, where only the fields `read` of each class are
    followed. The last one is that of the object deepest inside. Empty if no object contains itself, other than by objects that
    are all of the classes `apart`: all cycles then have such objects, since each ends where a walk comes back."""
    visited: set[int] = set()
    for instance in instances:
        within: dict[int, Field | None] = {id(instance): None}  # what the present value is inside of -> the field it was in
        pending = [(id(instance), _parts(instance, read, records))]
        while pending:
            value, parts = pending[-1]
            first = next(((part, field) for part, field in parts if id(part) not in visited), None)
            if first is None:
                pending.pop()
                within.pop(value)
                visited.add(value)
                continue
            part, field = first
            if id(part) in within:
                path = list(within)
                around = [within[x] for x in path[path.index(id(part)) + 1 :]] + [field]
                fields = [x for x in around if x is not None]
                if fields and not all(cls in apart for cls, _ in fields):
                    return fields
                continue
            within[id(part)] = field
            pending.append((id(part), _parts(part, read, records)))
    return []


def _parts(value: Any, read: Mapping[type, Sequence[str]], records: Records) -> Iterator[tuple[Any, Field | None]]:
    """The values directly inside `value`, without numbers and strings, each with the field that holds it, or None."""
    match value:
        case dict() if not all(isinstance(k, str) and k.isidentifier() for k in value):
            inside: list[tuple[Any, Field | None]] = [(v, None) for v in value.values()]
        case dict():
            record = records.class_of(value)
            names = read.get(record, ())
            inside = [(v, (record, k) if names else None) for k, v in value.items() if k in names or not names]
        case list() | tuple() | set() | frozenset() if type(value) not in read:
            inside = [(v, None) for v in value]
        case _:
            fields = (attributes(value) or {}) if type(value) in read else {}
            inside = [(fields[name], (type(value), name)) for name in read.get(type(value), ()) if name in fields]
    return ((v, field) for v, field in inside if isinstance(v, (dict, list, tuple, set, frozenset)) or type(v) in read)
