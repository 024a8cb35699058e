// Products in tiles of 16 * RT rows and 64 * PT columns (of each gate). Every thread keeps RT rows of PT groups of four columns
// in registers. Both operands are copied to shared memory, kDepthStep steps of the reduction at a time, into a ring of kStages
// stages, so that the copies of the next steps run while this one is multiplied.
//
// In shared memory the reduction is the outermost dimension of both operands, so that a thread reads four rows or columns at
// once. The strides are 4 modulo 32, which keeps the writes of the copies free of bank conflicts.
//
// P is the way of multiplying: Exact (in float32), or on tensor cores (mma.cuh).
#pragma once
#include "mma.cuh"

constexpr int kDepthStep = 16;
constexpr int kStages = 3;

template <class P, int RT, int PT, int G>
struct Tiled {
    static constexpr bool kExact = P::kExact;
    static constexpr int kRows = 16 * RT, kColumns = 64 * PT;
    static constexpr int kLeftStride = kRows + 4, kRightStride = kColumns + 4;
    // On tensor cores, lanes read two steps of the reduction at once, which lie 2 * G strides apart. This padding between
    // steps gives them different banks too.
    static constexpr int kStepPad = kExact ? 0 : G == 2 ? 12 : G == 4 ? 4 : 0;
    static constexpr int kRightStep = G * kRightStride + kStepPad;
    static constexpr int kLeft = kDepthStep * kLeftStride, kRight = kDepthStep * kRightStep;
    static constexpr int kSumStride = G * kColumns + 8;  // from one row to the next
    static constexpr int kSums = kExact ? 4 * RT * PT * G * kThreads : kRows * kSumStride;  // of all threads, for the epilogue
    static constexpr int kRingBytes = 4 * (kStages * (kLeft + kRight) > kSums ? kStages * (kLeft + kRight) : kSums);
    static_assert(RT == 2 || RT == 4 || RT == 8);
    static_assert(PT * G <= 4, "the sums would not fit the registers");
};

// The place of a thread within a tile. A warp has four times eight threads, so that its reads of
// either operand take one to two wavefronts.
struct Place {
    int row, column;

    explicit ACROBAT_DEVICE Place(int thread) {
        const int warp = thread / 32, lane = thread % 32;
        row = warp / 2 * 4 + lane / 8;
        column = warp % 2 * 8 + lane % 8;
    }
    // Row `i` of the thread, within the tile.
    template <int RT>
    ACROBAT_DEVICE int row_of(int i) const {
        return RT == 8 ? i / 4 * 64 + row * 4 + i % 4 : row * RT + i;
    }
};

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

// The sums of a tile, in its threads' registers. `multiply` adds the products of one stage of the ring. `finish_all` calls
// finish(row, four, gates) for every four neighbouring columns: `row` within the tile, `four` counts its columns in fours. The
// sums go through shared memory, so that the epilogue's code is there once and not for each sum of a thread.
template <class P, int RT, int PT, int G>
struct Sums;

template <int RT, int PT, int G>
struct Sums<Exact, RT, PT, G> {
    using T = Tiled<Exact, RT, PT, G>;
    const int thread;
    const Place place;
    float acc[PT][G][RT][4] = {};

    explicit ACROBAT_DEVICE Sums(int thread) : thread(thread), place(thread) {}

