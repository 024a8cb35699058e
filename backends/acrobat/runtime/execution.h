// Runs recorded work: bucket by bucket in the order of phases and depths, or as a policy chooses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "context.h"
#include "device.h"
#include "function_ref.h"
#include "policy.h"

namespace acrobat {

class Execution {
   public:
    // With `defer`, only work below the depth that is waited for runs, and deeper work stays recorded; without, all work runs.
    Execution(Context& cx, Device& device, Policy& policy, const Unit* units, int unit_count, bool defer)
        : cx_(cx), device_(device), policy_(policy), units_(units), unit_count_(unit_count), defer_(defer) {}

    // Runs the recorded work of the phases up to and including `last`, but of phase `last` only work below depth `end`. Where depths
    // give the order of the work, calls computed(d) before each batch of phase `last`: what can be used at depth d is computed by
    // the batches before it.
    void execute(int last, int64_t end = kAllDepths, FunctionRef<void(int64_t)> computed = [](int64_t) {});

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
    std::vector<std::pair<Tensor, int64_t>> computed_;  // in checked mode: results of that level and their numbers of elements
};

}  // namespace acrobat
