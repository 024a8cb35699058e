"""Questions about the syntax tree alone, and new trees: nothing here knows any value.

`own_nodes.py` says what stands in a function itself, `bodies.py` what a body may assign and how it may be left, `reading.py`
whether a name is read after a statement, `own_elements.py` whether it is one for an element of a list of the function's own,
`summed_entries.py` whether it is a dictionary whose entries are summed up first,
`raised.py` has the nodes for exceptions that are caught,
`uses.py` how often a name is read, `order.py` in which order the parts of an expression are evaluated, and `commuting.py`
whether the rounds of a loop may come in any order. `hidden_names.py` has the names that no source can have. `quoting.py` makes
new trees from Python's own text.
"""
