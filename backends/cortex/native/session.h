// The session of a loaded model, which outlives mini-batches, with the functions that the generated loop nests call.
#pragma once

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "linearise.h"
#include "cpu/pool.h"

namespace cortex {

using Clock = std::chrono::steady_clock;
inline double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// Memory that begins at a cache line and only grows, which discards its contents.
class Buffer {
   public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(data_); }
    float* room(int64_t elements) {
        if (elements > size_) {
            std::free(data_);
            size_ = elements + elements / 4;
            data_ = static_cast<float*>(std::aligned_alloc(64, size_t(size_ * 4 + 63) / 64 * 64));
            if (!data_) throw std::bad_alloc();
        }
        return data_;
    }

   private:
    float* data_ = nullptr;
    int64_t size_ = 0;
};

struct Counters {
    double ingest_ms = 0, schedule_ms = 0, copy_ms = 0, kernel_ms = 0, fetch_ms = 0;
    double nodes = 0, batches = 0, launches = 0, barriers = 0;
    double copied_bytes = 0, intermediate_bytes = 0, packed_bytes = 0, product_flops = 0;
};

// A thread's own memory.
struct Worker {
    Buffer memory, kernel;
    std::vector<std::vector<int64_t>> items;
    int64_t most = 0;  // elements of intermediates at a time, in this mini-batch

    float* intermediates(int64_t elements) {
        most = std::max(most, elements);
        return memory.room(elements);
    }
    // A table of the addresses of `count` rows at equal distances. Tables with different numbers are separate.
    const int64_t* rows(size_t number, int64_t count, int64_t start, int64_t stride) {
        if (items.size() <= number) items.resize(number + 1);
        std::vector<int64_t>& found = items[number];
        found.resize(size_t(count));
        for (int64_t i = 0; i < count; ++i) found[size_t(i)] = start + i * stride;
        return found.data();
    }
};

// What a body costs for one node.
struct Cost {
    int kernels;
    double row_bytes;
    double flops;      // if it has two children
    double own_flops;  // without the kernels that run for each child
};

// How a weight is packed: see kernels/packing.py.
struct Packed {
    const float* source;
    float* target;
    int64_t rows, columns, gates, lanes, panels;  // lanes 0: a plain copy
};

struct Session {
    explicit Session(int threads) : pool(threads), workers(size_t(threads)) {}

    acrobat::Pool pool;
    std::vector<Worker> workers;
    Counters counters;
    Reader reader;
    Elements elements;
    std::vector<Recursion> recursions;
    std::vector<Linear> linear;
    std::vector<const float*> outside;   // for each recursion the row that takes the place of missing children
    std::vector<const float*> weights;   // packed, in the order of the calls
    std::vector<const float*> tables;    // parameters whose rows are selected by words
    std::vector<int64_t> widths, rows;   // for each table the elements of a row, and how many rows there are
    std::vector<Packed> packed;
    std::vector<std::unique_ptr<Buffer>> states, hoisted, sparse;  // sparse: intermediates by the number of the node
    int64_t sparse_elements = 0;
    std::vector<int64_t> hoisted_row;
    struct Own {
        size_t recursion;
        int64_t at;
        size_t root;  // of an instance with several trees
    };
    std::vector<Own> own_at;                // states that outputs read
    std::vector<std::vector<int64_t>> own;  // their addresses, by output
    alignas(64) float base[16] = {};        // addresses are counted from here
    float* out = nullptr;
    float* zeros = nullptr;
    int64_t outputs = 0;

    int64_t at(const float* p) const { return p - base; }

    // Runs kernel(row_begin, row_end, part_begin, part_end, scratch); with `split` threads share the parts, or else the rows.
    template <class Kernel>
    void call(Worker& worker, bool split, int64_t rows, int parts, int64_t scratch, Kernel&& kernel) {
        if (rows == 0) return;
        const int threads = pool.threads();
        if (!split) return kernel(int64_t{0}, rows, 0, parts, worker.kernel.room(scratch));
        if (parts >= threads) {
            const int pieces = std::min(parts, 4 * threads);
            pool.run(pieces, [&](int p, int thread) {
                kernel(int64_t{0}, rows, parts * p / pieces, parts * (p + 1) / pieces, workers[size_t(thread)].kernel.room(scratch));
            });
        } else {
            const int64_t tiles = (rows + 7) / 8;
            const int pieces = int(std::min<int64_t>(tiles, threads));
            pool.run(pieces, [&](int p, int thread) {
                kernel(8 * (tiles * p / pieces), std::min(rows, 8 * (tiles * (p + 1) / pieces)), 0, parts,
                       workers[size_t(thread)].kernel.room(scratch));
            });
        }
    }

