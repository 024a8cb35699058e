// Where the results of batches lie: memory planning, after ED-Batch (Chen et al., ICML 2023, section 3).
//
// What reads scattered rows has to gather them first; where the rows that a batch reads lie one after the other, in its order,
// there is nothing to gather. Once it is known which operations run together, this gives the operations of each batch an order and
// places their results next to each other in it. ED-Batch finds orders that suit as many operands as can be at once (by
// PQ-trees, ahead of time, within the cells of a model). Here batches differ with every mini-batch, so the order is found greedily,
// from the last batch to the first: the rows of a batch stand in the order in which the next batch that reads them does. What
// several batches read, and operands from several batches, stay scattered.
//
// What it was worth when it was written (small, batch 64, one thread, dataflow, each with planning against without, in turns on
// a busy machine): with a kernel for each operation, products in a library and explicit gathers the bytes that are copied fall from
// 46 to 6 MB (TreeLSTM) and from 69 to 26 MB (DAG-RNN), and what planning costs is as much as the copies saved: 1.05 to 1.2 times
// the time. With static blocks most of what it makes contiguous is inside of a block anyway (no byte less for TreeLSTM). Kernels
// that gather as they read need nothing contiguous, so there it only costs (0.97 and 1.27 times the time). So it is off by default.
#pragma once

#include <vector>

#include "context.h"
#include "policy.h"

namespace acrobat {

// Orders the operations of each batch and decides where their results will lie (`Context::now`). The memory that was taken for
// them when they were recorded stays unused. The graph is of the phase that `cx.stage` is.
void arrange(Context& cx, const Unit* units, const Graph& graph, std::vector<Batch>& batches);

// Lets a batch that was recorded read and write where results lie now.
void relocate(const Context& cx, Bucket& bucket);

}  // namespace acrobat
