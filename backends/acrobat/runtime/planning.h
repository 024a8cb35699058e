// Memory planning: decides where the results of batches lie, after ED-Batch (Chen et al., ICML 2023, section 3).
//
// A batch whose operand rows are scattered has to gather them first, unless they lie one after the other in the order of the
// batch. Once it is known which operations run together, `arrange` gives the operations of each batch an order and places their
// results next to each other in that order. ED-Batch finds the orders that suit the most operands at once (by PQ-trees, ahead
// of time, within the cells of a model). Here batches differ with every mini-batch, so orders are found greedily, from the last
// batch to the first: the results of a batch get the order of the next batch that reads them. Results that several batches
// read, and operands that come from several batches, stay scattered.
//
// Its effect when it was written (size small, batch 64, one thread, dataflow; with planning against without, in turns, on a
// busy machine): with a kernel for each operation, products by a library and explicit gathers, the copied bytes fall from 46 to
// 6 MB (TreeLSTM) and from 69 to 26 MB (DAG-RNN), but planning costs as much as is saved: 1.05 to 1.2 times the time. With
// static blocks, most of what it makes contiguous is inside of a block anyway (no byte less for TreeLSTM). Kernels that gather
// as they read gain nothing from contiguous rows (0.97 and 1.27 times the time). So it is off by default.
#pragma once

#include <vector>

#include "context.h"
#include "policy.h"

namespace acrobat {

// Orders the operations of each batch and decides where their results will lie (`Context::now`). The memory that was allocated
// for results when they were recorded stays unused. The graph must be that of the phase `cx.stage`.
void arrange(Context& cx, const Unit* units, const Graph& graph, std::vector<Batch>& batches);

// Replaces the addresses in a bucket, which are those of the recording, by where the results lie now.
void relocate(const Context& cx, Bucket& bucket);

}  // namespace acrobat
