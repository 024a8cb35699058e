"""Questions about the syntax tree alone: nothing here knows any value.

`syntax.py` says what a body may assign and how it may be left, and has the names of claims. `uses.py` says how often a name is
read, `order.py` in which order the parts of an expression are evaluated.
"""
