"""A schedule as text, for people and for golden tests.

    def forward(tree: Tree) -> f32[4]    # model.py:12
      match tree    # model.py:13
        Leaf(0 word: int)
          x: f32[4] = row(@embedding, word) [0]    # model.py:14
          give x [0]
        Node(0 left: Tree, 1 right: Tree)
          l: f32[4] = call forward(left) [after arguments]    # model.py:16
          r: f32[4] = call forward(right) [after arguments]    # model.py:16
          h: f32[4] = record cell(l, r) [at max(start, l, r)]    # model.py:17
          give h [h]

Brackets contain depths: from which on a value can be used (none if it holds no tensor), at which work is recorded, and after
which a call or wait comes. There, a variable's name means the depth of the variable, and `arguments` that of the function's
arguments. Values are printed as `ir.printer` prints them.
"""

from __future__ import annotations

from pathlib import PurePath

from backends.acrobat.core.span import NOWHERE, Span
from backends.acrobat.ir.printer import INDENT, atom_text, binder_text, name_text, print_expr, type_text, with_text
from backends.acrobat.schedule import nodes as s


def print_schedule(schedule: s.Schedule) -> str:
    """A schedule as text, which is made for readers and never read back."""
    head = f"entry {name_text(schedule.program.entry)}, phases {schedule.phases}, static levels {schedule.static_levels}"
    return "\n\n".join([head, *map(print_function, schedule.functions.values())]) + "\n"


def print_function(f: s.HostFunction) -> str:
    """One function of a schedule as text."""
    kind = " waits" * f.waits + " counted" * f.counts_calls
    params = ", ".join(map(binder_text, f.params))
    return "\n".join([_at(f"def {name_text(f.name)}({params}) -> {type_text(f.result)}{kind}", f.span), *_body(f.body)])


def depth_text(depth: s.Depth) -> str:
    """A depth as the text of schedules has it, as in `max(x, static 2)`."""
    match depth:
        case s.Of(var):
            return name_text(var)
        case s.Arguments():
            return "arguments"
        case s.StaticDepth(level):
            return f"static {level}"
        case s.Start(segment, levels):
            return "start" + f" of segment {segment}" * bool(segment) + f" + {levels}" * bool(levels)
        case s.Join(()):
            return "0"
        case s.Join(depths):
            return f"max({', '.join(map(depth_text, depths))})"


def _body(body: s.Body) -> list[str]:
    lines = [line for statement in body.statements for line in _statement(statement)]
    match body.end:
        case s.Give():
            lines.append(f"give {_give(body.end)}")
        case s.Next(values):
            lines.append(f"next {', '.join(map(_give, values))}")
        case s.NextOf(values_tuple):
            lines.append(f"next of {_give(values_tuple)}")
        case s.IfBranch() | s.MatchBranch():
            lines += _branch("", body.end)
    return [INDENT + line for line in lines]


def _statement(x: s.Statement) -> list[str]:
    match x:
        case s.Assign(var, value, depth):
            return [_at(f"{binder_text(var)} = {print_expr(value)}{_depth(depth)}", value.span)]
        case s.Record(var, launch, at):
            text = f"{binder_text(var)} = record {print_expr(launch).removeprefix('launch ')} [at {depth_text(at)}]"
            return [_at(text, launch.span)]
        case s.CallFunction(var, call, depth, waits, counted):
            flags = " waits" * waits + " counted" * counted
            return [_at(f"{binder_text(var)} = {print_expr(call)} [after {depth_text(depth)}]{flags}", call.span)]
        case s.Wait(tensor, depth, span):
            return [_at(f"wait {atom_text(tensor)} [after {depth_text(depth)}]", span)]
        case s.Enter(phase):
            return [f"enter phase {phase}"]
        case s.Ready(var, of):
            return [f"{binder_text(var)} = ready {atom_text(of)} [0]"]
        case s.Pad(var, depth, levels):
            return [f"pad {name_text(var)} [{depth_text(depth)} + {levels}]"]
        case s.NextSegment(var):
            return [f"next segment {name_text(var)}"]
        case s.Choose(var, branch):
            return _branch(f"{binder_text(var)} = ", branch)
        case s.MapLoop(var, item, iterable, body, waits, captures, span):
            fork = f" fork({', '.join(v.name for v in captures)})" if waits else ""
            return [_at(f"{binder_text(var)} = map {binder_text(item)} in {atom_text(iterable)}{fork}", span), *_body(body)]
        case s.FoldLoop(var, item, iterable, variables, init, body, span):
            carried = with_text(variables, map(_give, init))
            head = f"{binder_text(var)} = fold {binder_text(item)} in {atom_text(iterable)}{carried}"
            return [_at(head, span), *_body(body)]
        case s.WhileLoop(var, variables, init, cond, body, span):
            return [
                _at(f"{binder_text(var)} = loop{with_text(variables, map(_give, init))}", span),
                "while",
                *_body(cond),
                "do",
                *_body(body),
            ]
        case s.Fork(branches):
            lines = ["fork"]
            for b in branches:
                lines += [f"{INDENT}{binder_text(b.var)} = branch({', '.join(v.name for v in b.captures)})"]
                lines += [INDENT + line for line in _body(b.body)]
            return [*lines, "join"]


def _branch(start: str, branch: s.IfBranch | s.MatchBranch) -> list[str]:
    if isinstance(branch, s.IfBranch):
        head = _at(f"{start}if {atom_text(branch.cond)}", branch.span)
        return [head, *_body(branch.then), "else", *_body(branch.orelse)]
    lines = [_at(f"{start}match {atom_text(branch.value)}", branch.span)]
    for arm in branch.arms:
        lines += [f"{INDENT}{name_text(arm.case)}({', '.join(f'{i} {binder_text(v)}' for i, v in arm.fields)})"]
        lines += [INDENT + line for line in _body(arm.body)]
    return lines


def _give(x: s.Give) -> str:
    return atom_text(x.value) + _depth(x.depth)


def _depth(depth: s.Depth | None) -> str:
    return "" if depth is None else f" [{depth_text(depth)}]"


def _at(text: str, span: Span) -> str:
    """`text` with the file and line of the model's source, if it has any."""
    return text if span == NOWHERE or not span.line else f"{text}    # {PurePath(span.file).name}:{span.line}"
