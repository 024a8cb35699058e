"""The data structures of a schedule: what the host code of one instance does, statement by statement.

A *depth* is the level of the schedule at which tensor work stands; a value can be used from the level after the work that makes
it. The host code of each instance counts depths as it goes: it is all the dependence tracking there is at run time (paper:
inline depth computation). In one segment of one phase:

    level 0 .. static_levels - 1    work with a static depth (`StaticDepth`), which needs no counting
    level static_levels             `Start`: where all counted work can begin
    ...                             counted work: at the largest depth of its operands, never before `Start`

        def f(tree)                                   l = call left        r = call right
          l = call f(left)                                    \\ depth l      / depth r
          r = call f(right)                                    \\            /
          h = record cell(l, r) at max(start, l, r)           h = record at max(start, l, r)
          return h                                                 | depth h = that depth + 1

A *segment* is a stretch of levels after which all instances stand at one depth again, however many levels each took before; a
*phase* is a stage of the entry function, and its levels come after all levels of the phases before it.

Operands are atoms of the core IR. A variable is bound once in its function. `Pad` changes the depth of a variable until the
body that contains the `Pad` ends, `NextSegment` until the body that binds the variable ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import Type, holds_tensor
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.nodes import Atom, Var

# ---- depths


@dataclass(frozen=True, slots=True)
class Of:
    """The depth of the variable `var`, which may be any of several variables that always have the same depth."""

    var: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """The depth from which on all arguments of the function can be used. The caller passes it."""


@dataclass(frozen=True, slots=True)
class Start:
    """The first depth for counted work, or a depth `segment` segments and `levels` levels after it."""

    segment: int = 0
    levels: int = 0


@dataclass(frozen=True, slots=True)
class StaticDepth:
    """The depth of work that is the same in every instance."""

    level: int


@dataclass(frozen=True, slots=True)
class Join:
    """The largest of `depths`. With none (`READY`) it is 0, the depth of all that exists before any work."""

    depths: tuple[Depth, ...]


Depth: TypeAlias = Of | Arguments | Start | StaticDepth | Join
READY = Join(())

# ---- statements

Pure: TypeAlias = n.Op | n.Host | n.Item | n.Tuple | n.Field | n.ListOf | n.Construct


@dataclass(frozen=True, slots=True)
class Assign:
    """Binds `var` to `value`, which the host computes at once; an `Item` reads the tensor that the `Wait` before it waited for.
    `depth` is that of `var`, None if it holds no tensor."""

    var: Var
    value: Pure
    depth: Depth | None


@dataclass(frozen=True, slots=True)
class Record:
    """One call of a unit is recorded at depth `at`. The depth of `var`, its result or the tuple of its results, is one more."""

    var: Var
    launch: n.Launch
    at: Depth


@dataclass(frozen=True, slots=True)
class CallFunction:
    """Calls a function and passes `depth` as the depth of the arguments; the callee returns the depth of `var`. `waits`: the
    callee may wait. `counts_calls`: the callee is passed the number of calls around it (see `HostFunction`)."""

    var: Var
    call: n.Call
    depth: Depth
    waits: bool
    counts_calls: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """The instance waits for `tensor`, which is there when all work recorded up to `depth` has been computed."""

    tensor: Atom
    depth: Depth
    span: Span


@dataclass(frozen=True, slots=True)
class Enter:
    """Work after this statement is recorded in phase `phase`."""

    phase: int


@dataclass(frozen=True, slots=True)
class Ready:
    """`var` is another name of `of`, which an earlier phase computes. Its depth is `READY`."""

    var: Var
    of: Var


@dataclass(frozen=True, slots=True)
class Pad:
    """A ghost operator: changes the depth of a variable from `depth` to `levels` levels later."""

    var: str
    depth: Depth
    levels: int


@dataclass(frozen=True, slots=True)
class NextSegment:
    """Changes the depth of a variable to the start of the segment after the one in which it is computed."""

    var: str


@dataclass(frozen=True, slots=True)
class Choose:
    """`var` is the value of the arm that is taken."""

    var: Var
    branch: IfBranch | MatchBranch


@dataclass(frozen=True, slots=True)
class MapLoop:
    """The list of the values of `body`, one for each `item`. `waits`: `body` may wait, so each element is a branch of a fork
    (see `Fork`), and `captures` are the variables from outside that `body` uses."""

    var: Var
    item: Var
    iterable: Atom
    body: Body
    waits: bool
    captures: tuple[Var, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class FoldLoop:
    """`vars` start as `init`; each item changes them to what `body` ends with. `var` is the tuple of their last values."""

    var: Var
    item: Var
    iterable: Atom
    vars: tuple[Var, ...]
    init: tuple[Give, ...]
    body: Body
    span: Span


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """As `FoldLoop`, but `body` is repeated while the value of `cond` is true."""

    var: Var
    vars: tuple[Var, ...]
    init: tuple[Give, ...]
    cond: Body
    body: Body
    span: Span


@dataclass(frozen=True, slots=True)
class ForkBranch:
    """One branch of a `Fork`: `var` is the value of `body`, and `captures` are the variables from outside that `body` uses."""

    var: Var
    body: Body
    captures: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """Runs each branch until it ends or waits, so that all branches wait at the same time; ends when all of them have ended."""

    branches: tuple[ForkBranch, ...]


Statement: TypeAlias = (
    Assign | Record | CallFunction | Wait | Enter | Ready | Pad | NextSegment | Choose | MapLoop | FoldLoop | WhileLoop | Fork
)

# ---- bodies and how they end


@dataclass(frozen=True, slots=True)
class Give:
    """Ends a body with its value: a function's result, the value of an arm, an element of a list. `depth` as in `Assign`."""

    value: Atom
    depth: Depth | None


@dataclass(frozen=True, slots=True)
class Next:
    """Ends a round of a loop: all its variables change to `values` at once."""

    values: tuple[Give, ...]


@dataclass(frozen=True, slots=True)
class NextOf:
    """As `Next`; the new values are the components of the tuple `whole`."""

    whole: Give


@dataclass(frozen=True, slots=True)
class IfBranch:
    """At the end of a body: the arm that is taken gives the body's value."""

    cond: Atom
    then: Body
    orelse: Body
    span: Span


@dataclass(frozen=True, slots=True)
class BranchArm:
    """`fields` are the fields of the case that the body uses, each with its index in the case."""

    case: str
    fields: tuple[tuple[int, Var], ...]
    body: Body


@dataclass(frozen=True, slots=True)
class MatchBranch:
    """As `IfBranch`: the arm for the case of the union that `value` has gives the body's value."""

    value: Atom
    arms: tuple[BranchArm, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Body:
    """Statements, one after the other, and how they end."""

    statements: tuple[Statement, ...]
    end: Give | Next | NextOf | IfBranch | MatchBranch


@dataclass(frozen=True, slots=True)
class HostFunction:
    """`waits`: it may wait. `counts_calls`: it is passed the number of calls around it, so that an endless recursion is found
    even if the C++ compiler makes it a loop, which needs no stack. (Functions that may wait are counted with their frames.)"""

    name: str
    params: tuple[Var, ...]
    result: Type
    body: Body
    waits: bool
    counts_calls: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of `program`, whose types, weights and entry remain in use. `recursive`: it has a recursive function."""

    program: n.Program
    functions: Mapping[str, HostFunction]
    phases: int
    static_levels: int
    recursive: bool

    def holds(self, type: Type) -> bool:
        """Whether values of the type hold tensors, and so have a depth."""
        return holds_tensor(type, self.program.datatypes)
