"""All that the language consists of: importing these files fills the tables of the evaluator."""

# ruff: noqa: F401 (imported for what they enter in the tables)

from __future__ import annotations

from backends.acrobat.frontend.evaluator import (
    attributes,
    builtins,
    calls,
    comparisons,
    comprehensions,
    conditions,
    construction,
    container_classes,
    container_methods,
    containers,
    expressions,
    failures,
    fields,
    given,
    indexing,
    iterators,
    kept,
    lists,
    markers,
    mathematics,
    mutation,
    nested,
    nones,
    operators,
    records,
    set_operators,
    statements,
    strings,
    sums,
    truths,
)
from backends.acrobat.frontend.tensors import indexing as tensor_indexing
from backends.acrobat.frontend.tensors import (
    ints,
    library_words,
    lifting,
    making,
    masks,
    memory,
    methods,
    modules,
    operations,
    parts,
    products,
    reductions,
    shapes,
    torch_functions,
)
from backends.acrobat.frontend.tensors import operators as tensor_operators
