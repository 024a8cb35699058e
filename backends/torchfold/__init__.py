"""TorchFold 0.1, used as its documentation shows: dynamic batching in the manner of TensorFlow Fold, in Python over PyTorch.

At run time a program adds an operation for every node of every instance to a fold (`construct_ms`): the name of a method and
its arguments, which are other nodes of the fold or integers. The same operation with the same arguments is added once, so a
word that occurs again is computed once, and so is a whole subtree in models whose nodes have one result. (If an operation has
two results, the parts of `split` are new nodes each time, so nothing above them is recognised.) The step of an operation is one
after that of its last argument. Then `apply` goes through the steps and calls each method once for all operations of its name:
it cuts the results of earlier steps into rows and concatenates the rows that are needed, one argument after the other, in
Python. The library does not separate scheduling from copying, so all of `apply` is in `kernel_ms`.

Ahead of time only the weights of gates are concatenated.

What it cannot do: control flow that waits for tensors, since nothing is computed before all operations have been added; and
results of one operation that differ in shape, as sentences do in a transformer (ragged), since it concatenates them. Each model
is written a second time, with methods for batches.

It was written for PyTorch 0.1 and asks for a class that has another name today (`library.py`).

Sources: Illia Polosukhin, TorchFold, 2017 (github.com/nearai/torchfold); Looks et al., Deep Learning with Dynamic Computation
Graphs, ICLR 2017, which is TensorFlow Fold.
"""