    ACROBAT_DEVICE void multiply(const float* left, const float* right) {
#pragma unroll 8
        for (int k = 0; k < kDepthStep; ++k) {
            float x[RT];
            if constexpr (RT == 2) {
                const float2 v = *reinterpret_cast<const float2*>(left + k * T::kLeftStride + place.row * 2);
                x[0] = v.x, x[1] = v.y;
            } else {
#pragma unroll
                for (int i = 0; i < RT; i += 4) {
                    const float4 v = *reinterpret_cast<const float4*>(left + k * T::kLeftStride + i * 16 + place.row * 4);
                    x[i] = v.x, x[i + 1] = v.y, x[i + 2] = v.z, x[i + 3] = v.w;
                }
            }
#pragma unroll
            for (int p = 0; p < PT; ++p)
#pragma unroll
                for (int g = 0; g < G; ++g) {
                    const float4 w =
                        *reinterpret_cast<const float4*>(right + (k * G + g) * T::kRightStride + (p * 16 + place.column) * 4);
#pragma unroll
                    for (int i = 0; i < RT; ++i) {
                        acc[p][g][i][0] += x[i] * w.x;
                        acc[p][g][i][1] += x[i] * w.y;
                        acc[p][g][i][2] += x[i] * w.z;
                        acc[p][g][i][3] += x[i] * w.w;
                    }
                }
        }
    }

    template <class Finish>
    ACROBAT_DEVICE void finish_all(float* shared, Finish&& finish) const {
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
            finish(place.template row_of<RT>(e / PT), e % PT * 16 + place.column, gates);
        }
    }
};

// On tensor cores. The warps are two rows of four: each has RT / 2 times 16 rows and
// 2 * PT times 8 columns, of all gates.
template <class P, int RT, int PT, int G>
struct Sums {
    using T = Tiled<P, RT, PT, G>;
    static constexpr int kDown = RT / 2, kAcross = 2 * PT;
    const int thread, group, member, row0, column0;
    float acc[G][kDown][kAcross][4] = {};

    explicit ACROBAT_DEVICE Sums(int thread)
        : thread(thread),
          group(thread % 32 / 4),
          member(thread % 4),
          row0(thread / 128 * 16 * kDown),
          column0(thread / 32 % 4 * 8 * kAcross) {}

    ACROBAT_DEVICE void multiply(const float* left, const float* right) {
#pragma unroll
        for (int k = 0; k < kDepthStep; k += P::kSteps) {
            uint32_t rows[kDown][4];
#pragma unroll
            for (int d = 0; d < kDown; ++d)
#pragma unroll
                for (int w = 0; w < 4; ++w) {
                    const float* const from = left + k * T::kLeftStride + row0 + d * 16 + w % 2 * 8 + group;
                    rows[d][w] = P::word(from, T::kLeftStride, member, w / 2);
                }
#pragma unroll
            for (int g = 0; g < G; ++g)
#pragma unroll
                for (int c = 0; c < kAcross; ++c) {
                    const float* const from = right + k * T::kRightStep + g * T::kRightStride + column0 + c * 8 + group;
                    const uint32_t columns[2] = {P::word(from, T::kRightStep, member, 0), P::word(from, T::kRightStep, member, 1)};
#pragma unroll
                    for (int d = 0; d < kDown; ++d) P::multiply(acc[g][d][c], rows[d], columns);
                }
        }
    }

    template <class Finish>
    ACROBAT_DEVICE void finish_all(float* shared, Finish&& finish) const {
#pragma unroll
        for (int g = 0; g < G; ++g)
#pragma unroll
            for (int d = 0; d < kDown; ++d)
#pragma unroll
                for (int c = 0; c < kAcross; ++c)
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const int row = row0 + d * 16 + half * 8 + group, column = column0 + c * 8 + member * 2;
                        *reinterpret_cast<float2*>(shared + row * T::kSumStride + g * T::kColumns + column) =
                            float2{acc[g][d][c][half * 2], acc[g][d][c][half * 2 + 1]};
                    }
        block_sync();
#pragma unroll 1
        for (int i = thread; i < T::kRows * 16 * PT; i += kThreads) {
            const int row = i / (16 * PT), four = i % (16 * PT);
            float gates[G][4];
#pragma unroll
            for (int g = 0; g < G; ++g) {
                const float4 v = *reinterpret_cast<const float4*>(shared + row * T::kSumStride + g * T::kColumns + four * 4);
                gates[g][0] = v.x, gates[g][1] = v.y, gates[g][2] = v.z, gates[g][3] = v.w;
            }
            finish(row, four, gates);
        }
    }
};

