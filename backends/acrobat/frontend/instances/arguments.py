"""What an instance gives of `forward`'s arguments, and what it gets beside them: default values and what is computed before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend.instances.prepared import Prepared


@dataclass(frozen=True)
class LeftOut:
    """The arguments that instances may leave out: of `count`, those at the end have `defaults`, each None, a number, a
    string or an empty tuple, in whose place is a list where the sample has lists. An instance is the tuple of those that it
    gives, or the first one alone."""

    count: int
    defaults: tuple[Any, ...]

    def whole(self, instance: Any) -> Any:
        """The tuple of all arguments; an instance that has not a fitting number of them as it is."""
        given = arguments_of(instance)
        missing = self.count - len(given)
        return (*given, *self.defaults[-missing:]) if 0 < missing <= len(self.defaults) else instance


@dataclass(frozen=True)
class Completion:
    """What makes an instance whole. `params` are the parameters that it gives; the arguments that are `prepared` from these
    come before them."""

    params: tuple[str, ...]
    left_out: LeftOut | None = None
    prepared: tuple[Prepared, ...] = ()

    def whole(self, instances: Sequence[Any]) -> list[Any]:
        """The instances with all arguments; those that have not a fitting number of them as they are. Raises InstanceError
        where an argument cannot be prepared."""
        return [self._whole(k, x) for k, x in enumerate(instances)]

    def _whole(self, k: int, instance: Any) -> Any:
        whole = instance if self.left_out is None else self.left_out.whole(instance)
        if not self.prepared:
            return whole
        arguments = (whole,) if len(self.params) == 1 else whole if type(whole) is tuple else (whole,)
        if len(arguments) != len(self.params):
            raise InstanceError(f"instance {k}: `forward` takes {len(self.params)} arguments, got {len(arguments)}")
        try:
            named = dict(zip(self.params, arguments, strict=True))
            return (*(p.of(named) for p in self.prepared), *arguments)
        except InstanceError as error:
            raise InstanceError(f"instance {k}: {error}") from error.__cause__

    def told(self, message: str) -> str:
        """A message about a whole instance as one about what the user gave."""

        def part(found: re.Match[str]) -> str:
            at = int(found[2]) - len(self.prepared)
            if at < 0:
                return f"{found[1]}, in what `{self.prepared[int(found[2])].written}` gives"
            return found[1] if len(self.params) == 1 else f"{found[1]}, at [{at}]"

        return re.sub(r"^(instance \d+), at \[(\d+)\]", part, message) if self.prepared else message


def arguments_of(instance: Any) -> tuple[Any, ...]:
    """The arguments that an instance gives."""
    return instance if type(instance) is tuple else (instance,)
