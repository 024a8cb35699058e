// Runs what is recorded: bucket by bucket in the order of phases and depths, or as a policy chooses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "context.h"
#include "device.h"
#include "policy.h"

namespace acrobat {

class Execution {
   public:
    // `defer`: work below the depth that is waited for runs, what lies deeper stays recorded.
    Execution(Context& cx, Device& device, Policy& policy, const Unit* units, int unit_count, bool defer)
        : cx_(cx), device_(device), policy_(policy), units_(units), unit_count_(unit_count), defer_(defer) {}

    // Runs what is recorded in the phases up to and including `last`, of that one only what lies below depth `end`.
    void execute(int last, int64_t end = kAllDepths);

   private:
    void run(int phase, int64_t depth, int unit, Bucket& bucket);
    void all_computed();
    void run_formed(Graph&& graph);

    Context& cx_;
    Device& device_;
    Policy& policy_;
    const Unit* units_;
    int unit_count_;
    bool defer_;
    Place place_{-1, 0};                                // of the level that runs
    std::vector<std::pair<Tensor, int64_t>> computed_;  // in checked mode: its results, with their elements
};

}  // namespace acrobat
