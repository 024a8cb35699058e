"""Just-in-time dynamic batching over PyTorch, on the unchanged one-instance model.

**Algorithm card**

*Idea* (Zha, Jiang, Lin and Zhang 2019, "Just-in-Time Dynamic-Batching", for MXNet Gluon; the batching by depth is that of
TensorFlow Fold: Looks, Herreshoff, Hutchins and Norvig 2017). The model runs as ordinary Python, one instance after another,
on deferred tensors. Each call on them is recorded with its signature: the function, its constants, the shared parameters it is
given and the shapes of the instance's tensors. When all instances have ended, or wait for a tensor's value, what was recorded
is computed: calls of one signature and one depth (one more than the largest of their operands') are one batch.

*Ahead of time*: nothing is compiled. A copy of the model gets its parameters replaced by shared tensors (`prepare.py`).

*At run time*, for each mini-batch:

1. Recording (`construct ms`; `lazy.py`, `recorder.py`): the model's Python code, which appends to a flat list of ints.
2. Analysis (`schedule ms`; `plan.py`): batches, index vectors of scattered operands, rows for results. It depends on the
   record alone and is kept: the next mini-batch with the same record skips it (`cache_hits`; `analyses` counts those made, and
   `analysis_ms` is their time). The key is the whole record and the list of results that are still referred to, compared in
   full. No instance and no number of one is part of it, so instances with the same structure and other words share it.
3. Execution (`execute.py`, `operators.py`): operands gathered (`copy ms`), one batched call of torch for each operation
   (`kernel ms`). An operation without a rule goes through `torch.vmap`; one that this refuses is computed for each instance by
   itself, and the counter `unbatched` says why.

The harness measures the same mini-batches again and again, so there the cache always hits. A stream of random trees hardly ever
has the same record twice: `cache=false` measures that, and a row's `fresh` compares mini-batches that it had never seen.

An instance that needs a value (`item`, `int`, `bool`) is suspended, each in a greenlet of its own, until all others have ended
or wait too. Within an instance nothing is forked: independent calls that each wait do so one after the other.

*Granularity*, the paper's point, trades the time of recording and analysis for the batching that they find. `operator`: every
operation of torch is a call of its own. `cell`: a method that the workload names as straight-line code is one call, which runs
batched operation by operation without any index between them. `subtree`: a call of a recursive method on a structure that
comes again in the mini-batch is one call, computed together with those of equal structure only; the rest are cells.

*Cannot do*: change tensors in place, give results whose shapes depend on values, train, and what `subtree` says it cannot. All
of it is refused with the reason. A number that differs from call to call (`x * 0.3`, `x * 0.4`) makes each a signature of its
own, so such calls are not batched; the index of a row of a parameter is the exception.

*Differs from the paper*: inference only; PyTorch in place of Gluon, whose blocks know their symbolic graphs (a cell's graph is
traced here at its first call); results that a later batch takes whole are handed over without a copy.
"""
