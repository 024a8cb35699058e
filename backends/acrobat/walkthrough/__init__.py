"""`docs/treelstm.md`: one TreeLSTM through every stage of the compiler, with the text that each stage really prints.

`render()` compiles the model of `workloads/treelstm` at a small size, runs three trees, and puts what came out into
`template.md`; `python -m backends.acrobat.walkthrough` writes the document. A test renders it again and compares.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import torch
from jinja2 import Environment, StrictUndefined

from backends.acrobat.compiler import compile
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise, schedule_of
from backends.acrobat.schedule.printer import print_schedule
from workloads.treelstm.model import Leaf, Node, TreeLSTM

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "treelstm.md"
HIDDEN = 16
TREES = (
    Node([Node([Leaf(3), Leaf(1)]), Node([Leaf(4), Leaf(1), Leaf(5)])]),
    Node([Leaf(9), Node([Leaf(2), Leaf(6)])]),
    Leaf(7),
)
"""The mini-batch of the document: eight and five nodes, and a tree that is a single leaf."""


class Missing(Exception):
    """The text of a stage lacks what the template shows of it: the template must be adapted to the compiler."""


def paragraph(text: str, start: str) -> str:
    """The paragraph of `text` whose first line begins with `start`, up to the next empty line. Raises Missing."""
    for candidate in re.split(r"\n\s*\n", text):
        if candidate.strip().startswith(start):
            return candidate.strip("\n")
    raise Missing(f"no paragraph begins with {start!r}")


def lines(text: str, pattern: str) -> str:
    """The lines of `text` in which the regular expression is found. Raises Missing if there is none."""
    if not (matching := [line.strip() for line in text.splitlines() if re.search(pattern, line)]):
        raise Missing(f"no line has {pattern!r}")
    return "\n".join(matching)


def function(source: str, name: str) -> str:
    """The C++ function of this name, with the comment above it. Raises Missing."""
    match = re.search(rf"^// {re.escape(name)}, [^\n]*\n.*?^}}$", source, flags=re.MULTILINE | re.DOTALL)
    if match is None:
        raise Missing(f"no function {name}")
    return match[0]


def launches(schedule: Sequence[tuple[int, int, str, int]]) -> str:
    """The launches of a mini-batch as rows of a Markdown table."""
    return "\n".join(f"| {phase} | {depth} | `{kernel}` | {rows} |" for phase, depth, kernel, rows in schedule)


def render() -> str:
    """The text of the document. Raises Missing if the compiler does not print what the template shows."""
    torch.manual_seed(0)
    module = TreeLSTM(100, HIDDEN, 5)
    program = build(module)
    stages = {"front end": print_program(program)}

    def observe(name: str, result: Program) -> None:
        stages[name] = print_program(result)

    finished = optimise(program, Options(), observe)
    executable = compile(module)
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters.update(paragraph=paragraph, lines=lines)
    template = environment.from_string(Path(__file__).with_name("template.md").read_text())
    return template.render(
        model="\n\n".join(textwrap.dedent(inspect.getsource(f)) for f in (TreeLSTM.encode, TreeLSTM.compose)),
        stages=stages,
        schedule=print_schedule(schedule_of(finished, Options())),
        code=function(executable.source.read_text(), "TreeLSTM.encode"),
        launches=launches(executable.schedule(TREES)),
        counters=executable.counters(),
        operations=operations(TREES),
    )


def operations(trees: Sequence[Leaf | Node]) -> int:
    """How many calls of `leaf`, `compose` and the classifier eager PyTorch makes for these trees."""

    def nodes(tree: Leaf | Node) -> int:
        return 1 if isinstance(tree, Leaf) else 1 + sum(nodes(child) for child in tree.children)

    return sum(nodes(tree) + 1 for tree in trees)
