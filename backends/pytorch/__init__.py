"""PyTorch runs the model source as it is, one instance after another: what the other systems are compared with.

At run time every operator is a call from Python on one instance's tensors; nothing is deferred, batched or scheduled.

Ahead of time nothing is done in `mode=eager`. With `script`, `compile` or `graphs` the methods that a workload names as
straight lines of code go through TorchScript, torch.compile, or torch.compile with CUDA graphs, since none of these takes
recursion over dataclasses; they are traced or compiled when they are first called.

What it cannot do: batch. Each instance is computed alone.

This package also has what other systems on top of PyTorch share: the option `precision` (`precision.py`), the description of
PyTorch's libraries (`libraries.py`), and the base of programs for whole mini-batches (`batched.py`, `of_libraries.py`).

Sources: Paszke et al., PyTorch, NeurIPS 2019. The oracle is this backend in float64.
"""
