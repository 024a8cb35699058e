// What generated code is given to record an instance's operations with: memory, weights, the schedule, and limits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "counters.h"
#include "run_limits.h"
#include "materialised.h"
#include "owned.h"
#include "arenas.h"
#include "stage.h"
#include "tracking.h"

namespace acrobat {

class Device;

// What an executable is told when it is loaded; `options.py` says what the switches do.
struct Settings {
    int threads;
    size_t memory_limit;  // bytes of each arena
    bool checked;
    bool gather_fusion;
    bool defer;
    int64_t wave;
    Executor executor;
    int64_t second_level;  // bytes of a core's second-level cache
    bool memory_planning;
};

class Context : public Arenas, public RunLimits {
   public:
    explicit Context(const Settings& settings);

    Device* device = nullptr;         // runs what is recorded; held by the session
    std::vector<Stage> stages;        // one for each program phase
    Stage* stage = nullptr;           // the phase that is being recorded
    int64_t instance = 0;             // being read or run, for messages
    std::vector<Tensor> weights;      // addresses of the weights as they are
    Owned<Materialised> materialised;  // in checked mode
    Tracking tracking;                // where dependences are found as operations are recorded
    Counters counters;
    const float* awaited = nullptr;   // the values of the tensor that the running instance has just waited for

    // A wave begins: nothing of the one before is needed any more.
    void reset(const Unit* units, int count, int phases, int64_t static_levels);

    // ---- tensors
    // A row of a weight; a negative index counts from the end. Throws InstanceError.
    Tensor row(int weight, int64_t index, int64_t rows, int64_t row_size) const {
        const int64_t at = index < 0 ? index + rows : index;
        if (at < 0 || at >= rows) [[unlikely]]
            row_out_of_range(index, rows);
        return weights[size_t(weight)] + at * row_size;
    }
    // The row of table `other` that stands where `row` stands in `table`.
    Tensor lookup(Tensor row, int table, int64_t row_size, int other, int64_t other_row_size) const {
        return weights[size_t(other)] + (row - weights[size_t(table)]) / row_size * other_row_size;
    }
    // A tensor without dimensions that holds a number of the host.
    Tensor scalar(double value);
    // The values of a tensor that the running instance has waited for, and for nothing since.
    const float* computed(Tensor t) const {
        if (materialised) [[unlikely]]
            require_computed(t);
        return awaited;
    }

    // ---- recording
    // Whether dependences are found as operations are recorded; else the program gives each its depth.
    bool tracks() const { return executor_ != Executor::inline_depth; }
    // Whether a policy chooses among all that is ready; else depths order the work.
    bool chooses() const { return executor_ == Executor::agenda || executor_ == Executor::learned; }
    // Whether batches are formed, of what is noted here, before they run; else depths order the work as it is recorded.
    bool forms() const { return chooses() || plans(); }
    // Whether results are placed when batches are formed, not where they were to lie when they were recorded.
    bool plans() const { return plans_; }
    // Where a result is that was recorded at this address; any other address as it is.
    Tensor now(Tensor t) const {
        if (!plans_) return t;
        const int64_t number = tracking.producer(tensors.line_of(pointer(t)));
        return number < 0 ? t : t + tracking.moved(number);
    }
    // An operation with these operands is recorded next: at which depth.
    int64_t track(int unit, std::initializer_list<Tensor> operands, std::initializer_list<const List<Tensor>*> lists);
    // It was recorded in a row of its bucket, with its result there.
    void tracked(Tensor result, int64_t elements, int64_t row);

   private:
    [[noreturn]] static void row_out_of_range(int64_t index, int64_t rows);
    void require_computed(Tensor t) const;

    size_t memory_limit_;
    Executor executor_;
    bool plans_;
};

}  // namespace acrobat
