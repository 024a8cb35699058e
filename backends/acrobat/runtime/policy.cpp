#include "policy.h"

#include <algorithm>
#include <map>

namespace acrobat {

void encode(Encoding encoding, const Frontier& frontier, State& into) {
    into.assign(1, char16_t(frontier.graph().stage));
    if (names_one(encoding)) into.push_back(0);
    const auto begin = std::ptrdiff_t(into.size());
    for (int u = 0; u < frontier.graph().units; ++u)
        if (frontier.ready(u) > 0) into.push_back(char16_t(u));
    const auto more = [&](char16_t a, char16_t b) { return frontier.ready(a) > frontier.ready(b); };
    const auto higher = [&](char16_t a, char16_t b) {
        return frontier.height(a) != frontier.height(b) ? frontier.height(a) > frontier.height(b) : more(a, b);
    };
    const auto first = into.begin() + begin;
    if (encoding == Encoding::most) into[1] = *std::min_element(first, into.end(), more);
    if (by_height(encoding)) into[1] = *std::min_element(first, into.end(), higher);
    if (in_order(encoding)) std::stable_sort(first, into.end(), more);
}

int lowest(const Frontier& frontier) {
    int best = -1;
    for (int u = 0; u < frontier.graph().units; ++u)
        if (frontier.ready(u) > 0 && (best < 0 || frontier.average_level(u) < frontier.average_level(best))) best = u;
    return best;
}

int Policy::choose(const Frontier& frontier, State& state) const {
    if (!table.empty()) {
        encode(encoding, frontier, state);
        if (const auto entry = table.find(state); entry != table.end()) return entry->second;
    }
    return lowest(frontier);
}

std::vector<Batch> by_policy(const Graph& graph, const Policy& policy) {
    std::vector<Batch> batches;
    State state;
    for (Frontier frontier(graph, policy.heights()); !frontier.done();) {
        const int unit = policy.choose(frontier, state);
        batches.push_back({unit, frontier.run(unit)});
    }
    return batches;
}

std::vector<Batch> by_level(const Graph& graph) {
    std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> groups;
    for (size_t i = 0; i < graph.size(); ++i) groups[{graph.level[i], graph.unit[i]}].push_back(int32_t(i));
    std::vector<Batch> batches;
    for (auto& [level_and_unit, operations] : groups) batches.push_back({level_and_unit.second, std::move(operations)});
    return batches;
}

}  // namespace acrobat