// Runs the reduction through the ring; fetch(step, left, right) starts the copies of one step.
template <class P, int RT, int PT, int G, class Fetch>
ACROBAT_DEVICE void reduce(int steps, float* ring, Sums<P, RT, PT, G>& sums, Fetch&& fetch) {
    using T = Tiled<P, RT, PT, G>;
    const auto stage = [&](int step) { return ring + step % kStages * (T::kLeft + T::kRight); };
#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) {
        if (s < steps) fetch(s, stage(s), stage(s) + T::kLeft);
        copies_commit();
    }
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        copies_wait<kStages - 2>();
        block_sync();  // this step is there for all threads, and they are done with the one before, which the next copies replace
        if (s + kStages - 1 < steps) fetch(s + kStages - 1, stage(s + kStages - 1), stage(s + kStages - 1) + T::kLeft);
        copies_commit();
        sums.multiply(stage(s), stage(s) + T::kLeft);
    }
    copies_wait<0>();
    block_sync();  // from here on the ring's memory may be used for other data
}

// A product with a shared weight. K: kRows, kDepth, kGates, kUnits, kSegments, kLanes, Args, and
//   weights(a), finish<V>(a, row, unit, gates)   as in few.cuh
//   start(a, segment, row)   where the input's segment of this row begins, in elements from the base
//   place(k, segment, at)    which segment element k of the reduction lies in, and how far from its start
template <class K, int RT, int PT, class P>
struct Many {
    using T = Tiled<P, RT, PT, K::kGates>;
    static constexpr int kPanels = (K::kUnits + 3) / 4;
    static constexpr int kColumns = (kPanels + 16 * PT - 1) / (16 * PT);
    static constexpr int kSharedBytes = T::kRingBytes + 8 * K::kSegments * T::kRows;
};

template <class K, int RT, int PT, class P>
ACROBAT_DEVICE void many_rows(const typename K::Args& a, int tile, char* shared, int thread) {
    using M = Many<K, RT, PT, P>;
    using T = typename M::T;
    constexpr int G = K::kGates;
    float* const ring = reinterpret_cast<float*>(shared);
    int64_t* const starts = reinterpret_cast<int64_t*>(shared + T::kRingBytes);
    const int total = int(a.rows) * K::kRows, row0 = tile / M::kColumns * T::kRows;
    const int panel0 = tile % M::kColumns * 16 * PT;
    for (int i = thread; i < K::kSegments * T::kRows; i += kThreads) {
        starts[i] = K::start(a, i / T::kRows, smaller(row0 + i % T::kRows, total - 1));
    }
    block_sync();
    const float* const weights = K::weights(a);
    Sums<P, RT, PT, G> sums(thread);
    reduce(ceil_div(K::kDepth, kDepthStep), ring, sums, [&](int step, float* left, float* right) {
#pragma unroll
        for (int half = 0; half < kDepthStep; half += 8) {
            const int in_step = half + thread % 8, k = step * kDepthStep + in_step;
            const bool valid = k < K::kDepth;
            int segment = 0, at = 0;
            K::place(valid ? k : 0, segment, at);
            const int64_t* const from = starts + segment * T::kRows;
#pragma unroll
            for (int r = thread / 8; r < T::kRows; r += kThreads / 8)
                copy4(left + in_step * T::kLeftStride + r, a.base + from[r] + at, valid);
        }
        constexpr int kEach = kDepthStep * G;  // pieces of a panel: four units of a step and gate each
        for (int c = thread; c < 16 * PT * kEach; c += kThreads) {
            const int panel = c / kEach, piece = c % kEach;
            const bool valid = step * kDepthStep + piece / G < K::kDepth;
            const int row = smaller(panel0 + panel, M::kPanels - 1) * (K::kDepth * G);
            float* const to = right + piece / G * T::kRightStep + piece % G * T::kRightStride + panel * 4;
            copy16(to, weights + int64_t(row + (valid ? step * kEach + piece : 0)) * 4, valid);
        }
    });
    sums.finish_all(ring, [&](int i, int four, float(&gates)[G][4]) {
        const int row = row0 + i, unit = (panel0 + four) * 4;
        if (row < total && unit < K::kUnits) finish_four<K>(a, row, unit, gates);
    });
}

