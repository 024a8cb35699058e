"""An entry that nothing calls: a model whose `forward` calls itself gets one of its own.

Several facts hold for the entry function only because each instance runs it exactly once: it alone moves an instance to the
next program phase (`analyses.phases`), and nothing follows the branches in which it ends, so they need no ghost operators.
A recursive `forward` runs once for each node of a tree. So the program gets a new entry that does nothing but call it, and
the recursion is an ordinary function, which can also be specialised to its weights. The meaning stays, and so does each
name in the model's source.

Source: our own.
"""

from __future__ import annotations

from dataclasses import replace

from backends.acrobat.ir.nodes import Call, Function, Program, Var
from backends.acrobat.ir.renaming import Names
from backends.acrobat.ir.visitor import walk

NAME = "entry"


def is_called(program: Program) -> bool:
    """Whether any function, the entry itself included, calls the entry."""
    nodes = (node for f in program.functions.values() for node in walk(f.body))
    return any(isinstance(node, Call) and node.function == program.entry for node in nodes)


def run(program: Program) -> Program:
    """`program` itself if nothing calls its entry; otherwise with a new entry that calls the old one."""
    if not is_called(program):
        return program
    old = program.functions[program.entry]
    name = Names(program.functions).fresh(NAME)
    parameter = Var(old.params[0].name, old.params[0].type, span=old.params[0].span)
    body = Call(old.name, (parameter,), old.result, span=old.span)
    entry = Function(name, (parameter,), old.result, body, span=old.span)
    return replace(program, functions={**program.functions, name: entry}, entry=name)
