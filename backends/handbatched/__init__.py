"""What an expert writes in PyTorch for one model when latency counts: no system, but what a system has to be compared with.

At run time the Python objects of a mini-batch are turned into index tensors, once (`ingest_ms`); then a few large operators of
PyTorch run over all instances, without a graph, a scheduler or a search for batches:

- *treelstm, simtree, treegru, treernn, treefc, mvrnn*: trees by levels of equal height, over all instances; each level's
  states are neighbouring rows.
- *dagrnn*: grids diagonal by diagonal.
- *lattice*: sentences position by position, the arcs of characters and of words that end there together.
- *birnn*: sentences sorted by length and packed step by step, as `torch.nn.utils.rnn.pack_sequence` does (`sequences.py`).
- *seq2seq, beam*: packed sentences are read step by step; their states are padded and masked for attention, and all sentences
  (all hypotheses) are decoded together until the last has ended.
- *crf*: as birnn, then Viterbi's algorithm on all sentences step by step.
- *ragged*: the words of all sentences in one matrix, attention on sentences of one length at a time; also padded and
  masked, and as nested tensors (`sequences`).
- *stackrnn*: every sentence takes its next action in the same round; the choices of all are read at once.
- *drnn*: in each round every node whose children are being made gets the next one, over all trees and levels.
- *nestedrnn*: every sample emits its next node in the same round; then the edges of all these nodes, step by step.
- *berxit*: one tensor of those sequences that still go on; the certainties of all are read at once after each layer.

Ahead of time, when the model is loaded: the weights of gates are concatenated, and transposed or packed. The words'
products are one product over all words of the mini-batch; with `tables=true` they are looked up, since the products of the
whole vocabulary with the weights are then computed when the model is loaded.

The library that computes the products is an option (`library`), and the faster one represents this backend, as the best
`autobatch` represents DyNet. `torch.compile` is no variant: what it makes, for any number of rows, of all that is done at a
level, step or layer takes longer than PyTorch's in-place operators. On an AMD EPYC a mini-batch of 64 (small) takes 1.3 times
as long (TreeLSTM), 1.7 times (BiRNN) and 2.8 times (MV-RNN) as with the faster library, one of 16 of Berxit 1.2 times
(`scripts/benchmark handbatched`).

What it cannot do: run any other model. Each program is written and tested by hand.

Sources: levels of trees are batched as in TensorFlow Fold (Looks et al., ICLR 2017) and Cavs (Xu et al., ATC 2018), by hand.
"""
