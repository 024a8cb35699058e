#include "execution.h"

#include <utility>

#include "clock.h"
#include "planning.h"

namespace acrobat {

void Execution::execute(int last, int64_t end, FunctionRef<void(int64_t)> computed) {
    if (!defer_ || cx_.tracks()) end = kAllDepths;
    Counters& counters = cx_.counters;
    const auto from = Clock::now();
    const double blocked = counters.blocked_ms;
    Stage* const recording = cx_.stage;
    for (int p = 0; p <= last; ++p) {
        cx_.stage = &cx_.stages[size_t(p)];
        if (cx_.tracks() && policy_.keeps_graphs && !cx_.forms()) policy_.graphs.push_back(cx_.tracking.graph(p, unit_count_));
        if (cx_.forms())
            run_formed(cx_.tracking.graph(p, unit_count_));
        else
            cx_.stage->drain(p < last ? kAllDepths : end,
                             [&](int64_t depth, int64_t level, int unit, Bucket& bucket) {
                                 if (p == last && !cx_.tracks()) computed(depth);
                                 run(p, level, unit, bucket);
                             });
        if (cx_.tracks()) cx_.tracking.all_ran(p);
    }
    if (cx_.materialised) all_computed();
    cx_.stage = recording;
    counters.executions += 1;
    counters.schedule_ms += milliseconds(Clock::now() - from) - (counters.blocked_ms - blocked);
}

void Execution::run(int phase, int64_t depth, int unit, Bucket& bucket) {
    cx_.poll();
    if (cx_.materialised) {
        // Batches of one depth may run at the same time: their results count as computed only when the depth has ended.
        if (place_.phase != phase || place_.depth != depth) all_computed();
        cx_.materialised->require_operands(units_[unit], bucket);
    }
    place_ = {phase, depth};
    cx_.counters.nodes += double(bucket.rows);
    cx_.counters.batches += 1;
    device_.run(units_[unit], bucket, {phase, depth});
    if (cx_.materialised)
        for (int64_t i = 0; i < bucket.rows; ++i) computed_.emplace_back(bucket.out.data[i], units_[unit].row_size);
}

void Execution::all_computed() {
    for (const auto& [tensor, elements] : computed_) cx_.materialised->add(tensor, elements);
    computed_.clear();
}

void Execution::run_formed(Graph&& graph) {
    Stage& stage = *cx_.stage;
    std::vector<Batch> batches = cx_.chooses() ? by_policy(graph, policy_) : by_level(graph);
    if (cx_.plans()) arrange(cx_, units_, graph, batches);
    std::vector<int64_t> rows;
    int64_t ran = 0;
    for (const Batch& batch : batches) {
        const Unit& unit = units_[batch.unit];
        rows.clear();
        for (const int32_t i : batch.operations) rows.push_back(graph.row[size_t(i)]);
        Bucket bucket(unit);
        bucket.take(stage.bucket(stage.base(), batch.unit), rows, unit);
        if (cx_.plans()) relocate(cx_, bucket);
        run(graph.stage, stage.levels_run() + ran++, batch.unit, bucket);
    }
    stage.skip(ran);
    if (policy_.keeps_graphs) policy_.graphs.push_back(std::move(graph));
}

}  // namespace acrobat
