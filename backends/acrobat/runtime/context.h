// One executable's state: arenas, weights, the schedule of the mini-batch in flight, and what is counted about it.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "arena.h"
#include "executors.h"
#include "gemm.h"
#include "pool.h"
#include "schedule.h"
#include "values.h"

namespace acrobat {

using Clock = std::chrono::steady_clock;

inline double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// About the last mini-batch. The order is the C boundary's: `codegen.executable` names the fields. `gathered_bytes` are copied to
// be next to each other, or from where a library left them; `library_calls` are its products.
struct Counters {
    double ingest_ms = 0, construct_ms = 0, schedule_ms = 0, kernel_ms = 0, copy_ms = 0, fetch_ms = 0;
    double nodes = 0, batches = 0, launches = 0, waits = 0, executions = 0, gathered_bytes = 0, product_flops = 0;
    double host_bytes = 0, tensor_bytes = 0, library_calls = 0;
};

constexpr int64_t kAllDepths = std::numeric_limits<int64_t>::max();

struct Launched {
    int phase;
    int64_t depth;
    const char* kernel;
    const char* symbol;  // tells kernels of one name apart
    int64_t rows;
};

// What a thread needs beside the schedule: room for intermediates and tables of the block it runs.
class Worker {
   public:
    explicit Worker(size_t memory_limit) : memory_("block", memory_limit) {}

    // The memory of the block before is free again.
    void begin_block() { memory_.reset(); }
    float* rows(int64_t elements) { return static_cast<float*>(memory_.take(size_t(elements) * 4)); }

    const int64_t* steps(int64_t start, int64_t stride, int64_t rows) {
        int64_t* table = memory_.make<int64_t>(size_t(rows));
        for (int64_t i = 0; i < rows; ++i) table[i] = start + i * stride;
        return table;
    }
    const int64_t* shifted(const int64_t* table, int64_t by, int64_t rows) {
        if (by == 0) return table;
        int64_t* moved = memory_.make<int64_t>(size_t(rows));
        for (int64_t i = 0; i < rows; ++i) moved[i] = table[i] + by;
        return moved;
    }
    // Tables of `rows` rows each, one after the other.
    const int64_t* joined(std::initializer_list<const int64_t*> tables, int64_t rows) {
        int64_t* all = memory_.make<int64_t>(tables.size() * size_t(rows));
        int64_t* at = all;
        for (const int64_t* table : tables) at = std::copy(table, table + rows, at);
        return all;
    }
    // A row's address for each of its items; starts[0] need not be 0.
    const int64_t* spread(const int64_t* table, const int64_t* starts, int64_t rows) {
        int64_t* items = memory_.make<int64_t>(size_t(starts[rows] - starts[0]));
        for (int64_t i = 0; i < rows; ++i) std::fill(items + (starts[i] - starts[0]), items + (starts[i + 1] - starts[0]), table[i]);
        return items;
    }
    float* scratch(size_t bytes) {
        if (scratch_.size() < bytes + 64) scratch_.resize(bytes + 64);
        return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch_.data()) + 63) & ~uintptr_t{63});
    }
    size_t high_water() const { return memory_.high_water() + scratch_.size(); }

   private:
    Arena memory_;
    std::vector<char> scratch_;
};

// What an executable is told when it is loaded; `options.py` says what the switches do.
struct Settings {
    int threads;
    size_t memory_limit;  // bytes of each arena
    bool checked;
    bool gather_fusion;
    bool defer;
    int64_t wave;
    Executor executor;
};

class Context {
   public:
    explicit Context(const Settings& settings)
        : host("structure", settings.memory_limit),
          tensors("tensor", settings.memory_limit),
          pool(settings.threads),
          memory_limit_(settings.memory_limit),
          checked_(settings.checked),
          gather_fusion_(settings.gather_fusion),
          defer_(settings.defer),
          wave_(settings.wave),
          executor_(settings.executor) {
        for (int i = 0; i < settings.threads; ++i) workers_.emplace_back(memory_limit_);
    }

    Arena host;     // structures, lists, coroutine frames, tables made at launch
    Arena tensors;  // rows of results
    Pool pool;
    Counters counters;
    std::vector<Stage> stages;
    Stage* stage = nullptr;
    int64_t instance = 0;               // being read or run, for messages
    float* base = nullptr;              // every address counts from here
    std::vector<Tensor> weights;        // addresses of the weights as they are
    std::vector<const float*> packed;   // weights as kernels want them
    Gemm gemm;                          // of a library, for kernels that call one
    std::vector<Launched> log;          // filled when `logging`
    bool logging = false;

