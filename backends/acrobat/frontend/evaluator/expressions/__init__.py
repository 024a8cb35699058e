"""Expressions, and calls above all.

`expressions.py` has names, constants and attributes, `displays.py` lists and the like that are written out, `indexing.py` and
`dict_items.py` items and slices, `length.py` has `len`. `calls.py` compiles a call's arguments (`given_by_name.py` those of
`**`), `callees.py` and `constant_callees.py` what is called. What objects say about these by special methods:
`special_methods.py` and `object_operators.py`. `markers.py` has the functions `phase` and `parallel`. (Operators are in
`scalars/`, comparisons in `conditions/`, comprehensions in `loops/`.)
"""
