"""The Deep Graph Library (DGL 2.1, Wang et al. 2019) as its users have it: a tree or a grid is a graph, and a node's state
comes from its predecessors' by message passing.

At run time the mini-batch becomes one graph (`ingest_ms` for walking the Python objects, `construct_ms` for the graph), which
DGL sorts topologically (`schedule_ms`): each frontier has all nodes, over all instances, whose predecessors are done. For each
the library finds the edges, collects the messages, gathers the nodes of equal degree, runs the user's functions on them and
scatters the results into the features of all nodes. This is what `dgl.prop_nodes_topo` does; here its steps are called one
by one, because nodes without predecessors need no messages: they are computed first, all at once.

Ahead of it nothing is done but concatenating the weights of gates, as DGL's own example of the TreeLSTM does. The messages of
a node come in the order in which its edges were given, so children that are told apart need no features on edges.

What it cannot do: anything whose graph is not known before the run, so no control flow that waits for tensors. The model is
another text, in terms of messages; there is one for each workload over trees and grids, and for those over sentences that are
chains: birnn takes two of them, crf a third for the search. A transformer's sentence (ragged) would be a graph with an edge
for every pair of words and a score for each head on it, which nobody computes so.

Its part `dgl.graphbolt` (the loading of large graphs) has a library for each release of PyTorch, and none for this one, so it
is kept from importing (`library.py`). Nothing of it is used here.

Sources: Wang et al., Deep Graph Library, arXiv 1909.01315; DGL's documentation of `prop_nodes_topo`.
"""
