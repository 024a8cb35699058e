"""Functions of Python and of its modules, and methods of lists. (Those of numbers and strings are in `scalars/`.)

`builtins.py` finds functions by name, and `as_written.py` has those that look at their arguments as written. `iterables.py` and
`iterators.py` give lists and iterators; `sums.py` and `ordering.py` give one value from many, or put them in order; `ties.py`
says where of equals any may be taken. `mathematics.py`, `operator_functions.py`, `copying.py`, `taken_apart.py` and
`sorted_lists.py` are modules of Python's, and `list_methods.py` has methods.
"""
