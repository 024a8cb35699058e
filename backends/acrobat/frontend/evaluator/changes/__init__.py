"""Changes in place, and names that get another value: the program is pure, so that the one is the other.

`mutation.py` has the rule and the places that may be changed, with `indices.py` for the indices in them; `putting.py` gives a
place its new value, and `assigned_items.py` is about items that are assigned to. `list_changes.py` and `container_methods.py`
are the methods of lists, sets and dictionaries, and `record_changes.py` those of dictionaries whose keys are names. `scope.py`
binds values to the targets of assignments, and `new_claims.py` says which names alone refer to these then. `state.py` is about
attributes of the model's modules, `written_fields.py` about fields of the instance's objects, and `taken_out.py` about lists
that are taken out of an attribute. `summed_entries.py` says which tensors inside of something else `+=` may change.
"""