    // ---- addresses
    Tensor address(const void* p) const { return (reinterpret_cast<intptr_t>(p) - reinterpret_cast<intptr_t>(base)) / 4; }
    float* pointer(Tensor t) const {
        return reinterpret_cast<float*>(reinterpret_cast<intptr_t>(base) + intptr_t(t) * 4);
    }
    Tensor place(int64_t elements) { return address(tensors.take(size_t(elements) * 4)); }

    Tensor row(int weight, int64_t index, int64_t rows, int64_t row_size) const {
        const int64_t at = index < 0 ? index + rows : index;
        if (at < 0 || at >= rows)
            throw InstanceError("index " + std::to_string(index) + " is out of range: the table has " + std::to_string(rows) + " rows");
        return weights[size_t(weight)] + at * row_size;
    }
    // The row of table `other` that stands where `row` stands in `table`.
    Tensor lookup(Tensor row, int table, int64_t row_size, int other, int64_t other_row_size) const {
        return weights[size_t(other)] + (row - weights[size_t(table)]) / row_size * other_row_size;
    }
    Tensor scalar(double value) {
        const Tensor t = place(16);
        *pointer(t) = float(value);
        if (checked_) produced(t, 16);
        return t;
    }

    // ---- interruption
    // Called now and then; throws if the user wants the run to end.
    void (*poll)() = [] {};
    // In whatever may go on for ever without recording work.
    void tick() const {
        if ((++ticks_ & 0xff) == 0) [[unlikely]]
            poll();
    }

    // ---- recursion
    void measure_stack() {
        // Finding the main thread's stack means reading the process's memory map: once a thread is enough.
        thread_local const char* const limit = [] {
            pthread_attr_t attributes;
            void* lowest = nullptr;
            size_t size = 0;
            pthread_getattr_np(pthread_self(), &attributes);
            pthread_attr_getstack(&attributes, &lowest, &size);
            pthread_attr_destroy(&attributes);
            return static_cast<const char*>(lowest) + std::min<size_t>(size / 4, size_t{1} << 18);
        }();
        stack_limit_ = limit;
    }
    // `calls`: how many are below, each from within the one before. They need no stack where the compiler makes loops of them.
    void guard(const char* what, int64_t calls = 0) const {
        tick();
        char here;
        if (&here < stack_limit_) [[unlikely]]
            throw ResourceError(std::string(what) + " is nested too deeply for this thread's stack: the recursion may not end, or "
                                                    "the instance may contain itself");
        if (calls >= kMostCalls) [[unlikely]]
            throw ResourceError(std::string(what) + " is nested too deeply, in " + std::to_string(kMostCalls) +
                                " calls: the recursion may not end");
    }
    static constexpr int64_t kMostCalls = 1 << 24;

    // A tensor that an instance has waited for.
    const float* computed(Tensor t) const {
        if (checked_ && !there(t)) throw ScheduleError("an instance read a tensor before it was computed");
        return pointer(t);
    }

    // ---- recording
    // Whether dependences are found as operations are recorded; else the program gives each its depth.
    bool tracks() const { return executor_ != Executor::inline_depth; }

    // An operation with these operands is recorded next: at which depth.
    int64_t track(int unit, std::initializer_list<Tensor> operands, std::initializer_list<const List<Tensor>*> lists) {
        recording_.begin(int(stage - stages.data()), unit);
        for (const Tensor t : operands) recording_.operand(tensors.line_of(pointer(t)));
        for (const List<Tensor>* list : lists)
            for (const Tensor t : *list) recording_.operand(tensors.line_of(pointer(t)));
        // The agenda takes operations by dependence: they all wait in one bucket of their unit.
        return stage->base() + (executor_ == Executor::agenda ? 0 : recording_.level());
    }
    void tracked(Tensor result, int64_t elements, int64_t row) {
        recording_.result(tensors.line_of(pointer(result)), (elements * 4 + 63) / 64, row);
    }

    // ---- launches
    // A kernel of a unit has been given all its rows.
    void count(const char* kernel, const char* symbol, int64_t rows, double flops_per_row) {
        if (rows == 0) return;
        counters.launches += 1;
        counters.product_flops += flops_per_row * double(rows);
        if (logging) log.push_back({int(stage - stages.data()), depth_, kernel, symbol, rows});
    }

