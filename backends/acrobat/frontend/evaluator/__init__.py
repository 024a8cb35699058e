"""A partial evaluator of Python's syntax tree: it computes what is known at compile time and stages the rest as core IR.

The evaluator knows no library. The tables in `tables.py` say what each node of the syntax tree, each operation on a kind of
value and each function means; the files of this folder and of `tensors/` enter their handlers there.
"""
