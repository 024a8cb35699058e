// A product of two row operands with few rows, a matrix times a vector say: each warp takes four columns at a time, its lanes side
// by side along the reduction. Nothing goes through shared memory.
//
// K is as for both_rows in tiled.cuh. A tile has all R >= kRows rows of one head and 32 columns.
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
