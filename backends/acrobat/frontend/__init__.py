"""The front end, from Python source to core IR: `build` compiles the `forward` of a module and everything that it calls."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from torch import nn

from backends.acrobat.core.span import Span
from backends.acrobat.deep import as_deep_as_needed
from backends.acrobat.errors import CompileError, InstanceError, Problem
from backends.acrobat.frontend import language  # noqa: F401 (fills the evaluator's tables)
from backends.acrobat.frontend.instances.divided import Division
from backends.acrobat.frontend.instances.joined import JoinedClasses
from backends.acrobat.frontend.instances.unshared import have_one_name
from backends.acrobat.frontend.program import AttemptAgain, NumbersAsTensors, ProgramBuilder
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.work import TooMuchWork
from backends.acrobat.ir.instances import read_instance
from backends.acrobat.ir.nodes import Program

MEANS: Sequence[dict[str, Any]] = (
    {"by_name": True},
    {"mixtures": True},
    {"references": True},
    {"shared": "named"},
    {"shared": "typed"},
    {"shared": "alike"},
    {"named_dicts": True},
    {"shapes": True},
)
"""What a further attempt may begin with (`Datatypes.joined`), in this order, since each comes at a cost."""
CHEAP = {"by_name", "references"}
"""Those that are tried before classes are divided."""
ATTEMPTS = 100
"""The most attempts of which each begins with what the one before has met. Models take a few."""
DIVISIONS = 6
"""The most attempts with classes that are divided into versions, each of which joins those that the one before has met."""


def build(module: nn.Module, instance_type_hint: Any = None, sample: Sequence[Any] | None = None) -> Program:
    """The program of `module.forward`, which takes one instance. The type of the instance is `instance_type_hint`, or without
    one what the annotation says; where that does not say all, it is read off the instances in `sample`. Weights have the values
    of this moment, in float32. Raises CompileError with all problems found."""
    return build_with_reads(module, instance_type_hint, sample)[0]


def build_with_reads(
    module: nn.Module, instance_type_hint: Any = None, sample: Sequence[Any] | None = None
) -> tuple[Program, Reads]:
    """The program as `build` gives it, and a record of the values outside the source that it depends on."""

    def work() -> tuple[Program, Reads]:
        builder, program = _built(module, instance_type_hint, sample)
        builder.reads.note_call(module)
        return program, builder.reads

    try:
        return as_deep_as_needed(work)
    except RecursionError:
        raise too_deep(module) from None
    except (CompileError, InstanceError, MemoryError):
        raise
    except Exception as error:
        if (where := getattr(error, "compiled_at", None)) is None:
            raise
        what = f"the compiler fails here, which is a defect of its own: {type(error).__name__}: {error}"
        raise CompileError([Problem(where, what, "please report it; the same written in another way may compile")]) from error


def _built(module: nn.Module, hint: Any, sample: Sequence[Any] | None) -> tuple[ProgramBuilder, Program]:
    """The program and what has built it. Where `forward` changes an object of the instance, it changes a copy of its own, if
    that has no other name. Raises CompileError."""
    changed = set[type]()
    try:
        return _built_copying(module, hint, sample, frozenset(), changed)
    except TooMuchWork:
        raise
    except CompileError:
        if sample is not None and changed and have_one_name(sample, changed):
            with suppress(CompileError):
                return _built_copying(module, hint, sample, frozenset(changed), set())
        raise


def _built_copying(
    module: nn.Module, hint: Any, sample: Sequence[Any] | None, copied: frozenset[type], changed: set[type]
) -> tuple[ProgramBuilder, Program]:
    """The program and what has built it, where `forward` copies arguments of the classes `copied` at first. Those of the
    instance's classes of which it changes objects are added to `changed`. Where an attempt ends with problems, another one
    begins with what it has met. Before that has a cost for the program, classes are divided into versions; where that does not
    help they are not. At last values keep their types exactly, at a higher cost. Where that does not help either, the problems
    are those from before. Raises CompileError."""
    division, met, endless = Division(), set[frozenset[str]](), set[Any]()
    divided = JoinedClasses(division=division, endless=endless, copied=copied)
    try:
        return _built_with(module, hint, sample, divided, met, divides=True)
    except TooMuchWork:
        raise
    except CompileError as error:
        problems = error
    changed |= division.changed
    begun = division.is_begun
    if (built := _built_divided(module, hint, sample, divided, met, problems, begun)) is not None:
        return built
    if begun:
        try:
            return _built_with(module, hint, sample, JoinedClasses(endless=endless, copied=copied), met)
        except TooMuchWork:
            raise
        except CompileError as error:
            problems = error
        if (built := _built_divided(module, hint, sample, divided, met, problems)) is not None:
            return built
    exact = JoinedClasses(exact=True, endless=endless, copied=copied)
    if exact.with_mixtures(met).mixtures <= JoinedClasses().with_mixtures(met).mixtures:
        raise problems from None
    try:
        return _built_with(module, hint, sample, exact, met)
    except TooMuchWork:
        raise problems from None
    except CompileError as error:  # where nothing of the first problems is left, these stand in the way
        raise (problems if isinstance(problems, NumbersAsTensors) or _lines(problems) & _lines(error) else error) from None


def _built_divided(
    module: nn.Module,
    hint: Any,
    sample: Sequence[Any] | None,
    joined: JoinedClasses,
    met: set[frozenset[str]],
    problems: CompileError,
    begun: bool = False,
) -> tuple[ProgramBuilder, Program] | None:
    """The program and what has built it, with the classes divided that `problems` concern, or that are already where it has
    `begun`; None where that does not help."""
    division = joined.division
    for _ in range(DIVISIONS):
        if not begun and not division.joins and not division.divide(problems.problems):
            return None
        begun = False
        try:
            return _built_with(module, hint, sample, joined, met)
        except CompileError:
            if not division.joins:
                return None
    return None


def _built_with(
    module: nn.Module,
    hint: Any,
    sample: Sequence[Any] | None,
    joined: JoinedClasses,
    met: set[frozenset[str]],
    observed: bool = False,
    divides: bool = False,
) -> tuple[ProgramBuilder, Program]:
    """The program and what has built it, which begins with what `joined` says. `observed`: whether the type of an instance is
    that of the sample whatever `forward` says, as it is in a further attempt where instances of the sample are not of that
    type. Where an attempt ends with problems, another one begins with what it has met: classes that stand in one place are a
    union, types of recursions are known as far as the source tells them. Where a result may have a tensor for a number, the
    next attempt keeps the two apart. All types of Python's that it has met in one place are added to `met`. Raises
    CompileError, also where versions of one class stand in one place, which is noted in the division of `joined`; and with
    `divides` set also where the next attempt would have a cost, and there are classes to be divided before."""
    closes, begun_with = True, joined
    unshared: CompileError | None = None  # the problems before lists were shared ones
    closed: tuple[ProgramBuilder, CompileError] | None = None  # the last attempt with closing, and its problems
    before: CompileError | None = None  # the problems before tuples were taken for trees, and several types for one mixed union
    for _ in range(ATTEMPTS):
        builder = ProgramBuilder(module, closes, joined, observed)
        try:
            program = builder.build(hint, sample)
            if hint is None and sample is not None and not builder.observed and not _fit(program, sample):
                with suppress(CompileError):  # else the program takes those instances that are of the type
                    return _built_with(module, hint, sample, begun_with, met, observed=True)
            return _with_shapes(module, hint, sample, builder, joined) or (builder, program)
        except AttemptAgain:
            continue
        except NumbersAsTensors as error:
            met.update(builder.datatypes.met.mixtures)
            numbers = joined.with_numbers()
            if numbers is joined:
                raise
            try:
                return _built_with(module, hint, sample, numbers, met, observed)
            except CompileError:
                raise error from None
        except TooMuchWork:
            raise
        except RecursionError:
            if unshared is not None:
                raise unshared from None
            raise
        except CompileError as error:
            met.update((*builder.datatypes.met.mixtures, *builder.datatypes.met.shapes.joined()))
            if joined.division.join(builder.datatypes.met.classes(in_displays=False)):
                raise
            more = builder.datatypes.met.joined(trees=not builder.closing)
            if not builder.closing:
                for means in MEANS:
                    if more is not joined:
                        break
                    more = builder.datatypes.met.joined(trees=False, **means)
                    costs = more is not joined and not CHEAP.issuperset(means)
                    if divides and costs and joined.division.divide(error.problems):
                        raise
            if builder.closing:
                closed = builder, error
            elif more is joined and closed is not None and not _lines(closed[1]) & _lines(error):
                # what is left may be trees that are to be closed, and what was in the way then needs one of the means
                for means in MEANS:
                    more = closed[0].datatypes.met.joined(trees=False, **means)
                    if more is not joined:
                        if divides and not CHEAP.issuperset(means) and joined.division.divide(closed[1].problems):
                            raise
                        unshared = unshared or (closed[1] if more.shared else None)
                        break
                closed = None
            if more.shared and unshared is None:
                unshared = error
            if more is joined and not builder.closing:
                if joined.division.join(builder.datatypes.met.classes()):
                    raise
                if unshared is not None:
                    raise unshared from None
                if before is not None and _lines(before) & _lines(error):
                    raise before from None  # that has not helped
                raise
            if before is None and (more.trees or more.mixtures):
                before = error
            # without closing, its problems speak of the source only; what begins with more may need it again
            closes = not builder.closing and (closes or more is not joined)
            joined = more
    raise unsettled(module)


def _fit(program: Program, sample: Sequence[Any]) -> bool:
    """Whether all instances of a sample are of the type that the annotations say."""
    try:
        for instance in sample:
            read_instance(program, instance)
    except InstanceError:
        return False
    return True


def _with_shapes(
    module: nn.Module, hint: Any, sample: Sequence[Any] | None, builder: ProgramBuilder, joined: JoinedClasses
) -> tuple[ProgramBuilder, Program] | None:
    """A further attempt that keeps broadcast shapes apart, which the last one, by `builder`, merged into a varying extent. None
    if there are none, or if it fails."""
    told_apart = joined.with_shapes(builder.datatypes.met.shapes.broadcast)
    if told_apart is joined:
        return None
    try:
        return _built_with(module, hint, sample, told_apart, set(), builder.observed)
    except CompileError:
        return None


def _lines(error: CompileError) -> set[tuple[str, int]]:
    return {(p.span.file, p.span.line) for p in error.problems}


def too_deep(module: nn.Module) -> CompileError:
    """The error for a model that is nested so deeply that compiling it overflows every stack."""
    message = f"{type(module).__name__} or what it calls is nested too deeply to be compiled"
    return CompileError(_at_module(module, message, "split long functions, or look values up in a list"))


def unsettled(module: nn.Module) -> TooMuchWork:
    """The error for a model of which each build meets something new."""
    message = (
        f"each of {ATTEMPTS} attempts of {type(module).__name__} meets values of types of which the one before did not know"
    )
    return TooMuchWork(
        _at_module(module, message, "annotate what functions take and give, or keep values of one type in each place")
    )


def _at_module(module: nn.Module, message: str, advice: str) -> list[Problem]:
    return [Problem(Span(inspect.getsourcefile(type(module)) or "<unknown>", 0), message, advice)]
