// A product with a shared weight for few rows. The reduction is divided among lanes and warps, so that there are many small
// tiles, each multiprocessor reads little of the weight, and each thread has little work.
//
// A tile has R rows and WP * 32 / L panels of four units (each with all gates). The L lanes of a warp that share a panel take
// every L-th element of the reduction each (times the number of warps that share it), for all R rows. Reads of the weight
// ([panel][k][gate][4]) are coalesced, reads of the input (in shared memory) are free of bank conflicts. The sums of lanes are
// added by exchanges within the warp, those of warps through shared memory.
//
// K describes the kernel: kRows (product rows of an instance), kDepth, kGates, kUnits, kLanes, Args, and
//   weights(a)             the packed weight
//   input(a, row)          where the input of a row lies, from tables
//   runs(a, input, f)      calls f(k, from, count): the input's elements k .. k + count lie at `from`
//   places, ready, read, finish   the epilogue of V units of a row from their product elements [gate][V], see CudaEpilogueWriter; V is 1,
//                          or 4 if kLanes is 4
//
// Before it waits for the barrier, a tile reads what no other block writes: tables of addresses, its first weights and the bias. What its
// epilogue reads is asked for together with the input, not after the sums are there.
#pragma once
#include "device.cuh"

template <class K, int R, int WP, int L>
struct Few {
    static constexpr int kSlices = kWarps / WP;    // warps that share a panel
    static constexpr int kSide = 32 / L;           // panels of a warp
    static constexpr int kWidth = WP * kSide * 4;  // units of a tile
    static constexpr int kColumns = (K::kUnits + kWidth - 1) / kWidth;
    static constexpr int kPanels = (K::kUnits + 3) / 4;
    static constexpr int kChunk = K::kDepth * R <= 16384 ? K::kDepth : 16384 / R / 32 * 32;  // elements of a row in shared memory
    static constexpr int kStride = (kChunk + 3) / 4 * 4;
    static constexpr int kStep = L * kSlices;
    static constexpr int kValues = R * 4;                                                // sums of a lane for one gate
    static constexpr int kHeld = kValues > L ? kValues / L : 1;                          // sums that a lane has after the exchange
    static constexpr int kHolders = kValues > L ? 1 : L / kValues;                       // lanes that have the same sums
    static constexpr int kSteps = (kChunk + kStep - 1) / kStep;
    static constexpr int kReady = (kValues * K::kGates > 32 ? 4 : 8) / K::kGates;  // 16 or 32 registers
    static constexpr int kAhead = kReady < 1 ? 1 : kSteps < kReady ? kSteps : kReady;  // steps whose weights are being read at any time
    // Whether all lanes have the same number of steps, and whether that number is also a multiple of kAhead.
    static constexpr bool kEven = K::kDepth == kChunk && kChunk % kStep == 0, kWhole = kEven && kSteps % kAhead == 0;
    // Whether a thread finishes four product elements at once, rather than one.
    static constexpr bool kFours = kSlices == 1 && kHeld == 4 && K::kLanes == 4;
    static constexpr int kV = kFours ? 4 : 1;
    static constexpr int kSharedBytes = 4 * (R * kStride + (kSlices > 1 ? kSlices * K::kGates * R * kWidth : 0));
    static_assert(kValues <= 32 && kWarps % WP == 0 && 32 % L == 0);
};

template <class K, int R, int WP, int L>
ACROBAT_DEVICE void few_rows(const typename K::Args& a, int tile, char* shared, int thread, Barrier& barrier) {
    using F = Few<K, R, WP, L>;
    constexpr int G = K::kGates;
    float* const x = reinterpret_cast<float*>(shared);
    float* const sums = x + R * F::kStride;
    const int warp = thread / 32, lane = thread % L, slice = warp / WP;
    const int total = int(a.rows) * K::kRows, row0 = tile / F::kColumns * R, unit0 = tile % F::kColumns * F::kWidth;
    const int panel_in_tile = warp % WP * F::kSide + thread % 32 / L;
    const int panel = tile % F::kColumns * (WP * F::kSide) + panel_in_tile;
    // Lanes beyond the last panel compute the last one again; their results are dropped.
    const float* const column = K::weights(a) + int64_t(smaller(panel, F::kPanels - 1)) * (K::kDepth * G * 4);
    constexpr int kEach = kThreads / R;  // threads that copy a row
    const auto input = K::input(a, smaller(row0 + thread / kEach, total - 1));

    // What this thread finishes first. `value` is the first of its sums, counted as [row][unit of four].
    const int value = F::kValues > L ? lane * F::kHeld : lane / F::kHolders;
    const int in_row = value / 4, in_panel = value % 4;
    int row = F::kSlices == 1 ? row0 + in_row : row0 + thread / F::kWidth;
    int unit = F::kSlices == 1 ? panel * 4 + in_panel : unit0 + thread % F::kWidth;
    const auto finishes = [&] {
        return row < total && unit < K::kUnits && (F::kSlices == 1 ? lane % F::kHolders == 0 : row < row0 + R);
    };
    const auto reads = [&] { return finishes() && unit + F::kV <= K::kUnits; };
    auto at = K::places(a, smaller(row, total - 1));
    typename K::template Operands<F::kV> operands;
    if (reads()) K::ready(a, row, unit, operands);

    float acc[G][F::kValues] = {};
    const auto add = [&](int k, const float4(&w)[G]) {  // k within the chunk
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const float v = x[r * F::kStride + k];
#pragma unroll
            for (int g = 0; g < G; ++g) {
                acc[g][r * 4] += v * w[g].x;
                acc[g][r * 4 + 1] += v * w[g].y;
                acc[g][r * 4 + 2] += v * w[g].z;
                acc[g][r * 4 + 3] += v * w[g].w;
            }
        }
    };
    const auto read = [&](int k, float4(&w)[G]) {
#pragma unroll
        for (int g = 0; g < G; ++g) w[g] = weight4(column + (k * G + g) * 4);
    };
