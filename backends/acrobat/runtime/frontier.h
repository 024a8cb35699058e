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
    std::vector<int32_t> level;   // one more than that of its deepest operand
    std::vector<int64_t> row;     // in the bucket where all operations of its unit wait
    std::vector<int64_t> number;  // of each operation, among all that were recorded in the mini-batch
    std::vector<int32_t> waits;   // how many operands have to be computed first
    std::vector<int32_t> first;   // users[first[i]] .. users[first[i + 1]] need operation i
    std::vector<int32_t> users;

    size_t size() const { return unit.size(); }
    // Into how many batches the graph can be cut at best, or fewer: operations of one unit that need each other, directly or
    // through others, never share a batch, so each unit takes as many as it has operations on one path (ED-Batch: the sum over
    // the types of the depths of their subgraphs; Chen et al., ICML 2023).
    int64_t lower_bound() const;
};

// Which operations of a graph are ready, by unit. Running those of one unit makes others ready.
class Frontier {
   public:
    // `heights`: `height` will be asked for.
    explicit Frontier(const Graph& graph, bool heights = false);

    // Nothing has run.
    void restart();
    const Graph& graph() const { return graph_; }
    bool done() const { return left_ == 0; }
    int64_t ready(int unit) const { return int64_t(ready_[size_t(unit)].size()); }
    // The average level of all operations of the unit, also of those that have run (DyNet's agenda).
    double average_level(int unit) const { return average_[size_t(unit)]; }
    // How many operations follow one another at most, up to the end, from one that is ready of the unit on.
    int32_t height(int unit) const { return highest_[size_t(unit)]; }
    // Runs all that are ready of a unit, and gives them until the next call.
    const std::vector<int32_t>& run(int unit);

   private:
    void add(int32_t operation);

    const Graph& graph_;
    int64_t left_ = 0;
    std::vector<int32_t> waits_;
    std::vector<std::vector<int32_t>> ready_;
    std::vector<int32_t> batch_;
    std::vector<double> average_;
    std::vector<int32_t> heights_;  // of all operations, if they are asked for
    std::vector<int32_t> highest_;  // of those that are ready, by unit
};

}  // namespace acrobat
