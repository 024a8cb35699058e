"""Just-in-time dynamic batching over PyTorch, on the unchanged one-instance model.

The model runs as ordinary Python, one instance after another, on deferred tensors. Each call on them is recorded with its
signature: the function, its constants, the shared parameters it is given and the shapes of the instance's tensors. When every
instance has ended, or waits for a tensor's value, the recorded calls are computed: calls of one signature and one depth (one
more than the largest depth of the operands) are one batch.

Ahead of time nothing is compiled. A copy of the model gets its parameters replaced by shared tensors (`prepare.py`).

At run time, for each mini-batch:

1. Recording (`construct_ms`; `lazy.py`, `recorder.py`): the model's Python code runs and appends to a flat list of ints.
2. Analysis (`schedule_ms`; `plan.py`): batches, index vectors of scattered operands, rows for results. It depends on the
   record alone and is kept: the next mini-batch with the same record skips it (`cache_hits`; `analyses` counts the analyses
   made, `analysis_ms` is their time). The key of the cache is the whole record and the list of results that are still referred
   to. It has no instances and no word ids in it, so mini-batches of equal structure with other words share an analysis.
3. Execution (`execute.py`, `operators.py`): operands are gathered (`copy_ms`), then one batched call of torch computes each
   operation (`kernel_ms`). An operation without a rule goes through `torch.vmap`; if vmap refuses it, it is computed for one
   instance after the other, and the counter `unbatched` says why.

The harness measures the same mini-batches again and again, so there the cache always hits. A stream of random trees hardly ever
has the same record twice: `cache=false` measures that, and a row's `fresh` compares mini-batches that were never run before.

An instance that needs a value (`item`, `int`, `bool`) is suspended in its own greenlet until all others have ended or wait too.
Within an instance there is no fork-join: independent calls that wait do so one after the other.

Granularity, the paper's point, trades the time of recording and analysis against the batching that they find. `operator`:
every operation of torch is a call. `cell`: a method that the workload names as straight-line code is one call; a batch of them
runs operation by operation, without gathers in between. `subtree`: a call of a recursive method on a structure that occurs
several times in the mini-batch is one call, batched only with calls on equal structures; everything else is cells.

What it cannot do: change tensors in place, give results whose shapes depend on values, train. `subtree` needs a recursive
method that does not wait for values. All of this is refused with the reason. A number that differs from call to call (`x*0.3`,
`x*0.4`) makes different signatures, so such calls are not batched; the index of a row of a parameter is the exception.

It differs from the paper: inference only; PyTorch in place of Gluon, whose blocks know their symbolic graphs (a cell's graph is
traced here at its first call); a result that a later batch uses whole and in order is passed on without a copy.

Where it gains nothing: a batch saves the cost of single calls, so it needs many small ones. In MV-RNN each node multiplies
matrices of its own, which a batched call does one after the other as well. At size large and batch 8, one thread, the batched
calls alone took 20.5 ms, as long as the whole run of eager PyTorch (19.1 ms); recording, analysis and copies made it 25 ms.

Sources: Zha, Jiang, Lin and Zhang, Just-in-Time Dynamic-Batching, 2019, for MXNet Gluon; the batching by depth is that of
TensorFlow Fold: Looks, Herreshoff, Hutchins and Norvig, ICLR 2017.
"""
