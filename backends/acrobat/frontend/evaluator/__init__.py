"""A partial evaluator of Python's syntax tree: it computes what is known at compile time and stages the rest as core IR.

The evaluator knows no library. The tables in `tables.py` say what each node of the syntax tree, each operation on a kind of
value and each function means; the files of the folders and of `tensors/` enter their handlers there.

The folders by subject. Each imports only those that stand before it here, so that they can be read in this order; but the last
four show sooner what all of it is for. Each names its files in its docstring, in an order in which they can be read. A new
file is entered there and in the layers of `pyproject.toml`, and in `language.py` where it enters handlers in tables.

`syntax/` asks the syntax tree alone.
`rewriting/` is what becomes of a function's syntax tree before it is compiled.
`frame/` is the function that is being compiled: what is known there, how values become operands, how arguments are bound.
`choices/` has values that are one of several: chosen when the program runs, of one of several types, or None.
`ownership/` says who refers to a value, and so whether it may be changed in place.
`lists/` has the lists of the program, `zip`, and iterators that have a name.
`objects/` has objects, of the instance, made by the model, or known at compile time as dictionaries and strings may be.
`callables/` has functions that are values.
`scalars/` has operators and functions of numbers and strings.
`conditions/` has comparisons, truth values and what a test tells.
`containers/` has sets and dictionaries.
`changes/` has changes in place, and the targets of assignments.
`loops/` has loops, comprehensions and what they walk over.
`expressions/` has the other expressions, indexing and calls.
`builtins/` has Python's own functions and methods.
`statements/` has statements, `match` and `try`.
"""
