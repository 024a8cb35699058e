// What the tiles of products of many rows have in common, whatever way they multiply (exact.cuh, tensor.cuh): the copies to shared
// memory, and the epilogue.
//
// Both operands are copied kDepthStep steps of the reduction at a time, into a ring of kStages stages, so that the copies of the
// next steps run while this one is multiplied.
#pragma once
#include "device.cuh"

// The sizes of a tile of 16 * RT rows and 64 * PT columns of each of G gates, and the sums of a thread of it. P is the way of
// multiplying: Exact (exact.cuh), or one of those on tensor cores (mma.cuh).
template <class P, int RT, int PT, int G>
struct Tiled;
template <class P, int RT, int PT, int G>
struct Sums;

// Where a copy to the ring reads, and whether there is anything: else zeros are written.
struct Source {
    const float* from;
    bool valid;
};

// Starts the copies of Depth steps (a multiple of eight) of the reduction for Count rows or columns of an operand. Those of a step
// lie next to each other in `to`; one step lies Stride after the other, which is 4 modulo 32. source(i, k) is where element k of
// row or column i lies. Neighbouring threads read neighbouring addresses: along the reduction (kAlong), else along the rows or
// columns. Either way a warp writes to different banks.
template <int Depth, int Count, int Stride, bool kAlong, class F>
ACROBAT_DEVICE void copy_steps(float* to, int step, int thread, F&& source) {
    static_assert(Count % 32 == 0 && Count <= kThreads && Stride % 32 == 4 && Depth % 8 == 0);
    constexpr int kAtOnce = kAlong ? kThreads / 8 : Count, kSteps = kThreads / kAtOnce;
    const int i = kAlong ? thread / 8 : thread % Count, k = kAlong ? thread % 8 : thread / Count;
    to += k * Stride + i;
#pragma unroll
    for (int first = 0; first < Depth; first += kSteps)
#pragma unroll
        for (int from = 0; from < Count; from += kAtOnce) {
            const Source s = source(from + i, step * Depth + first + k);
            copy4(to + first * Stride + from, s.from, s.valid);
        }
}

// The epilogue of four neighbouring columns; K::kLanes says how many of them lie next to each other in memory (1 or 4).
template <class K, int G>
ACROBAT_DEVICE void finish_four(const typename K::Args& a, int row, int unit, float (&gates)[G][4]) {
    if constexpr (K::kLanes == 4 && K::kUnits % 4 == 0) {
        K::template finish<4>(a, row, unit, gates);
    } else {
        if constexpr (K::kLanes == 4) {
            if (unit + 4 <= K::kUnits) {
                K::template finish<4>(a, row, unit, gates);
                return;
            }
        }
#pragma unroll 1
        for (int j = 0; j < 4 && unit + j < K::kUnits; ++j) {
            float one[G][1];
#pragma unroll
            for (int g = 0; g < G; ++g)
                one[g][0] = j == 0 ? gates[g][0] : j == 1 ? gates[g][1] : j == 2 ? gates[g][2] : gates[g][3];
            K::template finish<1>(a, row, unit + j, one);
        }
    }
}
