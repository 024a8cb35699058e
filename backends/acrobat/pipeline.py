"""The passes, in order, with the reason for each position. Between any two the verifier runs; `observe` sees each result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backends.acrobat.analyses.alignment import Alignment, alignment
from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.depth import static_depths
from backends.acrobat.analyses.facts import ScheduleFacts
from backends.acrobat.analyses.independence import dependent
from backends.acrobat.analyses.phases import phases
from backends.acrobat.analyses.placement import misplaced_markers
from backends.acrobat.analyses.recurrences import runs_through_elements
from backends.acrobat.analyses.waits import waits_of
from backends.acrobat.errors import CompileError
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.options import Executor, Options
from backends.acrobat.passes import (
    coarsen,
    constants,
    entry,
    folds,
    horizontal,
    inline,
    invariants,
    markers,
    segments,
    simplify,
    specialise,
    static_parts,
    tables,
    vertical,
)
from backends.acrobat.schedule.lower import lower
from backends.acrobat.schedule.nodes import Schedule
from backends.acrobat.schedule.verifier import verify_schedule
from backends.acrobat.settings import Observe


@dataclass(frozen=True, slots=True)
class Pass:
    """A function from program to program, with its name and whether the options switch it on."""

    name: str
    run: Callable[[Program], Program]
    on: bool = True


def passes(options: Options) -> list[Pass]:
    """All passes in their order, those that `options` switch off included."""
    return [
        # Phases need an entry that each instance runs exactly once; all later passes rely on that.
        Pass("entry", entry.run),
        # `parallel` was checked by `check_markers` and is not needed any more; `phase` is kept if phases are on.
        Pass("markers", lambda p: markers.erase(p, phases=options.phases)),
        # Later passes then see straight-line code as a whole.
        Pass("inline", lambda p: inline.run(p, weights=options.specialise)),
        # Gives the branches in which a marked entry ends phases of their own; after inlining, which brings in those of helpers.
        Pass("open tail", markers.open_tail),
        # Inlining leaves copies and tuple projections, which would hide equal operands.
        Pass("simplify", simplify.run),
        # Weights become operands that fusion may share. This pass looks at calls, so it runs before loops are reshaped.
        Pass("specialise", lambda p: specialise.run(p, clone=options.specialise)),
        # Sums over lists become operations, which fusion can take into a kernel.
        Pass("fold_sums", folds.run, options.fold_sums),
        Pass("simplify again", simplify.run),
        # Finds softmax and attention over lists, which show once `simplify` has joined maps over maps.
        Pass("segments", segments.run, options.fold_sums),
        # Layers over the rows of a ragged tensor then are one straight line for each row, which `coarsen` makes a block.
        Pass("zipped maps", simplify.join_zipped, options.coarsen),
        # Work on weights alone makes derived weights, which are weights to all later passes.
        Pass("constant work", constants.run, options.constant_work),
        # Packs gates of one input before tables and invariants, which then make one table, or one product, for all gates.
        Pass("gates", horizontal.pack, options.horizontal),
        # Takes products apart, so it runs before `horizontal` packs the rest; it needs to know which tensors are weights.
        Pass("tables", tables.run, options.tables),
        # Products that became lookups need no hoisting any more; what leaves a loop can be packed with work outside.
        Pass("invariants", invariants.run, options.invariants),
        # The rest of what does not depend on a recursion's results. The sums that it makes stay sums.
        Pass("static parts", static_parts.run, options.hoist),
        # Packs the products that remain, and makes sums of two products one product, while they still are operations.
        Pass("horizontal", lambda p: horizontal.run(p, hoist=options.hoist), options.horizontal),
        # Operations become kernels.
        Pass("vertical", lambda p: vertical.run(p, fuse=options.vertical, hoist=options.hoist)),
        # Kernels become static blocks.
        Pass("coarsen", lambda p: coarsen.run(p, hoist=options.hoist), options.coarsen),
    ]


def optimise(program: Program, options: Options, observe: Observe | None = None) -> Program:
    """`program` after all passes that are on. Raises CompileError for a misplaced `phase` or a wrong `parallel`, and
    VerifyError if a pass breaks the program."""
    verify(program)
    check_markers(program)
    for p in passes(options.effective()):
        if not p.on:
            continue
        changed = p.run(program)
        if changed is not program:
            verify(changed)
        program = changed
        if observe is not None:
            observe(p.name, program)
    return program


def check_markers(program: Program) -> None:
    """Raises CompileError with every `phase` that is misplaced and every `parallel` whose values depend on each other."""
    graph = call_graph(program)
    if problems := [*misplaced_markers(program, graph), *dependent(program, graph)]:
        raise CompileError(problems)


def facts_for(program: Program, options: Options) -> ScheduleFacts:
    """The facts that the schedule of the finished program depends on."""
    graph = call_graph(program)
    static = static_depths(program, graph)
    stages = phases(program, graph, static)
    waits = waits_of(program, graph)
    phase = dict(stages.of) if options.phases else {}
    return ScheduleFacts(
        static_depth=dict(static.depths) if options.hoist else {},
        static_levels=static.base if options.hoist else 0,
        phase=phase,
        phases=stages.count if options.phases else 1,
        waits=waits.functions,
        alignment=alignment(program, graph, static, waits, phase) if options.ghosts else Alignment(),
        recursive=frozenset(name for name in program.functions if name in graph.recursive),
    )


def executor_for(program: Program, options: Options) -> Executor:
    """The executor that runs the finished program: the one that the options name; with `auto` the one that suits the program.

    A program that waits keeps inline depth: at each wait the other executors run all recorded work, so they cannot defer it."""
    if options.executor != "auto":
        return options.executor
    waits = waits_of(program, call_graph(program)).functions
    return "dataflow" if program.entry not in waits and runs_through_elements(program) else "inline"


def schedule_of(program: Program, options: Options) -> Schedule:
    """The schedule of the finished program. Raises VerifyError if it breaks a rule of `schedule.verifier`."""
    schedule = lower(program, facts_for(program, options))
    verify_schedule(schedule)
    return schedule
