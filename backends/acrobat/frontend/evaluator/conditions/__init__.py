"""Comparisons, truth values, and what a condition tells of the names in it.

`comparisons.py` compares two values, `identity.py` says whether they are one object, and `membership.py` has chains of
comparisons and `in`. `truths.py` says what counts as true. `conditions.py` compiles conditions and choices, and has
`narrowing.py` give names the types that a test tells, and `narrowed_choices.py` the constants. `numbers_given.py` has the
choices between numbers and tensors in results.
"""
