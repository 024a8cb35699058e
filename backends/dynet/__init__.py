"""DyNet itself, with its dynamic autobatching (the wheel dyNET38, or a build of one's own), and a program for each
workload.

What a user writes: the model in DyNet's expressions, a module named after the workload with a class `Program`; control flow
is Python's. `formulation=best` are programs in forms that DyNet's heuristics batch well, as the ACRoBat paper improved them
for its comparison; `formulation=naive` (the folder `naive`) are the equations as one writes them first, and say what the
heuristics miss.

At run time, for each mini-batch: Python builds one graph of expressions for all instances (`construct_ms`). When a value is
asked for, DyNet walks the graph's nodes, gives each a signature (its operator, its dimensions, the parameters that it
shares), and puts those of one signature together that do not need each other (`schedule_ms`): of what is ready, the signature
with the lowest average depth (`autobatch=1`, the agenda), all of one depth (2), or the agenda held back until others of the
same depth are ready (3). Operands that are not contiguous are copied together, then one kernel of Eigen runs for the batch
(`kernel_ms`, the copies included). Control flow that waits for tensors evaluates what has been built; the programs build all
instances side by side (`interleave.py`), so that they wait together.

Ahead of it: nothing is compiled. Parameters are put into DyNet's collection when the model is loaded, and the memory pool
grows to what the mini-batches need. With `tables=true` the vocabulary is projected by the weights that are applied to words.

What it cannot do: batch products of matrices that belong to instances (mvrnn), constants, argmax and a few others, and see
that two nodes are the same work of different structure. `autobatch=3` deadlocks where signatures wait for each other, so it
is `unsupported` there. Ranges of rows and of columns of a square matrix share a signature, and it batches them as one: the
programs avoid that. The wheel has one thread, AVX2 at most, and no CUDA.

Sources: Neubig et al., DyNet, arXiv 1701.03980; Neubig, Goldberg and Dyer, On-the-fly Operation Batching in Dynamic
Computation Graphs, NIPS 2017; DyNet's own source.
"""
