"""PyTorch runs the model source as it is, one instance after another: what the others are compared with.

At run time every operator is a call from Python on one instance's tensors; nothing is deferred, batched or scheduled. Ahead of
it: nothing in `mode=eager`; with `script` or `compile` the methods that a workload names as straight-line code go through
TorchScript or torch.compile when the model is loaded, since neither takes recursion over dataclasses. What it cannot do: batch.

Source: Paszke et al., PyTorch, NeurIPS 2019. The oracle is this backend in float64.
"""
