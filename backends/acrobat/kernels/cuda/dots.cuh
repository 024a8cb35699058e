// A product of two row operands with few rows, such as a matrix times a vector, in which the right operand is read only once.
// Neighbouring lanes read elements of it that are neighbours in memory: along the reduction (few_dots; each warp takes four
// columns at a time and needs no shared memory) or along the columns (few_columns; each warp takes every eighth step of the
// reduction for 32 columns, and the warps' sums are added through shared memory).
//
// K is the same as for both_rows in tiled.cuh. A tile has all R >= kRows rows of one head and 32 columns.
#pragma once
#include "device.cuh"

template <class K>
struct Dots {
    static constexpr int kAcross = (K::kColumns + 31) / 32;
    static constexpr int kTiles = K::kHeads * kAcross;  // of an instance
};

template <class K, int R>
ACROBAT_DEVICE void few_dots(const typename K::Args& a, int tile, char*, int thread) {
    using D = Dots<K>;
    static_assert(R >= K::kRows && R <= 8);
    const int instance = tile / D::kTiles, head = tile % D::kTiles / D::kAcross;
    const int warp = thread / 32, lane = thread % 32, column0 = tile % D::kAcross * 32 + warp * 4;
    const float *lefts[R], *rights[4];
#pragma unroll
    for (int r = 0; r < R; ++r) lefts[r] = K::left(a, instance, head, smaller(r, K::kRows - 1));
#pragma unroll
    for (int j = 0; j < 4; ++j) rights[j] = K::right(a, instance, head, smaller(column0 + j, K::kColumns - 1));
    float acc[R * 4] = {};
#pragma unroll 4
    for (int k = lane; k < K::kDepth; k += 32) {
        float w[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) w[j] = rights[j][int64_t(k) * K::kRightStep];
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const float v = lefts[r][int64_t(k) * K::kLeftStep];
#pragma unroll
            for (int j = 0; j < 4; ++j) acc[r * 4 + j] += v * w[j];
        }
    }
    constexpr int kHolders = 32 / (R * 4);
    const int r = lane / kHolders / 4, column = column0 + lane / kHolders % 4;
    lane_sums<32>(acc, thread);
    float gates[1][1] = {{acc[0]}};
    if (lane % kHolders == 0 && r < K::kRows && column < K::kColumns)
        K::template finish<1>(a, (instance * K::kHeads + head) * K::kRows + r, column, gates);
}

template <class K, int R>
ACROBAT_DEVICE void few_columns(const typename K::Args& a, int tile, char* shared, int thread) {
    using D = Dots<K>;
    static_assert(R >= K::kRows && R <= 8);
    const int instance = tile / D::kTiles, head = tile % D::kTiles / D::kAcross, column0 = tile % D::kAcross * 32;
    const int warp = thread / 32, lane = thread % 32;
    const float* lefts[R];
#pragma unroll
    for (int r = 0; r < R; ++r) lefts[r] = K::left(a, instance, head, smaller(r, K::kRows - 1));
    const float* const right = K::right(a, instance, head, smaller(column0 + lane, K::kColumns - 1));
    float acc[R] = {};
#pragma unroll 4
    for (int k = warp; k < K::kDepth; k += kWarps) {
        const float w = right[int64_t(k) * K::kRightStep];
#pragma unroll
        for (int r = 0; r < R; ++r) acc[r] += lefts[r][int64_t(k) * K::kLeftStep] * w;
    }
    float* const sums = reinterpret_cast<float*>(shared);  // [warp][row][column]
#pragma unroll
    for (int r = 0; r < R; ++r) sums[(warp * R + r) * 32 + lane] = acc[r];
    block_sync();
    const int r = thread / 32;
    if (r >= K::kRows || column0 + lane >= K::kColumns) return;
    float gates[1][1] = {};
#pragma unroll
    for (int w = 0; w < kWarps; ++w) gates[0][0] += sums[(w * R + r) * 32 + lane];
    K::template finish<1>(a, (instance * K::kHeads + head) * K::kRows + r, column0 + lane, gates);
}