// A product of two row operands, instance by instance. K: kHeads, kRows, kDepth, kColumns, kUnits (= kColumns), kLanes, Args, and
//   left(a, instance, head, row), right(a, instance, head, column)   the address of the operand's element at k = 0
//   kLeftStep, kRightStep   from one k to the next
//   finish<V>(a, row, column, gates)   row: of all heads of all instances
template <class K, int RT, int PT, class P>
struct Both {
    using T = Tiled<P, RT, PT, 1>;
    static constexpr int kDown = (K::kRows + T::kRows - 1) / T::kRows;
    static constexpr int kAcross = (K::kColumns + T::kColumns - 1) / T::kColumns;
    static constexpr int kTiles = K::kHeads * kDown * kAcross;  // of an instance
    static constexpr int kSharedBytes = T::kRingBytes + 8 * (T::kRows + T::kColumns);
};

// Copies one operand's elements of a step. Neighbouring threads read neighbouring addresses: along the reduction if that is
// contiguous, else along the rows (or columns), of which there are Count.
template <int Count, int Stride, int Step, int Depth>
ACROBAT_DEVICE void fetch_operand(int step, float* to, const float* const* from, int thread) {
    if constexpr (Step == 1) {
#pragma unroll
        for (int half = 0; half < kDepthStep; half += 8) {
            const int in_step = half + thread % 8, k = step * kDepthStep + in_step;
#pragma unroll
            for (int i = thread / 8; i < Count; i += kThreads / 8)
                copy4(to + in_step * Stride + i, from[i] + (k < Depth ? k : 0), k < Depth);
        }
    } else {
        for (int c = thread; c < Count * kDepthStep; c += kThreads) {
            const int i = c % Count, k = step * kDepthStep + c / Count;
            copy4(to + c / Count * Stride + i, from[i] + int64_t(k < Depth ? k : 0) * Step, k < Depth);
        }
    }
}

template <class K, int RT, int PT, class P>
ACROBAT_DEVICE void both_rows(const typename K::Args& a, int tile, char* shared, int thread) {
    using B = Both<K, RT, PT, P>;
    using T = typename B::T;
    float* const ring = reinterpret_cast<float*>(shared);
    const float** const lefts = reinterpret_cast<const float**>(shared + T::kRingBytes);
    const float** const rights = lefts + T::kRows;
    const int instance = tile / B::kTiles, head = tile % B::kTiles / (B::kDown * B::kAcross);
    const int row0 = tile / B::kAcross % B::kDown * T::kRows, column0 = tile % B::kAcross * T::kColumns;
    for (int i = thread; i < T::kRows; i += kThreads) lefts[i] = K::left(a, instance, head, smaller(row0 + i, K::kRows - 1));
    for (int i = thread; i < T::kColumns; i += kThreads)
        rights[i] = K::right(a, instance, head, smaller(column0 + i, K::kColumns - 1));
    block_sync();
    Sums<P, RT, PT, 1> sums(thread);
    reduce(ceil_div(K::kDepth, kDepthStep), ring, sums, [&](int step, float* left, float* right) {
        fetch_operand<T::kRows, T::kLeftStride, K::kLeftStep, K::kDepth>(step, left, lefts, thread);
        fetch_operand<T::kColumns, T::kRightStride, K::kRightStep, K::kDepth>(step, right, rights, thread);
    });
    sums.finish_all(ring, [&](int i, int four, float(&gates)[1][4]) {
        const int r = row0 + i, column = column0 + four * 4;
        if (r < K::kRows && column < K::kColumns)
            finish_four<K>(a, (instance * K::kHeads + head) * K::kRows + r, column, gates);
    });
}
