"""Reads kernels and static blocks from their printed text."""

from __future__ import annotations

import re

from backends.acrobat.core.span import Span
from backends.acrobat.core.units import Block, Instr, Kernel, Mode, Param, Step, StepArg, StepResult
from backends.acrobat.ir.tests.lines import TextLine

STEP_RESULT = re.compile(r"\d+\.\d+", re.ASCII)


class UnitReader:
    """Reads lines one after the other; kernels and blocks go to `units`."""

    def __init__(self, text: str) -> None:
        self.lines: list[TextLine] = []
        for number, line in enumerate(text.splitlines(), 1):
            if stripped := line.strip():
                self.lines.append(TextLine(number, len(line) - len(line.lstrip()), stripped))
        self.at = 0
        self.last: TextLine | None = None
        self.units: dict[str, Kernel | Block] = {}

    def peek(self, indent: int) -> TextLine | None:
        """The next line if it is indented by `indent`, else None."""
        line = self.lines[self.at] if self.at < len(self.lines) else None
        return line if line and line.indent == indent else None

    def line(self, indent: int) -> TextLine:
        """Take the next line. Raises ReadError if it is not indented by `indent`, or if a rest of the line before is unread."""
        if self.last:
            self.last.end()
        line = self.peek(indent)
        if line is None:
            where = self.lines[min(self.at, len(self.lines) - 1)]
            where.fail(f"expected a line indented by {indent}")
        self.at += 1
        self.last = line
        return line

    def span(self, line: TextLine) -> Span:
        return Span("<text>", line.row, line.indent)

    def params(self, line: TextLine) -> tuple[Param, ...]:
        """The parameters of a kernel or block, which the rest of the line lists."""

        def one() -> Param:
            name = line.name()
            line.expect(":")
            mode = line.name()
            if mode not in {m.value for m in Mode}:
                line.fail(f"{mode!r} is no mode of an argument")
            return Param(name, line.tensor_type(), Mode(mode))

        line.expect("(")
        return tuple(line.many(one, ")"))

    def kernel(self, line: TextLine) -> None:
        """Read the kernel whose name is next in `line`."""
        name, params = line.name(), self.params(line)
        body = []
        while not (line := self.line(2)).has("return"):
            result = line.name()
            line.expect(":")
            t = line.tensor_type()
            line.expect("=")
            op = line.name()
            args, attrs = line.arguments(lambda line=line: n if (n := line.number()) is not None else line.name())  # type: ignore[misc]
            body.append(Instr(result, op, tuple(args), tuple(attrs.items()), t))
        self.units[name] = Kernel(name, params, tuple(body), tuple(line.many(line.name, "the end of the line")))

    def block(self, line: TextLine) -> None:
        """Read the static block whose name is next in `line`. Its kernels stand above it."""
        name, params = line.name(), self.params(line)
        steps, groups = list[Step](), tuple[tuple[str, str], ...]()

        def argument(line: TextLine) -> StepArg:
            return step_result(line) if STEP_RESULT.fullmatch(line.next.text) else line.name()

        def step_result(line: TextLine) -> StepResult:
            if not STEP_RESULT.fullmatch(line.next.text):
                line.fail(f"{line.next.text!r} is no result of a step, such as `0.1`")
            return StepResult(*map(int, line.take().text.split(".")))

        while not (line := self.line(2)).has("return"):
            if line.has("groups"):

                def group(line: TextLine = line) -> tuple[str, str]:
                    param = line.name()
                    line.expect(":")
                    return param, line.name()

                groups = tuple(line.many(group, "the end of the line"))
                continue
            kernel = self.units.get(line.name())
            if not isinstance(kernel, Kernel):
                line.fail("a step is no kernel defined above")
            args, _ = line.arguments(lambda line=line: argument(line))  # type: ignore[misc]
            steps.append(Step(kernel, tuple(args), line.name() if line.has("over") else None))
        results = line.many(lambda: step_result(line), "the end of the line")
        self.units[name] = Block(name, params, tuple(steps), tuple(results), groups)
