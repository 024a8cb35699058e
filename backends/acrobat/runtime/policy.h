// Which unit's ready operations run next, where the runtime knows what depends on what.
//
// A policy is a finite-state machine (ED-Batch; Chen et al., ICML 2023): its state is a summary of what is ready, and a table that
// was learned ahead says for each state which unit runs. In a state that the table has not, that unit runs whose operations lie
// lowest on average (DyNet's agenda; Neubig et al. 2017). The empty table is the agenda.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontier.h"

namespace acrobat {

// What a state remembers of the units that have ready operations. ED-Batch's: which they are; also which has most ready operations;
// how they stand in order, most ready operations first. Two more of our own: beside the set, which unit has the most urgent one, from
// which the longest way leads to the end (it decides how many batches follow at least; of several units that which has more ready
// operations); and that together with the order.
enum class Encoding { set, most, sorted, urgent, urgent_sorted };
constexpr int kEncodings = 5;

// The phase, then units.
using State = std::u16string;

// In place of `into`. Units with as many ready operations stand in the order of their numbers.
void encode(Encoding encoding, const Frontier& frontier, State& into);
// Whether a state names one unit before those that are ready.
inline bool names_one(Encoding e) { return e != Encoding::set && e != Encoding::sorted; }
inline bool in_order(Encoding e) { return e == Encoding::sorted || e == Encoding::urgent_sorted; }
inline bool by_height(Encoding e) { return e == Encoding::urgent || e == Encoding::urgent_sorted; }
// The units that are ready in a state, in its order.
inline std::u16string_view units_of(const State& state, Encoding encoding) {
    return std::u16string_view(state).substr(names_one(encoding) ? 2 : 1);
}

// The agenda's choice.
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
    // Graphs that have run are kept, to learn from and for their lower bounds.
    bool keeps = false;
    std::vector<Graph> kept;

    // Whether the frontier has to know heights.
    bool heights() const { return !table.empty() && by_height(encoding); }
    // Something is ready. `state` is room to work in.
    int choose(const Frontier& frontier, State& state) const;
};

// All operations of a graph in batches, one after the other: as a policy chooses; by level, then by unit.
std::vector<Batch> chosen(const Graph& graph, const Policy& policy);
std::vector<Batch> by_level(const Graph& graph);

}  // namespace acrobat
