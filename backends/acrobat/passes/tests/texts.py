"""Programs as text, before and after a pass."""

from __future__ import annotations

from collections.abc import Callable

from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import verify


def after(text: str, *passes: Callable[[Program], Program]) -> Program:
    """The program that the passes make of `text`; all are verified."""
    program = read_program(text)
    verify(program)
    for run in passes:
        program = run(program)
        verify(program)
    return program


def assert_makes(before: str, expected: str, *passes: Callable[[Program], Program]) -> None:
    """The passes make `expected` of `before`."""
    assert print_program(after(before, *passes)).strip() == expected.strip()
