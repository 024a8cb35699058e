// Finds at run time what inline depth knows from the program: which recorded operations depend on which.
//
// They take each operation as it is recorded: its operands' addresses lead to the operations that compute them. `dataflow`
// gives an operation the depth of its operands plus one, as DyNet's depth strategy does; `agenda` and `learned` keep all operations
// in one graph and run, one after the other, all that are ready of the unit that a policy chooses (`policy.h`).
#pragma once

#include <cstdint>
#include <vector>

#include "frontier.h"

namespace acrobat {

enum class Executor { inline_depth, dataflow, agenda, learned };

// The operations recorded since the mini-batch began, and which one each line of the tensor arena belongs to.
class Tracking {
   public:
    struct Operation {
        int stage;
        int unit;
        int64_t level;  // one more than that of its deepest operand that has not run
        int64_t row;    // in its bucket
        int64_t first;  // of its edges
        int64_t moved = 0;  // from where its result was to lie to where it lies, in elements
    };

    void reset(size_t stages);

    // Notes an operation whose operands lie in these lines (-1: outside of the arena), and gives its level.
    void begin(int stage, int unit) { operations_.push_back({stage, unit, 0, 0, int64_t(edges_.size())}); }
    void operand(int64_t line);
    int64_t level() const { return operations_.back().level; }
    void result(int64_t line, int64_t lines, int64_t row);
    // The number of the operation whose result has this line; -1: none has.
    int64_t producer(int64_t line) const {
        return line < 0 || size_t(line) >= lines_.size() ? -1 : int64_t(lines_[size_t(line)]) - 1;
    }
    size_t count() const { return operations_.size(); }
    // By how many elements the result of an operation was moved (`planning.h`).
    int64_t& moved(int64_t number) { return operations_[size_t(number)].moved; }
    int64_t moved(int64_t number) const { return operations_[size_t(number)].moved; }
    // Everything recorded in a stage has run.
    void all_ran(int stage) { ran_[size_t(stage)] = int64_t(operations_.size()); }

    // The stage's operations that have not run.
    Graph graph(int stage, int units) const;

 private:
    std::vector<Operation> operations_;
    std::vector<int64_t> edges_;     // operations whose results an operation needs
    std::vector<uint32_t> lines_;    // one more than the operation a line belongs to; 0: none
    std::vector<int64_t> ran_;       // by stage: operations before this one have run
};

}  // namespace acrobat
