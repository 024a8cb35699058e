"""The records of a schedule: what one instance does on the host, in the order in which it does it.

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

Operands are atoms of the core IR. A variable is bound once in its function. `Pad` changes the depth of a variable
from where it stands to the end of its block, `NextSegment` to the end of the variable's own block.
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
    """The depth of a variable. Of several variables that always have one depth, `var` is any one."""

    var: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """The depth at which all arguments of the function can be used; its caller hands it over."""


@dataclass(frozen=True, slots=True)
class Start:
    """The first depth for counted work: `segment` segments and `levels` levels after the ordinary one."""

    segment: int = 0
    levels: int = 0


@dataclass(frozen=True, slots=True)
class StaticDepth:
    """The depth of work that is the same in every instance."""

    level: int


@dataclass(frozen=True, slots=True)
class Join:
    """The largest of some depths; of none: 0, where what is there from the start can be used."""

    depths: tuple[Depth, ...]


Depth: TypeAlias = Of | Arguments | Start | StaticDepth | Join
READY = Join(())

# ---- statements

Pure: TypeAlias = n.Op | n.Host | n.Item | n.Tuple | n.Field | n.ListOf | n.Construct


@dataclass(frozen=True, slots=True)
class Assign:
    """`var` is `value`, made on the host from values that are there; an `Item` reads what a `Wait` before it has waited for.
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
    """`depth` is handed over as that of the arguments; the callee hands back that of `var`. `waits`: the callee may wait.
    `counted`: the callee is given the number of calls it is below the first."""

    var: Var
    call: n.Call
    depth: Depth
    waits: bool
    counted: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """The instance waits until what is recorded up to `depth` has been computed; `tensor` is then there."""

    tensor: Atom
    depth: Depth
    span: Span


@dataclass(frozen=True, slots=True)
class Enter:
    """What follows is recorded in this phase."""

    phase: int


@dataclass(frozen=True, slots=True)
class Ready:
    """`var` is `of`, which an earlier phase has computed: it is there from the start of this one."""

    var: Var
    of: Var


@dataclass(frozen=True, slots=True)
class Pad:
    """A ghost operator: the variable's depth is so many levels after `depth`, which it had before."""

    var: str
    depth: Depth
    levels: int


@dataclass(frozen=True, slots=True)
class NextSegment:
    """The variable's depth is the beginning of the segment after the one in which it was computed."""

    var: str


@dataclass(frozen=True, slots=True)
class Choose:
    """`var` is what the arm that is taken gives."""

    var: Var
    branch: IfBranch | MatchBranch


@dataclass(frozen=True, slots=True)
class MapLoop:
    """The list of what `body` gives for each `item`. `waits`: each element is a branch of its own (see `Fork`), which uses
    `captures` from outside."""

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
    """As `FoldLoop`, while `cond` gives true."""

    var: Var
    vars: tuple[Var, ...]
    init: tuple[Give, ...]
    cond: Body
    body: Body
    span: Span


@dataclass(frozen=True, slots=True)
class ForkBranch:
    var: Var
    body: Body
    captures: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """Each branch runs until it ends or waits, so that all reach their waits together; joined when all have ended."""

    branches: tuple[ForkBranch, ...]


Statement: TypeAlias = (
    Assign | Record | CallFunction | Wait | Enter | Ready | Pad | NextSegment | Choose | MapLoop | FoldLoop | WhileLoop | Fork
)

# ---- blocks and how they end


@dataclass(frozen=True, slots=True)
class Give:
    """The block's value: the function's result, an arm's, an element of a list. `depth` as of `Assign`."""

    value: Atom
    depth: Depth | None


@dataclass(frozen=True, slots=True)
class Next:
    """A round of a loop ends: its variables change to these values, all at once."""

    values: tuple[Give, ...]


@dataclass(frozen=True, slots=True)
class NextOf:
    """As `Next`, to the components of a tuple."""

    whole: Give


@dataclass(frozen=True, slots=True)
class IfBranch:
    """At the end of a block: the arm that is taken gives the block's value."""

    cond: Atom
    then: Body
    orelse: Body
    span: Span


@dataclass(frozen=True, slots=True)
class BranchArm:
    """`fields`: those that the body uses, by their number in the case."""

    case: str
    fields: tuple[tuple[int, Var], ...]
    body: Body


@dataclass(frozen=True, slots=True)
class MatchBranch:
    value: Atom
    arms: tuple[BranchArm, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Body:
    statements: tuple[Statement, ...]
    end: Give | Next | NextOf | IfBranch | MatchBranch


@dataclass(frozen=True, slots=True)
class HostFunction:
    """`waits`: it may wait. `counted`: it is given the number of calls it is below the first, so that an endless
    recursion is found although it may need no stack. (Calls of functions that may wait are counted with their frames.)"""

    name: str
    params: tuple[Var, ...]
    result: Type
    body: Body
    waits: bool
    counted: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Schedule:
    """`program` is what was lowered; of it, types, weights and the entry are still asked for. `recursive`: some function calls
    itself, directly or not."""

    program: n.Program
    functions: Mapping[str, HostFunction]
    phases: int
    static_levels: int
    recursive: bool

    def holds(self, type: Type) -> bool:
        """Whether values of the type hold tensors, and so have a depth."""
        return holds_tensor(type, self.program.datatypes)
