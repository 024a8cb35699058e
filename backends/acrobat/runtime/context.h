// The part of a session with which generated code records operations: memory, weights, the schedule, and limits.
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

// The settings with which an executable is loaded; `options.py` explains the switches.
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

    Device* device = nullptr;         // runs recorded work; owned by the session
    std::vector<Stage> stages;        // one for each program phase
    Stage* stage = nullptr;           // the phase that is being recorded
    int64_t instance = 0;             // the number of the instance that is being read or run, for messages
    std::vector<Tensor> weights;      // addresses of the unpacked weights
    Owned<Materialised> materialised;  // which results have been computed; only in checked mode
    Tracking tracking;                // dependences between recorded operations; only used if `tracks()`
    Counters counters;
    const float* awaited = nullptr;   // the values of the tensor that the running instance has just waited for

    // Is called when a wave begins; discards everything of the wave before.
    void reset(const Unit* units, int count, int phases, int64_t static_levels);

    // ---- tensors
    // The address of row `index` of a tensor that has been computed (a weight, whichever it is in this call); a negative index
    // counts from the end. Throws InstanceError for any other index.
    Tensor row(Tensor table, int64_t index, int64_t rows, int64_t row_size) const {
        const int64_t at = index < 0 ? index + rows : index;
        if (at < 0 || at >= rows) [[unlikely]]
            row_out_of_range(index, rows);
        return table + at * row_size;
    }
    // The address of the row of weight `other` that has the index which the row at address `row` has in weight `table`.
    Tensor lookup(Tensor row, int table, int64_t row_size, int other, int64_t other_row_size) const {
        return weights[size_t(other)] + (row - weights[size_t(table)]) / row_size * other_row_size;
    }
    // A tensor without dimensions that holds a number of the host.
    Tensor scalar(double value);
    // The values of a tensor, which must be the one that the running instance has waited for last.
    const float* computed(Tensor t) const {
        if (materialised) [[unlikely]]
            require_computed(t);
        return awaited;
    }

    // ---- recording
    // Whether the runtime tracks dependences as operations are recorded; else generated code gives each operation its depth.
    bool tracks() const { return executor_ != Executor::inline_depth; }
    // Whether a policy chooses which of the ready operations run next; else depths order the work.
    bool chooses() const { return executor_ == Executor::agenda || executor_ == Executor::learned; }
    // Whether batches are formed from the tracked graph when it runs; else recording puts operations into buckets by depth.
    bool forms() const { return chooses() || plans(); }
    // Whether results are placed anew when batches are formed (`planning.h`); else they stay where recording placed them.
    bool plans() const { return plans_; }
    // The present address of a result that had the address `t` when it was recorded; any other address is returned unchanged.
    Tensor now(Tensor t) const {
        if (!plans_) return t;
        const int64_t number = tracking.producer(tensors.line_of(pointer(t)));
        return number < 0 ? t : t + tracking.displacement(number);
    }
    // Begins to track an operation with these operands. Returns the depth at which it is to be recorded.
    int64_t track(int unit, std::initializer_list<Tensor> operands, std::initializer_list<const List<Tensor>*> lists);
    // Completes `track`: the operation was recorded in this row of its bucket, with its result at this address.
    void tracked(Tensor result, int64_t elements, int64_t row);

   private:
    [[noreturn]] static void row_out_of_range(int64_t index, int64_t rows);
    void require_computed(Tensor t) const;

    size_t memory_limit_;
    Executor executor_;
    bool plans_;
};

}  // namespace acrobat
