"""DyNet itself, with its dynamic autobatching (the wheel dyNET38, or a build of one's own), and a program for each workload.

What a user writes: the model in DyNet's expressions, a module named after the workload with a class `Program`; control flow is
Python's. `formulation=best` has programs in forms that DyNet's heuristics batch well, as the ACRoBat paper improved them for
its comparison; `formulation=naive` (the folder `naive`) has the equations as one writes them first, with notes on what the
heuristics miss.

At run time, for each mini-batch, Python builds one graph of expressions for all instances (`construct_ms`). When a value is
asked for, DyNet gives each node of the graph a signature (its operator, its dimensions, the parameters that it shares) and
makes batches of nodes that have one signature and do not need each other (`schedule_ms`). The next batch is, of the nodes that
are ready, those with the signature of the lowest average depth (`autobatch=1`, the agenda), those of one signature and one
depth (2), or as in 1, but held back until others of the same depth are ready (3). Operands that are not contiguous are copied
together, then one kernel of Eigen runs for the batch (`kernel_ms`, the copies included). Where control flow needs a value, all
that has been built is evaluated; the programs build all instances side by side (`interleave.py`), so that they wait together.

Ahead of time nothing is compiled. Parameters are put into DyNet's collection when the model is loaded, and the memory pool
grows to what the mini-batches need. With `tables=true` the products of the whole vocabulary with the weights that are applied
to words are computed at load time.

What it cannot do: it never batches products with a left operand of each instance's own (mvrnn), constants, argmax and a few
other operators, nor nodes that do the same work in different forms. `autobatch=3` deadlocks where signatures wait for each
other, so it is `unsupported` there. Ranges of rows and of columns of a square matrix share a signature and would be batched as
if they were alike, so the programs avoid them. The wheel has one thread, AVX2 at most, and no CUDA.

Sources: Neubig et al., DyNet, arXiv 1701.03980; Neubig, Goldberg and Dyer, On-the-fly Operation Batching in Dynamic
Computation Graphs, NIPS 2017; DyNet's own source.
"""