    // Runs body(begin, end, worker, split) over all rows of a unit, in blocks whose operands, intermediates and results
    // (`row_bytes` each) stay in the L2 cache: a kernel goes over its rows once for each panel of weights, and the kernels of a
    // static block hand their results on while they are still there. With several threads each takes blocks of its own;
    // where there are too few rows for that, the body is called once with `split`, and its steps share out their columns.
    template <class Body>
    void blocks(int64_t rows, double row_bytes, double flops_per_row, Body&& body) {
        const int threads = pool.threads();
        const int64_t tiles = (rows + 7) / 8;
        const int64_t block = std::max<int64_t>(kLeastTiles, int64_t(double(kBlockBytes) / (8 * row_bytes)));
        if (threads == 1 || flops_per_row * double(rows) < kSmallWork) {
            for (int64_t tile = 0; tile < tiles; tile += block)
                body(8 * tile, std::min(rows, 8 * (tile + block)), workers_[0], false);
        } else if (tiles < 4 * threads) {
            body(int64_t{0}, rows, workers_[0], true);
        } else {
            const int64_t wanted = std::max<int64_t>(4 * threads, (tiles + block - 1) / block);
            const int pieces = int(std::min<int64_t>({tiles, wanted, Pool::kMaxPieces}));
            pool.run(pieces, [&](int p, int thread) {
                body(8 * (tiles * p / pieces), std::min(rows, 8 * (tiles * (p + 1) / pieces)), workers_[size_t(thread)], false);
            });
        }
    }
    static constexpr int64_t kBlockBytes = 384 << 10;  // beside the weights in a 1 MiB cache
    static constexpr int64_t kLeastTiles = 8;
    static constexpr double kSmallWork = 5e4;  // flops under which waking other threads costs more than it saves

    // One kernel call of a block: kernel(row_begin, row_end, part_begin, part_end, scratch).
    template <class Kernel>
    void step(Worker& worker, bool split, int64_t rows, int parts, size_t scratch_bytes, Kernel&& kernel) {
        if (rows == 0) return;
        const int threads = pool.threads();
        if (!split) {
            kernel(int64_t{0}, rows, 0, parts, worker.scratch(scratch_bytes));
        } else if (parts >= threads) {
            const int pieces = std::min(parts, 4 * threads);
            pool.run(pieces, [&](int p, int thread) {
                kernel(int64_t{0}, rows, parts * p / pieces, parts * (p + 1) / pieces, workers_[size_t(thread)].scratch(scratch_bytes));
            });
        } else {
            const int64_t tiles = (rows + 7) / 8;
            const int pieces = int(std::min<int64_t>(tiles, threads));
            pool.run(pieces, [&](int p, int thread) {
                kernel(8 * (tiles * p / pieces), std::min(rows, 8 * (tiles * (p + 1) / pieces)), 0, parts,
                       workers_[size_t(thread)].scratch(scratch_bytes));
            });
        }
    }

    // Explicit gather: the rows are copied next to each other, each from a cache line of its own, and the table made to say so.
    const int64_t* operand(const int64_t* table, int64_t rows, int64_t elements) {
        if (gather_fusion_) return table;
        const auto began = Clock::now();
        const int64_t stride = (elements + 15) / 16 * 16;  // an instance's tensor may end right after its elements
        const int64_t* together = adjacent(table, rows, stride);
        if (together != table) copy(table, together, rows, elements, began);
        return together;
    }

    // ---- kernels that call a library
    // Places for rows next to each other: the table's own if they are.
    const int64_t* adjacent(const int64_t* table, int64_t rows, int64_t elements) {
        int64_t i = 1;
        while (i < rows && table[i] == table[i - 1] + elements) ++i;
        if (i >= rows) return table;
        const Tensor start = place(rows * elements);
        int64_t* together = host.make<int64_t>(size_t(rows));
        for (int64_t row = 0; row < rows; ++row) together[row] = start + row * elements;
        return together;
    }
    // Results from where the library wrote them to where they are looked for.
    void scatter(const int64_t* from, const int64_t* to, int64_t rows, int64_t elements) {
        if (from != to) copy(from, to, rows, elements, Clock::now());
    }
    // Runs kernel(row_begin, row_end, part_begin, part_end) over all rows, each thread taking one share of them, as large as
    // can be: of the rows, or of the parts (columns) where that keeps more threads busy or leaves shares nearer to square.
    template <class Kernel>
    void share(int64_t rows, int parts, double flops_per_row, Kernel&& kernel) {
        const int threads = flops_per_row * double(rows) < kSmallWork ? 1 : pool.threads();
        const int by_rows = int(std::min<int64_t>(rows, threads));
        const int by_parts = std::min(parts, threads);
        if (by_parts > by_rows || (by_parts == by_rows && kPartColumns * parts > rows))
            pool.run(by_parts, [&](int p, int) { kernel(int64_t{0}, rows, parts * p / by_parts, parts * (p + 1) / by_parts); });
        else
            pool.run(by_rows, [&](int p, int) { kernel(rows * p / by_rows, rows * (p + 1) / by_rows, 0, parts); });
    }
    static constexpr int kPartColumns = 16;

