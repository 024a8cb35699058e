"""Instances that give some of `forward`'s arguments and leave the others to their default values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LeftOut:
    """The arguments that instances may leave out: of `count`, those at the end have `defaults`, each None, a number or a
    string. An instance is the tuple of those that it gives, or the first one alone."""

    count: int
    defaults: tuple[Any, ...]

    def whole(self, instance: Any) -> Any:
        """The tuple of all arguments; an instance that has not a fitting number of them as it is."""
        given = arguments_of(instance)
        missing = self.count - len(given)
        return (*given, *self.defaults[-missing:]) if 0 < missing <= len(self.defaults) else instance


def arguments_of(instance: Any) -> tuple[Any, ...]:
    """The arguments that an instance gives."""
    return instance if type(instance) is tuple else (instance,)
