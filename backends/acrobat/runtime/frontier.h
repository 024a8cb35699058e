// The recorded operations of one phase as a graph, and which of them are ready while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acrobat {

// Operations in the order in which they were recorded: each comes after those that it needs.
struct Graph {
    int stage = 0;
    int units = 0;
    std::vector<int32_t> unit;    // of each operation
    std::vector<int32_t> level;   // one more than the largest level of its operands; 0 if none has to be computed first
    std::vector<int64_t> row;     // its row in the bucket that has all recorded operations of its unit
    std::vector<int64_t> number;  // its number among all operations that were recorded in the wave
    std::vector<int32_t> waits;   // how many operands have to be computed first
    std::vector<int32_t> first;   // the operations users[first[i]] .. users[first[i + 1]] read the result of operation i
    std::vector<int32_t> users;

    size_t size() const { return unit.size(); }
    // A lower bound on the number of batches. Operations of one unit that depend on each other, directly or through others,
    // cannot share a batch, so a unit needs as many batches as it has operations on one path. The bound is the sum over the
    // units (ED-Batch: the sum over the types of the depths of their subgraphs; Chen et al., ICML 2023).
    int64_t lower_bound() const;
};

// Which operations of a graph are ready, by unit. Running those of one unit makes others ready.
class Frontier {
   public:
    // `height` may be called only with `heights`.
    explicit Frontier(const Graph& graph, bool heights = false);

    // Goes back to the state in which no operation has run.
    void restart();
    const Graph& graph() const { return graph_; }
    bool done() const { return remaining_ == 0; }
    int64_t ready(int unit) const { return int64_t(ready_[size_t(unit)].size()); }
    // The average level of all operations of the unit, also of those that have run (DyNet's agenda).
    double average_level(int unit) const { return average_[size_t(unit)]; }
    // The number of operations on the longest path that begins with a ready operation of the unit.
    int32_t height(int unit) const { return highest_[size_t(unit)]; }
    // Runs all ready operations of a unit and returns them; the reference is valid until the next call.
    const std::vector<int32_t>& run(int unit);

   private:
    void add(int32_t operation);

    const Graph& graph_;
    int64_t remaining_ = 0;
    std::vector<int32_t> waits_;
    std::vector<std::vector<int32_t>> ready_;
    std::vector<int32_t> batch_;
    std::vector<double> average_;
    std::vector<int32_t> heights_;  // longest path from each operation to the end; empty without `heights`
    std::vector<int32_t> highest_;  // by unit, the largest of these among ready operations
};

}  // namespace acrobat
