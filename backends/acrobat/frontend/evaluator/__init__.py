"""A partial evaluator of Python's syntax tree: what is known at compile time is computed, the rest is staged as the program.

It knows no library. What a node of the syntax tree means, what can be done with a kind of value and which functions there are
stand in `tables.py`; each file here, and each of `tensors/`, adds its handlers to them.
"""
