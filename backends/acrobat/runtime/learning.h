// Learns a batching policy from graphs that have been recorded, by tabular Q-learning (ED-Batch; Chen et al., ICML 2023, section 2).
#pragma once

#include <cstdint>
#include <vector>

#include "function_ref.h"
#include "policy.h"

namespace acrobat {

// The policy that was learned, and into how many batches it, the agenda and the best one imaginable cut the graphs.
struct Learned {
    Policy policy;
    int64_t batches = 0;
    int64_t agenda = 0;
    int64_t lower_bound = 0;
    int64_t trials = 0;  // of all encodings
};

// At most `trials` runs through all graphs for each encoding; fewer where the lower bound is reached, or where the graphs are so
// large that this would take minutes. The same graphs, trials and seed give the same policy. Where no learned table makes fewer
// batches than the agenda, the table is empty. `poll` is called between trials and may throw.
Learned learn(const std::vector<Graph>& graphs, int64_t trials, uint64_t seed, FunctionRef<void()> poll);

}  // namespace acrobat
