"""Expressions, and calls above all.

`expressions.py` has names, constants, displays and attributes, `indexing.py` items and slices. `calls.py` compiles a call's
arguments (`given_by_name.py` those of `**`), `callees.py` what is called. What objects say about these by special methods:
`special_methods.py` and `object_operators.py`. `markers.py` has the functions `phase` and `parallel`. (Operators are in
`scalars/`, comparisons in `conditions/`, comprehensions in `loops/`.)
"""
