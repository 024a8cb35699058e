"""Statements.

`statements.py` first: bodies that cannot be left early, and those that may, with `ways.py` where many ways lead through them.
`merging.py` is about names that arms assign, `contexts.py` about `with`.
`assignments.py` binds names, items and attributes. `patterns.py` compiles `match`, with `pattern_rows.py`. Errors:
`failures.py` has `raise` and `assert`, `catching.py` has `try`, and `caught_lookups.py` a `try` around look-ups. (Loops are in
`loops/`.)
"""
