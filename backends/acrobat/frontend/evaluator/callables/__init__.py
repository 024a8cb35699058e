"""Functions that are values: they are known at compile time, and the program holds the number of the one that is meant.

`nested.py` compiles functions inside functions; `callbacks.py` passes those that change captured variables to other functions.
A function may be chosen by the arms of a statement (`arms.py`, with `effects.py` for calls that change something), by a
dictionary (`function_tables.py`), or by a name that is made at run time (`named.py`). `picking.py` says which loops pick
modules, and so are unrolled.
"""
