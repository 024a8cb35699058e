"""Values that are one of several: chosen when the program runs, of one of several types, or None.

`choice.py` chooses by a condition, an index or an optional. `nones.py` opens optionals where Python needs a value, and
`never.py` has the values that are never there. `mixed.py` is about values of one of several types of Python's own,
`known_classes.py` about what is known of their classes, `mixed_order.py` about their order, `each_type.py` compiles something
once for each type, `returned.py` has numbers beside tensors in results, and `empty_tuples.py` names that have an empty tuple on
one path and another container on others.
"""
