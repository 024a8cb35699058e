"""What an expert writes in PyTorch for one model when latency counts: the upper reference of a table, without any system.

At run time the Python objects of a mini-batch are turned into index tensors, once (`ingest_ms`); then a few large operators of
PyTorch run over all instances, without a graph, a scheduler or a search for batches:

- *treelstm, simtree, treegru, treernn, treefc, mvrnn*: trees by levels of equal height, over all instances; each level's
  states are neighbouring rows.
- *dagrnn*: grids diagonal by diagonal.
- *birnn*: sentences sorted by length and packed step by step, as `torch.nn.utils.rnn.pack_sequence` does (`sequences.py`).
- *seq2seq, beam*: packed sentences are read step by step; their states are padded and masked for attention, and all sentences
  (all hypotheses) are decoded together until the last has ended.
- *crf*: as birnn, then Viterbi's algorithm on all sentences step by step.
- *ragged*: the words of all sentences in one matrix, attention on sentences of one length at a time; also padded and
  masked, and as nested tensors (`sequences`).
- *berxit*: one tensor of those sequences that still go on; the certainties of all are read at once after each layer.

Ahead of it, when the model is loaded: the weights of gates are concatenated, and transposed or packed. The words' products are
one product over all words of the mini-batch; with `tables=true` they are looked up, since the whole vocabulary is then
projected by the weights when the model is loaded.

Which library computes the products is an option (`library`), and the faster one represents this backend, as `autobatch` does
for DyNet. `torch.compile` was tried on the element-wise operators between the products: where the number of rows is open, its
kernels took one and a half to two and a half times as long as PyTorch's own operators in place, so it is no variant.

What it cannot do: run any other model. Every model here is a program of its own, written and tested by hand; there is none for
drnn, nestedrnn and stackrnn, whose instances wait for tensors at places of their own, where an expert would begin to write a
scheduler.

Sources: levels of trees are batched as in TensorFlow Fold (Looks et al., ICLR 2017) and Cavs (Xu et al., ATC 2018), by hand.
"""
