// Learns a batching policy from recorded graphs, by tabular Q-learning (ED-Batch; Chen et al., ICML 2023, section 2).
#pragma once

#include <cstdint>
#include <vector>

#include "function_ref.h"
#include "policy.h"

namespace acrobat {

// The learned policy, the number of batches of the graphs by it and by the agenda, and the lower bound on that number.
struct Learned {
    Policy policy;
    int64_t batches = 0;
    int64_t agenda = 0;
    int64_t lower_bound = 0;
    int64_t trials = 0;  // of all encodings
};

// Learns by at most `trials` runs through all graphs for each encoding; by fewer when the policy reaches the lower bound or no
// longer improves, or where the graphs are so large that it would take minutes. The same graphs, trials and seed give the same
// policy. If no table makes fewer batches than the agenda, the table is empty. `poll` is called between trials and may throw.
Learned learn(const std::vector<Graph>& graphs, int64_t trials, uint64_t seed, FunctionRef<void()> poll);

}  // namespace acrobat
