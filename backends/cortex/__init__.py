"""Cortex: a compiler for recursive models, implemented here for CPUs.

A user writes one text for each model, `backends/cortex/<workload>.py`: a leaf case and an inner case over the children's
states, and what is computed at the roots or at every element (`recursion.py`). An instance may have several trees, whose roots
the output compares (simtree). Control flow depends on the structure only. `compiler.py` compiles such a text; it need not be
that of a workload, nor its nodes a workload's classes:

    def program(w):  # a tree of `Word(number)` and `Pair(left, right)`
        def leaf(n):
            return {"h": n.row("embedding")}

        def inner(n):
            return {"h": tanh(w.linear("cell", cat(n.child(0)["h"], n.child(1)["h"])))}

        tree = Tree(Word, Pair, children=("left", "right"), word="number")
        return Model(tree, [Recursion(leaf, inner)], output=lambda root: w.linear("classifier", root.state()["h"]))

    executable = compile(program, {"embedding": ..., "cell.weight": ..., "cell.bias": ..., "classifier.weight": ...})
    outputs = executable.run(trees)

Ahead of time the cases are run once on symbols and become expressions. Zeros that stand for missing words or children are
propagated, products that use no child's state are hoisted, products of children's states can be moved into the children
(`transforms.py`). Then operations are grouped into kernels (`grouping.py`) and the recursion becomes one loop nest over
wavefronts, the sets of nodes of equal height, with a separate loop for the leaves (`lowering.py`), in C++ (`codegen.py`).
Kernels come from ACRoBat's emitters and run on its thread pool, so the two systems differ in the method only. Weights are
packed when the model is loaded.

At run time native code reads the Python objects into flat arrays (`native/structures.h`, counted as `ingest_ms`) and
numbers the nodes (`native/linearise.h`, `schedule_ms`): nodes of one height get neighbouring numbers, leaves the last ones, so
that a wavefront is a range, the check for a leaf is a comparison, and children are found in tables of addresses. Then the
loop nest runs: no dataflow graph is built, nothing is recorded, and no kernel is looked up.

What it cannot do: control flow that depends on a tensor's value, since the structure is linearised before anything is computed;
beam, berxit, drnn, nestedrnn, seq2seq and stackrnn are `unsupported`. For crf, lattice and ragged no recursion is written. All
states of a node lie in one row found by its number, so a leaf whose state is a row of a table has to be copied there (MV-RNN's
matrices, TreeFC's vectors): `copied_bytes` and `copy_ms` count it. Nothing is computed on the vocabulary at load time, so
ACRoBat's `tables=false` is the fair comparison.

The switches (`options.py`) are `batching`, `specialise`, `propagate`, `hoist`, `fusion`, `dense`, `refactor`, `unroll` and
`persist`. `refactor` and `unroll` are off by default. `unroll` about halves the barriers between wavefronts: for 64 trees of
TreeGRU (tiny) the counters have 13 in place of 24, at equal products. `refactor`, with which the paper saves barriers inside a
wavefront, saves none here, where the kernels of a wavefront follow each other in blocks of nodes: `barriers` stays 24, and with
products for the leaves `product_flops` is 1.4 times as much.

It differs from the paper: the original is built on TVM's lowering and tunes its loops; on GPUs one kernel runs the whole loop
nest and keeps weights in registers. Here a wavefront is one call of each kernel, and persistence means packing once.

Sources: Fegade, Chen, Gibbons and Mowry, Cortex: A Compiler for Recursive Deep Learning Models, MLSys 2021.
"""
