"""PyTorch's side of the language: modules, operations on tensors, and tensors whose extents vary between instances.

Whoever adds an operation writes one function here, decorated with `operation` (`operations.py`), and one decorated with
`ragged` for tensors whose extent varies. What can be written by other operations is written in `backends/acrobat/library`.
"""