    // Runs a body, body(begin, end, worker, split), on the nodes from `begin` to `end` with all threads, in blocks whose
    // operands, intermediates and results stay in the second-level cache. ACRoBat's runtime has the same rule.
    template <class Body>
    void blocks(int64_t begin, int64_t end, const Cost& cost, Body&& body) {
        const int64_t rows = end - begin;
        if (rows <= 0) return;
        counters.nodes += double(rows);
        counters.batches += 1;
        counters.barriers += 1;
        counters.launches += cost.kernels;
        counters.product_flops += cost.own_flops * double(rows);
        const double flops = cost.flops, row_bytes = cost.row_bytes;
        const int threads = pool.threads();
        const int64_t tiles = (rows + 7) / 8;
        const int64_t block = std::max<int64_t>(8, int64_t(double(384 << 10) / (8 * row_bytes)));
        if (threads == 1 || flops * double(rows) < 5e4) {
            for (int64_t t = 0; t < tiles; t += block) body(begin + 8 * t, std::min(end, begin + 8 * (t + block)), workers[0], false);
        } else if (tiles < 4 * threads) {
            body(begin, end, workers[0], true);
        } else {
            const int64_t wanted = std::max<int64_t>(4 * threads, (tiles + block - 1) / block);
            const int pieces = int(std::min<int64_t>({tiles, wanted, acrobat::Pool::kMaxPieces}));
            pool.run(pieces, [&](int p, int thread) {
                body(begin + 8 * (tiles * p / pieces), std::min(end, begin + 8 * (tiles * (p + 1) / pieces)), workers[size_t(thread)], false);
            });
        }
    }

    // Runs wavefronts `wave` and `wave` + 1 of trees. A piece of work is some parents, after their children in the lower one.
    template <class Body>
    void pair(const Linear& l, size_t wave, const Cost& cost, Body&& body) {
        const int64_t middle = l.waves[wave + 1], end = l.waves[wave + 2], rest = l.rest[wave / 2], nodes = end - l.waves[wave];
        counters.nodes += double(nodes);
        counters.batches += 1;
        counters.barriers += 1;
        counters.launches += cost.kernels;
        counters.product_flops += cost.own_flops * double(nodes);
        const double flops = cost.flops;
        const int64_t size = pool.threads() == 1 ? 32 : 8;
        const int64_t parents = (end - middle + size - 1) / size, others = (middle - rest + size - 1) / size;
        const auto piece = [&](int64_t p, Worker& worker) {
            if (p >= parents) {
                const int64_t first = rest + size * (p - parents);
                return body(first, std::min(middle, first + size), worker, false);
            }
            const int64_t first = middle + size * p, last = std::min(end, first + size);
            const int64_t from = l.below[size_t(first)], to = last < end ? l.below[size_t(last)] : rest;
            if (from < to) body(from, to, worker, false);
            body(first, last, worker, false);
        };
        const int64_t pieces = parents + others;
        if (pool.threads() == 1 || flops * double(nodes) < 5e4 || pieces > acrobat::Pool::kMaxPieces)
            for (int64_t p = 0; p < pieces; ++p) piece(p, workers[0]);
        else
            pool.run(int(pieces), [&](int p, int thread) { piece(p, workers[size_t(thread)]); });
    }

    // Copies states that are rows of a table, or, if `from` is null, the same constant for all nodes.
    void copy(const int64_t* from, int64_t constant, int64_t to, int64_t stride, int64_t rows, int64_t elements) {
        const auto began = Clock::now();
        for (int64_t i = 0; i < rows; ++i) std::memcpy(base + to + i * stride, base + (from ? from[i] : constant), size_t(elements) * 4);
        const double took = milliseconds(Clock::now() - began);
        std::lock_guard lock(mutex_);
        counters.copied_bytes += double(rows * elements * 4);
        counters.copy_ms += took;
    }

    void pack() {
        for (const Packed& p : packed) {
            counters.packed_bytes += double(p.rows * p.columns * 4);
            if (!p.lanes) {
                std::memcpy(p.target, p.source, size_t(p.rows * p.columns) * 4);
                continue;
            }
            const int64_t units = p.rows / p.gates;
            for (int64_t g = 0; g < p.gates; ++g)
                for (int64_t u = 0; u < units; ++u)
                    for (int64_t k = 0; k < p.columns; ++k)
                        p.target[((u / p.lanes * p.columns + k) * p.gates + g) * p.lanes + u % p.lanes] = p.source[(g * units + u) * p.columns + k];
        }
    }

   private:
    std::mutex mutex_;
};

}  // namespace cortex
