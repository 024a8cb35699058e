"""TorchFold 0.1 as its users have it: dynamic batching in the manner of TensorFlow Fold, in Python over PyTorch.

At run time a program adds an operation for every node of every instance to a fold (`construct_ms`): a name of a method and its
arguments, which are other nodes of the fold or integers. The same operation with the same arguments is added once, so a word
that comes again is computed once, and in models whose nodes have one result a whole subtree is, too; what was split from two
results is never the same again. An operation is one step later than its last argument. Then `apply` goes through the steps
and calls each method once for all operations of its name: it cuts the results of earlier steps into rows and concatenates
those that are wanted, one argument after the other, in Python. The library does not tell what of this is deciding and what
copying: all of it is in `kernel_ms`.

Ahead of it nothing is done but concatenating the weights of gates.

What it cannot do: control flow that waits for tensors, since nothing is computed before all operations have been added; and
results of one operation that differ in shape, as sentences do in a transformer (ragged), since it joins them. The
model is another text, its methods written for batches.

It was written for PyTorch 0.1 and asks for a class that has another name today (`library.py`).

Sources: Illia Polosukhin, TorchFold, 2017 (github.com/nearai/torchfold); Looks et al., Deep Learning with Dynamic Computation
Graphs, ICLR 2017, which is TensorFlow Fold.
"""
