"""Functions that are values: they are known at compile time, and what the program has of them is which one is meant.

`nested.py` compiles functions inside functions; those that change what they see are given to others by `callbacks.py`. A
function may be chosen by the arms of a statement (`arms.py`, with `effects.py` for calls that change something), by a
dictionary (`function_tables.py`), or by a name that is made at run time (`named.py`). `picking.py` says which loops pick
modules, and so are unrolled.
"""
