// Policies: which unit's ready operations run next, for executors that track dependences.
//
// A policy is a finite-state machine (ED-Batch; Chen et al., ICML 2023): its state summarises which operations are ready, and a
// table that was learned before says for each state which unit runs. In a state that is not in the table, the unit runs whose
// operations have the lowest average level (DyNet's agenda; Neubig et al. 2017). A policy with an empty table is the agenda.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontier.h"

namespace acrobat {

// What a state contains of the units with ready operations. ED-Batch's: `set`, these units; `most`, also which has the most
// ready operations; `sorted`, these units with the most ready operations first. Ours: `urgent`, the set and which unit has the
// most urgent operation, the one with the longest path to the end (it decides how many batches follow at least; of several
// units the one with more ready operations); `urgent_sorted`, the same with the sorted units.
enum class Encoding { set, most, sorted, urgent, urgent_sorted };
constexpr int kEncodings = 5;

// The number of the phase, then the numbers of units, as the encoding says.
using State = std::u16string;

// Replaces `into` by the frontier's state. Sorted units with equally many ready operations stay in the order of their numbers.
void encode(Encoding encoding, const Frontier& frontier, State& into);
// Whether a state names one unit before those that are ready; whether it sorts these; whether it needs heights.
inline bool names_one(Encoding e) { return e != Encoding::set && e != Encoding::sorted; }
inline bool in_order(Encoding e) { return e == Encoding::sorted || e == Encoding::urgent_sorted; }
inline bool by_height(Encoding e) { return e == Encoding::urgent || e == Encoding::urgent_sorted; }
// The units that are ready in a state, in its order.
inline std::u16string_view units_of(const State& state, Encoding encoding) {
    return std::u16string_view(state).substr(names_one(encoding) ? 2 : 1);
}

// The agenda's choice: the unit with ready operations whose operations have the lowest average level.
int lowest(const Frontier& frontier);

// Operations of one unit that run together, by their numbers in the graph.
struct Batch {
    int unit;
    std::vector<int32_t> operations;
};

class Policy {
   public:
    Encoding encoding = Encoding::sorted;
    std::unordered_map<State, int> table;
    // Whether the graphs that have run are kept, to learn from them and for lower bounds; and these graphs.
    bool keeps_graphs = false;
    std::vector<Graph> graphs;

    // Whether the frontier has to know heights.
    bool heights() const { return !table.empty() && by_height(encoding); }
    // The unit that runs next; some operation must be ready. `state` is working memory.
    int choose(const Frontier& frontier, State& state) const;
};

// Cuts a graph into batches, in the order in which they run: as a policy chooses; by level, then by unit.
std::vector<Batch> by_policy(const Graph& graph, const Policy& policy);
std::vector<Batch> by_level(const Graph& graph);

}  // namespace acrobat
