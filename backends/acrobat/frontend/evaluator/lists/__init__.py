"""Lists of the program.

`lists.py` makes, maps, slices, joins and folds them. `growing.py` has the types of lists that get one more element, `sizes.py`
lists whose number of elements is known. `zipping.py` is `zip`. `named_iterators.py` keeps an iterator under a name as a list.
(Their methods are in `changes/` and `builtins/`.)
"""
