"""The Deep Graph Library (DGL 2.1, Wang et al. 2019), used as its documentation shows: a tree or a grid is a graph, and the
state of a node is computed from messages of its predecessors.

At run time the mini-batch becomes one graph (`ingest_ms` for walking the Python objects, `construct_ms` for the graph), which
DGL sorts topologically (`schedule_ms`): a frontier is all nodes, over all instances, whose predecessors have been computed. For
each frontier the library finds the edges, collects the messages, gathers the nodes of equal degree, runs the user's functions
on them and scatters the results into the features of all nodes. This is what `dgl.prop_nodes_topo` does; here its steps are
called one by one, because nodes without predecessors need no messages: they are computed first, all at once.

Ahead of time only the weights of gates are concatenated, as in DGL's own example of the TreeLSTM. The messages of a node
come in the order in which its edges were given, so left and right children need no features on edges.

What it cannot do: anything whose graph is not known before the run, so no control flow that waits for tensors. Each model is
written a second time, in terms of messages: for the workloads over trees, grids, lattices (whose arcs are edges with a cell of
their own), and sentences that are chains (birnn has two chains, crf a third one for the search). Attention in a sentence
(ragged) would need a graph with an edge for every pair of words and a score for each head on it.

DGL's part `dgl.graphbolt` (the loading of large graphs) needs a library built for the very release of PyTorch, and there is
none for this one, so its import is suppressed (`library.py`). Nothing of it is used here.

Sources: Wang et al., Deep Graph Library, arXiv 1909.01315; DGL's documentation of `prop_nodes_topo`.
"""