#pragma unroll 1
    for (int begin = 0; begin < K::kDepth; begin += F::kChunk) {
        const int end = smaller(begin + F::kChunk, K::kDepth);
        // The lane's steps: k0, k0 + kStep, ... The weights of a step are read kAhead steps before it, those of the first steps
        // before anything else: they wait for nothing.
        const int k0 = begin + slice * L + lane;
        const auto mine = [&](int step) {
            return F::kEven ? step < F::kSteps : k0 + step * F::kStep < end;
        };
        float4 ahead[F::kAhead][G];
#pragma unroll
        for (int i = 0; i < F::kAhead; ++i)
            if (mine(i)) read(k0 + i * F::kStep, ahead[i]);
        if (begin) block_sync();
        else barrier.wait();
        K::runs(a, input, [&](int first, const float* from, int count) {
            const int lower = first < begin ? begin - first : 0, upper = smaller(count, end - first);
            float* const to = x + thread / kEach * F::kStride + first - begin;
            const int one = thread % kEach;
            if (aligned16(from) && first % 4 == 0 && lower % 4 == 0 && (upper - lower) % 4 == 0) {
#pragma unroll 4
                for (int i = 0; i < ceil_div(upper - lower, kEach * 4); ++i) {
                    const int k = lower + (i * kEach + one) * 4;
                    if (k < upper) copy16(to + k, from + k);
                }
            } else {
#pragma unroll 1
                for (int k = lower + one; k < upper; k += kEach) copy4(to + k, from + k);
            }
        });
        copies_commit();
        if (begin == 0 && reads()) K::read(a, at, row, unit, operands);
        copies_wait<0>();
        block_sync();
#pragma unroll 1
        for (int step = 0; step < F::kSteps; step += F::kAhead) {
#pragma unroll
            for (int i = 0; i < F::kAhead; ++i) {
                const int now = step + i, next = now + F::kAhead;
                if (F::kWhole || mine(now)) add(k0 + now * F::kStep - begin, ahead[i]);
                if (F::kSteps > F::kAhead && mine(next)) read(k0 + next * F::kStep, ahead[i]);
            }
        }
    }
#pragma unroll
    for (int g = 0; g < G; ++g) lane_sums<L>(acc[g], thread);
    if constexpr (F::kSlices > 1) {
        if (lane % F::kHolders == 0) {
#pragma unroll
            for (int g = 0; g < G; ++g)
#pragma unroll
                for (int i = 0; i < F::kHeld; ++i)
                    sums[((slice * G + g) * R + in_row) * F::kWidth + panel_in_tile * 4 + in_panel + i] = acc[g][i];
        }
        block_sync();
#pragma unroll 1
        for (int i = thread; i < R * F::kWidth; i += kThreads) {
            if (i >= kThreads) {
                row = row0 + i / F::kWidth, unit = unit0 + i % F::kWidth;
                at = K::places(a, smaller(row, total - 1));
                if (finishes()) K::ready(a, row, unit, operands), K::read(a, at, row, unit, operands);
            }
            if (!finishes()) continue;
            float gates[G][1];
#pragma unroll
            for (int g = 0; g < G; ++g) {
                gates[g][0] = 0.0f;
#pragma unroll
                for (int s = 0; s < F::kSlices; ++s) gates[g][0] += sums[(s * G + g) * (R * F::kWidth) + i];
            }
            K::finish(a, at, operands, row, unit, gates);
        }
    } else if (finishes()) {
        // Code that no lane needs is left out here, as in finish_four: each copy of the epilogue takes long to compile.
        constexpr bool kOnlyFours = F::kFours && K::kUnits % 4 == 0;
        if constexpr (F::kFours) {
            if (unit + 4 <= K::kUnits) {
                float gates[G][4];
#pragma unroll
                for (int g = 0; g < G; ++g)
#pragma unroll
                    for (int i = 0; i < 4; ++i) gates[g][i] = acc[g][i];
                K::finish(a, at, operands, row, unit, gates);
                return;
            }
        }
        if constexpr (!kOnlyFours) {
#pragma unroll 1
            for (int i = 0; i < F::kHeld && unit + i < K::kUnits; ++i) {
                float gates[G][1];
#pragma unroll
                for (int g = 0; g < G; ++g) {
                    gates[g][0] = acc[g][0];
#pragma unroll
                    for (int h = 1; h < F::kHeld; ++h)
                        if (i == h) gates[g][0] = acc[g][h];
                }
                if constexpr (F::kFours) K::finish(a, row, unit + i, gates);
                else {
                    if (i) K::ready(a, row, unit + i, operands), K::read(a, at, row, unit + i, operands);
                    K::finish(a, at, operands, row, unit + i, gates);
                }
            }
        }
    }
}
