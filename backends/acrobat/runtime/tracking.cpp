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
    const int64_t producer = line < 0 || size_t(line) >= lines_.size() ? -1 : int64_t(lines_[size_t(line)]) - 1;
    Operation& now = operations_.back();
    // What has run is there, and what another stage computes is there before this one begins.
    if (producer < ran_[size_t(now.stage)] || operations_[size_t(producer)].stage != now.stage) return;
    edges_.push_back(producer);
    now.level = std::max(now.level, operations_[size_t(producer)].level + 1);
}

void Tracking::result(int64_t line, int64_t lines, int64_t row) {
    operations_.back().row = row;
    if (size_t(line + lines) > lines_.size()) lines_.resize(size_t(line + lines) * 2, 0);
    std::fill_n(lines_.begin() + line, lines, uint32_t(operations_.size()));
}

void Tracking::agenda(int stage, int units, Run run) const {
    const int64_t begin = ran_[size_t(stage)], end = int64_t(operations_.size());
    const auto own = [&](int64_t i) { return operations_[size_t(i)].stage == stage; };
    std::vector<int64_t> waiting(size_t(end - begin), 0), first(size_t(end - begin) + 1, 0);
    std::vector<std::vector<int64_t>> ready(static_cast<size_t>(units));
    std::vector<double> levels(size_t(units), 0), count(size_t(units), 0);
    int64_t left = 0;
    for (int64_t i = begin; i < end; ++i) {
        if (!own(i)) continue;
        const Operation& o = operations_[size_t(i)];
        const int64_t last = i + 1 < end ? operations_[size_t(i + 1)].first : int64_t(edges_.size());
        waiting[size_t(i - begin)] = last - o.first;
        for (int64_t e = o.first; e < last; ++e) first[size_t(edges_[size_t(e)] - begin) + 1] += 1;
        if (last == o.first) ready[size_t(o.unit)].push_back(i);
        levels[size_t(o.unit)] += double(o.level);
        count[size_t(o.unit)] += 1;
        left += 1;
    }
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<int64_t> users(size_t(first.back())), next(first.begin(), first.end() - 1);
    for (int64_t i = begin; i < end; ++i) {
        if (!own(i)) continue;
        const int64_t last = i + 1 < end ? operations_[size_t(i + 1)].first : int64_t(edges_.size());
        for (int64_t e = operations_[size_t(i)].first; e < last; ++e)
            users[size_t(next[size_t(edges_[size_t(e)] - begin)]++)] = i;
    }
    std::vector<int64_t> rows, batch;
    while (left > 0) {
        size_t best = 0;
        double lowest = -1;
        for (size_t u = 0; u < ready.size(); ++u)
            if (!ready[u].empty() && (lowest < 0 || levels[u] / count[u] < lowest)) best = u, lowest = levels[u] / count[u];
        batch.swap(ready[best]);
        ready[best].clear();
        rows.clear();
        for (int64_t i : batch) rows.push_back(operations_[size_t(i)].row);
        run(int(best), rows);
        left -= int64_t(batch.size());
        for (int64_t i : batch)
            for (int64_t u = first[size_t(i - begin)]; u < first[size_t(i - begin) + 1]; ++u) {
                const int64_t user = users[size_t(u)];
                if (--waiting[size_t(user - begin)] == 0) ready[size_t(operations_[size_t(user)].unit)].push_back(user);
            }
    }
}

}  // namespace acrobat
