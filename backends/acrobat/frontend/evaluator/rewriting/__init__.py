"""What becomes of a function's syntax tree before it is compiled, and what the rewritten function tells without being compiled.

`desugar.py` first: `plainly` gives a function in the form that is compiled. It uses `named_expressions.py`, `aliases.py`,
`changed_parts.py`, `growing_walks.py`, `iterators_or_none.py`, `limits.py`, `named_attributes.py`,
`numbered_walks.py` and `own_variables.py`.
`lazy_loops.py` puts generators around the loops over them, with `generator_bodies.py` for the generator, `loops_inside.py` for
the two together, `given_iterators.py` for `zip` and the like, and `asked_generators.py` for `next`. `class_tests.py`,
`bare_objects.py`, `counting.py`, `chosen_walks.py`, `dict_calls.py` and `indexed.py` each rewrite one form more, for the
compiler of a function, of a test or of a display; `numbers_given.py`, with `named_sums.py` and `returns_apart.py`, is for the
model's own `forward` and for functions that give parts of its result; `result_flow.py` says what a result is made of.
`meanings.py` says which functions a call may mean, and `outputs.py` which parameters a function changes.
"""
