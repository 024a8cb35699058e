"""Lists and tuples in generated host code of both kinds. That their programs are right the tests of the front end check."""

# mypy: ignore-errors
from __future__ import annotations

from backends.acrobat import compile
from backends.acrobat.frontend.tests import idioms
from backends.acrobat.frontend.tests.changes import test_untouched_lists as untouched
from backends.acrobat.frontend.tests.test_idioms import LISTS, module
from backends.acrobat.options import Options


def lists_without_elements(xs):
    """As results: in tuples, dictionaries, objects and optionals."""
    return (
        untouched.nothing_beside_a_number(xs),
        untouched.nothing_of_each_class(xs),
        untouched.nothing_or_none(xs),
        untouched.objects_without_children(xs),
    )


def spread(xs):
    """`*xs` of run-time length, to parameters and to `max`."""
    longer = [*xs, 4, 6]
    difference = lambda a, b: a - b  # noqa: E731
    return (
        difference(*longer[-2:]),
        idioms.spread_over_a_nested_function(longer),
        max(3, *xs, 2, 1),
        min(*longer),
        max(*longer, 5),
    )


def constants(xs):
    """Lists of the source that an index of run time chooses."""
    return idioms.constant_lists_in_tuples(xs), idioms.expanding_a_grammar(xs), idioms.constant_list_or_a_new_one(xs)


def tables(xs):
    """Functions that a key or an index of run time chooses."""
    changed = idioms.table_of_functions_that_change_a_list(xs)
    return idioms.table_of_functions(xs), idioms.table_of_lambdas(xs), idioms.list_of_functions(xs), changed


def everything(xs):
    return lists_without_elements(xs), spread(xs), constants(xs), tables(xs)


def test_generated_code(codegen, cache) -> None:
    executable = compile(module(everything), sample=LISTS, cache_folder=cache, options=Options(codegen=codegen))
    assert executable(LISTS) == [everything(xs) for xs in LISTS]
