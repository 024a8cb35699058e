"""Functions, methods and modules that the arms of a statement give to one name: `if deep: act = self.inner`. They are known
when the model is compiled; which of them the name means is a number of the program."""

from __future__ import annotations

from dataclasses import dataclass, field

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.evaluator.choices.choice import holds_only, is_function
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import known
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.values import Dyn, Static, Value


@dataclass
class NamedFunctions:
    """What the arms give to one name. `outside`: the variables that all arms see; `builder`: of the chain around them."""

    outside: set[str]
    builder: Builder
    alternatives: list[Value] = field(default_factory=list)
    lost: bool = False
    """Whether a function is none any more behind the statement, since it uses what only its arm has computed."""

    def number(self, f: Frame, value: Value | None) -> Value:
        """The number that an arm gives for its function, noted as one of the alternatives. To be called at the arm's end."""
        there = value is not None and (is_function(value) or value == Static(None))
        if value is None or not there or f.builder is not self.builder and not holds_only(value, self.outside):
            self.lost = True
            return Static(0)
        at = Static(len(self.alternatives))
        if isinstance(value, OneOf):
            self.alternatives += value.alternatives
            return f.host("add", [value.index, at], INT)
        self.alternatives.append(value)
        return at

    def chosen(self, number: Value) -> Value:
        """What the name means behind the statement, which gave this number."""
        is_known, at = known(number)
        if is_known:
            only: Value = self.alternatives[at]
            return only
        assert isinstance(number, Dyn)
        return OneOf(number, tuple(self.alternatives))
