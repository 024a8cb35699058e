// Tracks at run time which recorded operations depend on which. (With inline depth the program itself knows that.)
//
// When an operation is recorded, the addresses of its operands lead to the operations that compute them. `dataflow` gives an
// operation the largest depth of its operands plus one, as DyNet's depth strategy does. `agenda` and `learned` keep all
// operations in one graph and again and again run all ready operations of the unit that a policy chooses (`policy.h`).
#pragma once

#include <cstdint>
#include <vector>

#include "frontier.h"

namespace acrobat {

enum class Executor { inline_depth, dataflow, agenda, learned };

// The operations that were recorded since the wave began, and for each line of the tensor arena the operation that computes it.
class Tracking {
   public:
    struct Operation {
        int stage;
        int unit;
        int64_t level;  // one more than that of its deepest operand that has not run
        int64_t row;    // in its bucket
        int64_t first;  // where its edges begin in `edges_`
        int64_t displacement = 0;  // by how many elements memory planning (`planning.h`) has moved its result
    };

    void reset(size_t stages);

    // To note an operation: `begin`, `operand` for the line of each operand (-1: outside of the arena), `level`, `result`.
    void begin(int stage, int unit) { operations_.push_back({stage, unit, 0, 0, int64_t(edges_.size())}); }
    void operand(int64_t line);
    int64_t level() const { return operations_.back().level; }
    void result(int64_t line, int64_t lines, int64_t row);
    // The number of the operation whose result lies in this line; -1 if there is none.
    int64_t producer(int64_t line) const {
        return line < 0 || size_t(line) >= lines_.size() ? -1 : int64_t(lines_[size_t(line)]) - 1;
    }
    size_t count() const { return operations_.size(); }
    int64_t& displacement(int64_t number) { return operations_[size_t(number)].displacement; }
    int64_t displacement(int64_t number) const { return operations_[size_t(number)].displacement; }
    // Notes that everything which was recorded in a stage has run.
    void all_ran(int stage) { ran_[size_t(stage)] = int64_t(operations_.size()); }

    // The graph of the stage's operations that have not run.
    Graph graph(int stage, int units) const;

 private:
    std::vector<Operation> operations_;
    std::vector<int64_t> edges_;     // numbers of the operations that each operation depends on, operation by operation
    std::vector<uint32_t> lines_;    // one more than the number of the operation that computes a line; 0: none does
    std::vector<int64_t> ran_;       // by stage: all of its operations with smaller numbers have run
};

}  // namespace acrobat
