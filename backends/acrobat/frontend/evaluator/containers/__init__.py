"""Sets and dictionaries.

`containers.py` says what the program has them as. `counters.py` and `container_classes.py` are about the classes of
`collections`, `set_operators.py` about sets as wholes, `any_order.py` about comprehensions over sets, `walked_sets.py` about
sets whose order is known, `missing_keys.py` about look-ups in a `defaultdict`, with `same_dictionary.py`. Dictionaries
whose keys are names are in `records.py`, those of the source that are walked by decisions of run time in `constant_dicts.py`;
lists, sets and dictionaries that are changed while several names refer to them in `shared_lists.py`, and as parts of results in
`given_out.py`. Classes that the model derives from them, and those of lists, are in `derived.py`. (Methods are in
`changes/container_methods.py`.)
"""
