"""All that the language consists of: importing these files fills the tables of the evaluator."""

# ruff: noqa: F401 (imported for what they enter in the tables)

from __future__ import annotations

from backends.acrobat.frontend.evaluator.builtins import (
    as_written,
    builtins,
    copying,
    iterables,
    iterators,
    list_methods,
    mathematics,
    operator_functions,
    ordering,
    sorted_lists,
    sums,
    taken_apart,
)
from backends.acrobat.frontend.evaluator.callables import function_tables, nested
from backends.acrobat.frontend.evaluator.changes import container_methods, list_changes, mutation, written_fields
from backends.acrobat.frontend.evaluator.choices import nones
from backends.acrobat.frontend.evaluator.conditions import conditions, membership, numbers_given, truths
from backends.acrobat.frontend.evaluator.containers import (
    constant_dicts,
    container_classes,
    containers,
    given_out,
    records,
    set_operators,
    shared_lists,
    walked_sets,
)
from backends.acrobat.frontend.evaluator.expressions import (
    callees,
    calls,
    constant_callees,
    dict_items,
    displays,
    expressions,
    indexing,
    length,
    markers,
    object_operators,
    special_methods,
)
from backends.acrobat.frontend.evaluator.frame import compiled_nodes, keywords
from backends.acrobat.frontend.evaluator.lists import walking
from backends.acrobat.frontend.evaluator.loops import comprehensions, endless
from backends.acrobat.frontend.evaluator.objects import (
    attributes,
    constant_graphs,
    constant_objects,
    construction,
    enumerations,
    fields,
    made_dates,
)
from backends.acrobat.frontend.evaluator.scalars import checksums, numbers, operators, regex, strings
from backends.acrobat.frontend.evaluator.statements import assignments, catching, failures, statements
from backends.acrobat.frontend.tensors import (
    buffers,
    coercions,
    contexts,
    conversions,
    extents,
    host_indexing,
    ints,
    item_assignment,
    joining,
    library_words,
    lifting,
    lookups,
    made_modules,
    making,
    mask_arithmetic,
    mask_operations,
    masks,
    memory,
    methods,
    module_containers,
    modules,
    normalisation,
    one_hot,
    operations,
    padding,
    parts,
    products,
    python_numbers,
    reductions,
    reshaping,
    shapes,
    torch_functions,
    triangles,
)
from backends.acrobat.frontend.tensors import indexing as tensor_indexing
from backends.acrobat.frontend.tensors import operators as tensor_operators