    // ---- execution
    // A mini-batch begins.
    void begin() {
        counters = {};
        log.clear();
    }
    // A wave of it begins: nothing of the one before is needed any more.
    void reset(const Unit* units, int count, int phases, int64_t static_levels) {
        host.reset();
        tensors.reset();
        produced_.clear();
        if (stages.empty()) {
            units_ = units;
            unit_count_ = count;
            stages.resize(size_t(phases));
            for (Stage& s : stages) s.set_up(units, count, static_levels, memory_limit_);
        }
        for (Stage& s : stages) s.reset();
        stage = &stages[0];
        if (tracks()) recording_.reset(stages.size());
    }

    // How many of `left` instances are read next, `factor` times a wave's least number or more: none are left that are fewer.
    int64_t group(int64_t left, int64_t factor) const { return wave_ && left >= 2 * factor * wave_ ? factor * wave_ : left; }
    // Whether a wave's results are as many as shall be: 4 MiB with 64 instances, which is what may stay in a second-level cache
    // and in a core's share of the third.
    bool full() const { return wave_ && tensors.used() >= size_t(wave_) * kWaveBytes; }
    static constexpr size_t kWaveBytes = 64 << 10;  // for an instance of the least number

    // Runs what is recorded in the phases up to and including `last`, of that one only what lies below depth `end`.
    void execute(int last, int64_t end = kAllDepths) {
        if (!defer_ || tracks()) end = kAllDepths;
        const auto from = Clock::now();
        double kernels = 0;
        Stage* const recording = stage;
        const double copied = counters.copy_ms;
        const auto run = [&](int64_t depth, int unit, Bucket& bucket) {
            poll();
            depth_ = depth;
            if (checked_) check(units_[unit], bucket);
            counters.nodes += double(bucket.rows);
            counters.batches += 1;
            const auto start = Clock::now();
            char* const mark = tensors.mark();
            units_[unit].run(*this, bucket);
            tensors.release_to(mark);  // results have had their places since they were recorded: what came after are copies
            kernels += milliseconds(Clock::now() - start);
            if (checked_)
                for (int64_t i = 0; i < bucket.rows; ++i) produced(bucket.out.data[i], units_[unit].row_size);
        };
        for (int p = 0; p <= last; ++p) {
            stage = &stages[size_t(p)];
            if (executor_ == Executor::agenda) {
                int64_t batches = 0;
                recording_.agenda(p, unit_count_, [&](int unit, const std::vector<int64_t>& rows) {
                    Bucket batch(units_[unit]);
                    batch.take(stage->bucket(stage->base(), unit), rows, units_[unit]);
                    run(stage->passed() + batches++, unit, batch);
                });
                stage->skip(batches);
            } else {
                stage->drain(p < last ? kAllDepths : end, run);
            }
            if (tracks()) recording_.all_ran(p);
        }
        stage = recording;
        counters.executions += 1;
        kernels -= counters.copy_ms - copied;
        counters.kernel_ms += kernels;
        counters.schedule_ms += milliseconds(Clock::now() - from) - kernels - (counters.copy_ms - copied);
    }

   private:
    void copy(const int64_t* from, const int64_t* to, int64_t rows, int64_t elements, Clock::time_point began) {
        for (int64_t i = 0; i < rows; ++i) std::memcpy(pointer(to[i]), pointer(from[i]), size_t(elements) * 4);
        counters.gathered_bytes += double(rows * elements * 4);
        counters.copy_ms += milliseconds(Clock::now() - began);
    }

    // ---- checked mode: every operand must have been computed before its kernel runs
    void produced(Tensor t, int64_t elements) {
        const int64_t first = tensors.line_of(pointer(t));
        const int64_t last = first + (elements * 4 + 63) / 64;
        if (size_t(last) > produced_.size()) produced_.resize(size_t(last) * 2, false);
        std::fill(produced_.begin() + first, produced_.begin() + last, true);
    }
    bool there(Tensor t) const {
        const int64_t line = tensors.line_of(pointer(t));
        return line < 0 || (size_t(line) < produced_.size() && produced_[size_t(line)]);
    }
    void require(const Unit& unit, Tensor t) const {
        if (!there(t))
            throw ScheduleError(std::string("the unit ") + unit.name + " was scheduled before one of its operands was computed");
    }
    void check(const Unit& unit, const Bucket& bucket) const {
        for (const Column& c : bucket.operands)
            for (int64_t i = 0; i < bucket.rows; ++i) require(unit, c.data[i]);
        for (const Column& c : bucket.items)
            for (int64_t i = 0; i < c.size; ++i) require(unit, c.data[i]);
    }

    const Unit* units_ = nullptr;
    int unit_count_ = 0;
    int64_t depth_ = 0;
    const char* stack_limit_ = nullptr;
    std::deque<Worker> workers_;
    std::vector<bool> produced_;
    mutable uint32_t ticks_ = 0;
    size_t memory_limit_;
    bool checked_;
    bool gather_fusion_;
    bool defer_;
    int64_t wave_;
    Executor executor_;
    Recording recording_;
};

}  // namespace acrobat
