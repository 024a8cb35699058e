#include "tracking.h"

#include <algorithm>

namespace acrobat {

void Tracking::reset(size_t stages) {
    operations_.clear();
    edges_.clear();
    lines_.clear();
    ran_.assign(stages, 0);
}

void Tracking::operand(int64_t line) {
    const int64_t source = producer(line);
    Operation& operation = operations_.back();
    // An operand is no dependence if it has been computed, or is computed by another stage, which runs before this one.
    if (source < ran_[size_t(operation.stage)] || operations_[size_t(source)].stage != operation.stage) return;
    edges_.push_back(source);
    operation.level = std::max(operation.level, operations_[size_t(source)].level + 1);
}

void Tracking::result(int64_t line, int64_t lines, int64_t row) {
    operations_.back().row = row;
    if (size_t(line + lines) > lines_.size()) lines_.resize(size_t(line + lines) * 2, 0);
    std::fill_n(lines_.begin() + line, lines, uint32_t(operations_.size()));
}

Graph Tracking::graph(int stage, int units) const {
    Graph g;
    g.stage = stage;
    g.units = units;
    const size_t begin = size_t(ran_[size_t(stage)]), end = operations_.size();
    std::vector<int32_t> number(end - begin, -1);
    const auto last_edge = [&](size_t i) { return i + 1 < end ? operations_[i + 1].first : int64_t(edges_.size()); };
    std::vector<int32_t> count;
    count.reserve(end - begin);
    for (std::vector<int32_t>* each : {&g.unit, &g.level, &g.waits}) each->reserve(end - begin);
    for (std::vector<int64_t>* each : {&g.row, &g.number}) each->reserve(end - begin);
    for (size_t i = begin; i < end; ++i) {
        const Operation& o = operations_[i];
        if (o.stage != stage) continue;
        number[i - begin] = int32_t(g.size());
        g.unit.push_back(o.unit);
        g.level.push_back(int32_t(o.level));
        g.row.push_back(o.row);
        g.number.push_back(int64_t(i));
        g.waits.push_back(int32_t(last_edge(i) - o.first));
        count.push_back(0);
        for (int64_t e = o.first; e < last_edge(i); ++e) count[size_t(number[size_t(edges_[size_t(e)]) - begin])] += 1;
    }
    g.first.assign(g.size() + 1, 0);
    for (size_t i = 0; i < g.size(); ++i) g.first[i + 1] = g.first[i] + count[i];
    g.users.resize(size_t(g.first.back()));
    std::vector<int32_t> next(g.first.begin(), g.first.end() - 1);
    for (size_t i = begin; i < end; ++i) {
        if (number[i - begin] < 0) continue;
        for (int64_t e = operations_[i].first; e < last_edge(i); ++e)
            g.users[size_t(next[size_t(number[size_t(edges_[size_t(e)]) - begin])]++)] = number[i - begin];
    }
    return g;
}

}  // namespace acrobat
