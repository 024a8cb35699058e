#include "executor.h"

#include <algorithm>
#include <cstring>

#include "../clock.h"
#include "pool.h"

namespace acrobat {

namespace {

constexpr int64_t kLeastTiles = 8;
#if defined(__SANITIZE_THREAD__)
constexpr double kSmallWork = 0;  // where races are looked for, threads share all work
#else
constexpr double kSmallWork = 5e4;  // flops under which waking other threads costs more than it saves
#endif
constexpr int kPartColumns = 16;

// Copies rows between the places in two tables, and counts the time since `began` as copying.
void copy(Context& cx, const int64_t* from, const int64_t* to, int64_t rows, int64_t elements, Clock::time_point began) {
    for (int64_t i = 0; i < rows; ++i) std::memcpy(cx.pointer(to[i]), cx.pointer(from[i]), size_t(elements) * 4);
    cx.counters.gathered_bytes += double(rows * elements * 4);
    cx.counters.copy_ms += milliseconds(Clock::now() - began);
}

}  // namespace

CpuExecutor::CpuExecutor(Context& cx, const Settings& settings)
    : Device(cx), base(cx.base), pool_(new Pool(settings.threads)), gather_fusion_(settings.gather_fusion),
      block_bytes_(settings.second_level * 3 / 8) {
    workers_.reserve(size_t(settings.threads));
    for (int i = 0; i < settings.threads; ++i) workers_.emplace_back(new Worker(settings.memory_limit));
}

CpuExecutor::~CpuExecutor() = default;

void CpuExecutor::wake() {
    pool_->begin();
    alone_ = Owned(new Gemm::Alone(gemm));
}

void CpuExecutor::rest() {
    alone_ = Owned<Gemm::Alone>();
    pool_->end();
}

Room CpuExecutor::room(int64_t elements) {
    float* values = static_cast<float*>(cx_.host.take(size_t(elements) * 4));
    return {values, cx_.address(values)};
}

bool CpuExecutor::reads(int32_t type, int32_t) const { return type == 1; }

void CpuExecutor::run(const Unit& unit, Bucket& bucket, Place place) {
    const auto start = Clock::now();
    const double copied = cx_.counters.copy_ms;
    char* const mark = cx_.tensors.mark();
    place_ = place;
    unit.run(*this, bucket);
    cx_.tensors.release_to(mark);  // results were placed before the run, so this frees only copies of operands and results
    const double took = milliseconds(Clock::now() - start);
    cx_.counters.blocked_ms += took;
    cx_.counters.kernel_ms += took - (cx_.counters.copy_ms - copied);
}

const float* CpuExecutor::values(int64_t, Tensor tensor, int64_t) { return cx_.pointer(tensor); }

void CpuExecutor::deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) {
    const size_t bytes = size_t(elements) * 4;
    char* at = static_cast<char*>(to);
    for (const Tensor t : tensors) {
        std::memcpy(at, cx_.pointer(t), bytes);
        at += bytes;
    }
}

void CpuExecutor::finish() { cx_.counters.library_calls += double(gemm.take_calls()); }

void CpuExecutor::blocks(int64_t rows, double row_bytes, double flops_per_row, Body body) {
    const int threads = pool_->threads();
    const int64_t tiles = (rows + 7) / 8;
    const int64_t block = std::max<int64_t>(kLeastTiles, int64_t(double(block_bytes_) / (8 * row_bytes)));
    if (threads == 1 || flops_per_row * double(rows) < kSmallWork) {
        for (int64_t tile = 0; tile < tiles; tile += block)
            body(8 * tile, std::min(rows, 8 * (tile + block)), *workers_[0], false);
    } else if (tiles < 4 * threads) {
        body(int64_t{0}, rows, *workers_[0], true);
    } else {
        const int64_t pieces_wanted = std::max<int64_t>(4 * threads, (tiles + block - 1) / block);
        const int pieces = int(std::min<int64_t>({tiles, pieces_wanted, Pool::kMaxPieces}));
        pool_->run(pieces, [&](int p, int thread) {
            body(8 * (tiles * p / pieces), std::min(rows, 8 * (tiles * (p + 1) / pieces)), *workers_[size_t(thread)], false);
        });
    }
}

void CpuExecutor::step(Worker& worker, bool split, int64_t rows, int parts, size_t scratch_bytes, Kernel kernel) {
    if (rows == 0) return;
    const int threads = pool_->threads();
    if (!split) {
        kernel(int64_t{0}, rows, 0, parts, worker.scratch(scratch_bytes));
    } else if (parts >= threads) {
        const int pieces = std::min(parts, 4 * threads);
        pool_->run(pieces, [&](int p, int thread) {
            kernel(int64_t{0}, rows, parts * p / pieces, parts * (p + 1) / pieces, workers_[size_t(thread)]->scratch(scratch_bytes));
        });
    } else {
        const int64_t tiles = (rows + 7) / 8;
        const int pieces = int(std::min<int64_t>(tiles, threads));
        pool_->run(pieces, [&](int p, int thread) {
            kernel(8 * (tiles * p / pieces), std::min(rows, 8 * (tiles * (p + 1) / pieces)), 0, parts,
                   workers_[size_t(thread)]->scratch(scratch_bytes));
        });
    }
}

const int64_t* CpuExecutor::operand(const int64_t* table, int64_t rows, int64_t elements) {
    if (gather_fusion_) return table;
    const auto began = Clock::now();
    const int64_t stride = (elements + 15) / 16 * 16;  // of copies only: an instance's tensor may end after its elements
    const int64_t* together = adjacent(table, rows, stride);
    if (together != table) copy(cx_, table, together, rows, elements, began);
    return together;
}

const int64_t* CpuExecutor::adjacent(const int64_t* table, int64_t rows, int64_t elements) {
    int64_t i = 1;
    while (i < rows && table[i] == table[i - 1] + elements) ++i;
    if (i >= rows) return table;
    const Tensor start = cx_.place(rows * elements);
    int64_t* together = cx_.host.make<int64_t>(size_t(rows));
    for (int64_t row = 0; row < rows; ++row) together[row] = start + row * elements;
    return together;
}

void CpuExecutor::scatter(const int64_t* from, const int64_t* to, int64_t rows, int64_t elements) {
    if (from != to) copy(cx_, from, to, rows, elements, Clock::now());
}

void CpuExecutor::share(int64_t rows, int parts, double flops_per_row, LibraryKernel kernel) {
    const int threads = flops_per_row * double(rows) < kSmallWork ? 1 : pool_->threads();
    const int by_rows = int(std::min<int64_t>(rows, threads));
    const int by_parts = std::min(parts, threads);
    if (by_parts > by_rows || (by_parts == by_rows && kPartColumns * parts > rows))
        pool_->run(by_parts, [&](int p, int) { kernel(int64_t{0}, rows, parts * p / by_parts, parts * (p + 1) / by_parts); });
    else
        pool_->run(by_rows, [&](int p, int) { kernel(rows * p / by_rows, rows * (p + 1) / by_rows, 0, parts); });
}

Device* cpu_device(Context& cx, const Settings& settings) { return new CpuExecutor(cx, settings); }

}  // namespace acrobat
