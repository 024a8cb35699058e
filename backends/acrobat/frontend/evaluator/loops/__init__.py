"""Loops, comprehensions, and the iterators that they walk over.

`loops.py` has the loops that run at run time, with `variables.py` for the names that go from round to round and
`types_at_exits.py` for those of loops that are left early. `unrolling.py` says which loops are unrolled, `short_zips.py`
unrolls a `zip` of modules, `some_modules.py` a part of a list of them that is chosen at run time, and `each_class.py` loops
over the fields of objects of several classes. `unordered.py` has the loops over sets. `comprehensions.py` comes next, with
`named_entries.py`.
`endless.py`, `plain_keys.py` and `laziness.py` are about iterators, `by_turns.py` is about functions with `yield` that change
something. `watched.py` and `rearranging.py` are about lists that change while a loop walks over them.
"""
