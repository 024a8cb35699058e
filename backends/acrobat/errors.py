"""Errors that belong to a line of the user's source, shown with that line, a caret and what to write instead."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

from backends.acrobat.core.span import Span


@dataclass(frozen=True, slots=True)
class Problem:
    """What is outside the language at one place of the source, with advice what to write instead."""

    span: Span
    message: str
    advice: str = ""

    def __str__(self) -> str:
        source = linecache.getline(self.span.file, self.span.line).rstrip("\n")
        width = (
            self.span.end_column - self.span.column if self.span.end_line == self.span.line else len(source) - self.span.column
        )
        caret = " " * self.span.column + "^" * max(1, width)
        lines = [f"{self.span.file}:{self.span.line}:{self.span.column + 1}: {self.message}", f"    {source}", f"    {caret}"]
        if self.advice:
            lines.append(f"    {self.advice}")
        return "\n".join(lines)


class CompileError(Exception):
    """The model lies outside the language; `problems` lists everything found in it, in source order."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems, key=lambda p: (p.span.file, p.span.line, p.span.column))
        count = len(self.problems)
        head = f"{count} problem{'s' if count > 1 else ''} in the model"
        super().__init__("\n\n".join([head, *map(str, self.problems)]))


class InstanceError(ValueError):
    """An instance does not fit the model's types, or the model failed on it; the message names the instance and the path."""


class ResourceError(RuntimeError):
    """Memory or recursion ran out during a run; the executable stays usable."""


class DeviceError(RuntimeError):
    """The device failed, or there is none that can be used; the message says what to do."""


class ModuleChanged(RuntimeError):
    """The module was changed after it was compiled: its weights, or anything else that is a constant in the compiled program.
    The message names the change and says whether to call `executable.load(module)` or to compile the model again."""


class ScheduleError(AssertionError):
    """Checked mode found an operand that was not computed before its kernel ran: a defect of the compiler."""
