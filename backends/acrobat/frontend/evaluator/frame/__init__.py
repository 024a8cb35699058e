"""The function that is being compiled, for one set of argument types.

`services.py` says what the evaluator asks of the compiler of the whole program. `claims.py` has what the frame notes of names
that alone refer to their values. Then the frame, a class in six files, one on top of the other: `frame_state.py`, `covering.py`
(with `joined_tuples.py`), `coercion.py`, `branches.py`, `components.py` and `frame.py`. `compiled_nodes.py` is a node of the
syntax tree for what is compiled already. `derived_values.py` has values of classes that are derived from containers,
`several_shapes.py` lists of tensors of several shapes. Arguments of calls are in `arguments.py`, `spreading.py` and
`keywords.py`.
"""
