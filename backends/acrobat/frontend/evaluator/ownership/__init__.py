"""Who refers to a value. Changing it in place is compiled only where nothing else does.

`ownership.py` has the rule. `fresh.py` says which expressions make something new. `origins.py` finds where the lists under a
name come from, `sharing.py` asks types whether two values may be one, `lending.py` says what calls need of ownership and do
to it, and `elements.py` when a number that is an element of a tensor counts as another name for it, as
`passing_names.py` does for a name of a view. For both, `keeping.py` says whether something keeps the value of an expression,
and `tensor_changes.py` whether a name is read after the tensor was changed.
"""
