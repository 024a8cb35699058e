#include "frontier.h"

#include <algorithm>

namespace acrobat {

int64_t Graph::lower_bound() const {
    std::vector<int32_t> path(size());
    int64_t bound = 0;
    std::vector<char> present(size_t(units), 0);
    for (const int32_t u : unit) present[size_t(u)] = 1;
    for (int u = 0; u < units; ++u) {
        if (!present[size_t(u)]) continue;
        std::fill(path.begin(), path.end(), 0);
        int32_t longest = 0;
        for (size_t i = 0; i < size(); ++i) {
            path[i] += unit[i] == u;
            longest = std::max(longest, path[i]);
            for (int32_t k = first[i]; k < first[i + 1]; ++k) {
                int32_t& of_user = path[size_t(users[size_t(k)])];
                of_user = std::max(of_user, path[i]);
            }
        }
        bound += longest;
    }
    return bound;
}

Frontier::Frontier(const Graph& graph, bool heights)
    : graph_(graph), ready_(size_t(graph.units)), average_(size_t(graph.units), 0), highest_(size_t(graph.units), 0) {
    std::vector<double> count(size_t(graph.units), 0);
    for (size_t i = 0; i < graph.size(); ++i) {
        average_[size_t(graph.unit[i])] += double(graph.level[i]);
        count[size_t(graph.unit[i])] += 1;
    }
    for (size_t u = 0; u < count.size(); ++u)
        if (count[u] > 0) average_[u] /= count[u];
    if (heights) {
        heights_.assign(graph.size(), 1);
        for (size_t i = graph.size(); i-- > 0;)
            for (int32_t k = graph.first[i]; k < graph.first[i + 1]; ++k)
                heights_[i] = std::max(heights_[i], heights_[size_t(graph.users[size_t(k)])] + 1);
    }
    restart();
}

void Frontier::restart() {
    waits_ = graph_.waits;
    remaining_ = int64_t(graph_.size());
    for (std::vector<int32_t>& each : ready_) each.clear();
    std::fill(highest_.begin(), highest_.end(), 0);
    for (size_t i = 0; i < graph_.size(); ++i)
        if (waits_[i] == 0) add(int32_t(i));
}

void Frontier::add(int32_t operation) {
    const size_t u = size_t(graph_.unit[size_t(operation)]);
    ready_[u].push_back(operation);
    if (!heights_.empty()) highest_[u] = std::max(highest_[u], heights_[size_t(operation)]);
}

const std::vector<int32_t>& Frontier::run(int unit) {
    batch_.clear();
    batch_.swap(ready_[size_t(unit)]);
    highest_[size_t(unit)] = 0;
    remaining_ -= int64_t(batch_.size());
    for (const int32_t i : batch_)
        for (int32_t k = graph_.first[size_t(i)]; k < graph_.first[size_t(i) + 1]; ++k) {
            const int32_t user = graph_.users[size_t(k)];
            if (--waits_[size_t(user)] == 0) add(user);
        }
    return batch_;
}

}  // namespace acrobat
