// Tiles of products in float32. Every thread keeps RT rows of PT groups of four columns (of each gate) in registers.
//
// In shared memory the elements of one step of the reduction lie next to each other, for both operands. So a thread reads four of
// its rows, or four of its columns, at once.
#pragma once
#include "ring.cuh"

struct Exact {};

template <int RT, int PT, int G>
struct Tiled<Exact, RT, PT, G> {
    static constexpr int kDepthStep = 8, kStages = 4;
    static constexpr int kRows = 16 * RT, kColumns = 64 * PT;
    static constexpr int kLeftStride = kRows + 4, kRightStride = kColumns + 4, kRightStep = G * kRightStride;
    static constexpr int kLeft = kDepthStep * kLeftStride, kRight = kDepthStep * kRightStep;
    static constexpr int kSums = 4 * RT * PT * G * kThreads;  // of all threads, for the epilogue
    static constexpr int kRing = kStages * (kLeft + kRight);
    static constexpr int kRingBytes = 4 * (kRing > kSums ? kRing : kSums);
    static_assert(RT == 2 || RT % 4 == 0);
    static_assert(4 * RT * PT * G <= 128, "the sums would not fit the registers");

    // kAlong: whether neighbouring elements of a row lie next to each other in memory, rather than those of neighbouring rows.
    template <bool kAlong, bool, class F>
    static ACROBAT_DEVICE void copy_left(float* to, int step, int thread, F&& source) {
        copy_steps<kDepthStep, kRows, kLeftStride, kAlong>(to, step, thread, source);
    }
};

// The sums of a tile, in its threads' registers. `reduce` runs the reduction through the ring; fetch(step, left, right) starts the
// copies of one step. `finish_all` calls finish(row, four, gates) for every four neighbouring columns: `row` within the tile,
// `four` counts its columns in fours. The sums go through shared memory, so that the epilogue's code is there once and not for each
// sum.
template <int RT, int PT, int G>
struct Sums<Exact, RT, PT, G> {
    using T = Tiled<Exact, RT, PT, G>;
    static constexpr int kNeighbours = RT < 4 ? RT : 4;  // rows of a thread that are neighbours; the next are 16 such groups on
    // The thread's place within the tile: its first group of rows, and of four columns. A warp has four times eight threads. Lanes
    // that differ in their last bit read the same columns, those that differ in the next three the same rows: for such pairs of lanes,
    // reads of 16 bytes take one wavefront for half a warp, else for a quarter.
    static ACROBAT_DEVICE int row_of(int thread) { return thread / 64 * 4 + thread % 32 / 16 * 2 + thread % 2; }
    static ACROBAT_DEVICE int column_of(int thread) { return thread / 32 % 2 * 8 + thread % 16 / 2; }
    float acc[PT][G][RT][4] = {};

    // What a thread reads for one step of the reduction.
    struct Operands {
        float left[RT];
        float4 right[PT][G];
    };
    // Reads step k of a stage, in which the thread's first rows lie at `left` and its first columns at `right`.
    static ACROBAT_DEVICE void read(const float* left, const float* right, int k, Operands& to) {
#pragma unroll
        for (int i = 0; i < RT; i += kNeighbours) {
            const float* const from = left + k * T::kLeftStride + i * 16;
            if constexpr (kNeighbours == 4) {
                const float4 v = *reinterpret_cast<const float4*>(from);
                to.left[i] = v.x, to.left[i + 1] = v.y, to.left[i + 2] = v.z, to.left[i + 3] = v.w;
            } else {
                const float2 v = *reinterpret_cast<const float2*>(from);
                to.left[i] = v.x, to.left[i + 1] = v.y;
            }
        }
#pragma unroll
        for (int p = 0; p < PT; ++p)
#pragma unroll
            for (int g = 0; g < G; ++g)
                to.right[p][g] = *reinterpret_cast<const float4*>(right + k * T::kRightStep + g * T::kRightStride + p * 64);
    }
    ACROBAT_DEVICE void add(const Operands& x) {
#pragma unroll
        for (int p = 0; p < PT; ++p)
#pragma unroll
            for (int g = 0; g < G; ++g)
#pragma unroll
                for (int i = 0; i < RT; ++i) {
                    acc[p][g][i][0] += x.left[i] * x.right[p][g].x;
                    acc[p][g][i][1] += x.left[i] * x.right[p][g].y;
                    acc[p][g][i][2] += x.left[i] * x.right[p][g].z;
                    acc[p][g][i][3] += x.left[i] * x.right[p][g].w;
                }
    }

    // Everything is read from shared memory before what was read last has been multiplied, across stages too: the wait for the next
    // stage comes before the last step of this one. If all threads began a stage by reading, each would wait for the reads of all
    // others.
    template <class Fetch>
    ACROBAT_DEVICE void reduce(int steps, float* ring, int thread, Fetch&& fetch) {
        const auto stage = [&](int step) { return ring + step % T::kStages * (T::kLeft + T::kRight); };
        const auto fetch_stage = [&](int step) {
            if (step < steps) fetch(step, stage(step), stage(step) + T::kLeft);
            copies_commit();
        };
        const int left_at = row_of(thread) * kNeighbours, right_at = T::kLeft + column_of(thread) * 4;
        const auto left_of = [&](int step) { return stage(step) + left_at; };
        const auto right_of = [&](int step) { return stage(step) + right_at; };
#pragma unroll
        for (int s = 0; s < T::kStages - 1; ++s) fetch_stage(s);
        copies_wait<T::kStages - 2>();  // for the first step
        block_sync();
        Operands x[2];
        read(left_of(0), right_of(0), 0, x[0]);
#pragma unroll 1
        for (int s = 0; s < steps; ++s) {
            const float *const left = left_of(s), *const right = right_of(s);
#pragma unroll
            for (int k = 0; k < T::kDepthStep; ++k) {
                if (k < T::kDepthStep - 1) {
                    read(left, right, k + 1, x[(k + 1) % 2]);
                } else {
                    copies_wait<T::kStages - 2>();  // for the next step
                    block_sync();  // all threads have read this stage, which the next copies replace
                    read(left_of(s + 1), right_of(s + 1), 0, x[(k + 1) % 2]);
                }
                if (k == 0) fetch_stage(s + T::kStages - 1);
                add(x[k % 2]);
            }
        }
        copies_wait<0>();
        block_sync();  // from here on the ring's memory may be used for other data
    }

    template <class Finish>
    ACROBAT_DEVICE void finish_all(float* shared, Finish&& finish) const {
        const int thread = thread_index();  // asked for again, so that no register keeps it while products are added
        const int row = row_of(thread), column = column_of(thread);
        float4* const own = reinterpret_cast<float4*>(shared) + thread;  // places that no other thread reads
#pragma unroll
        for (int i = 0; i < RT; ++i)
#pragma unroll
            for (int p = 0; p < PT; ++p)
#pragma unroll
                for (int g = 0; g < G; ++g)
                    own[((i * PT + p) * G + g) * kThreads] =
                        float4{acc[p][g][i][0], acc[p][g][i][1], acc[p][g][i][2], acc[p][g][i][3]};
#pragma unroll 1
        for (int e = 0; e < RT * PT; ++e) {
            float gates[G][4];
#pragma unroll
            for (int g = 0; g < G; ++g) {
                const float4 v = own[(e * G + g) * kThreads];
                gates[g][0] = v.x, gates[g][1] = v.y, gates[g][2] = v.z, gates[g][3] = v.w;
            }
            const int i = e / PT;
            finish((i / kNeighbours * 16 + row) * kNeighbours + i % kNeighbours, e % PT * 16 + column, gates);
        }
    }
};
