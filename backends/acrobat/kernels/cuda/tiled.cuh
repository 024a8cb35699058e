// Products in tiles of 16 * RT rows and 64 * PT columns (of each gate). Every thread keeps RT rows of PT groups of four columns
// in registers. Both operands are copied to shared memory, kDepthStep steps of the reduction at a time, into a ring of kStages
// stages, so that the copies of the next steps run while this one is multiplied.
//
// In shared memory each row of the left operand lies as it does in memory of the device, so copies are of four elements where
// these are next to each other, and a thread reads four steps of the reduction of a row at once. Of the right operand, which is
// packed, it reads four columns of a step. The strides from row to row, or from step to step, are 20 and 4 modulo 32: what the
// lanes of a warp read or write at once lies in different banks.
//
// P is the way of multiplying: Exact (in float32), or on tensor cores (mma.cuh).
#pragma once
#include "mma.cuh"

constexpr int kDepthStep = 16;
constexpr int kStages = 3;
constexpr int kLeftStride = kDepthStep + 4;  // from one row of the left operand to the next

template <class P, int RT, int PT, int G>
struct Tiled {
    static constexpr bool kExact = P::kExact;
    static constexpr int kRows = 16 * RT, kColumns = 64 * PT;
    static constexpr int kRightStride = kColumns + 4;
    // On tensor cores, lanes read two steps of the reduction at once, which lie 2 * G strides apart. This padding between
    // steps gives them different banks too.
    static constexpr int kStepPad = kExact ? 0 : G == 2 ? 12 : G == 4 ? 4 : 0;
    static constexpr int kRightStep = G * kRightStride + kStepPad;
    static constexpr int kLeft = kRows * kLeftStride, kRight = kDepthStep * kRightStep;
    static constexpr int kSumStride = G * kColumns + 8;  // from one row to the next
    static constexpr int kSums = kExact ? 4 * RT * PT * G * kThreads : kRows * kSumStride;  // of all threads, for the epilogue
    static constexpr int kRingBytes = 4 * (kStages * (kLeft + kRight) > kSums ? kStages * (kLeft + kRight) : kSums);
    static_assert(RT == 2 || RT == 4 || RT == 8);
    static_assert(PT * G <= 4, "the sums would not fit the registers");
};

// The place of a thread within a tile: its first row, and the first of its groups of four columns. Its further rows are 16 apart.
// A warp has four times eight threads. Lanes that differ in their last bit read the same columns, those that differ in the next
// three the same rows: for such pairs of lanes, reads of 16 bytes take one wavefront for half a warp, else for a quarter.
struct Place {
    int row, column;

    explicit ACROBAT_DEVICE Place(int thread) {
        const int warp = thread / 32, lane = thread % 32;
        row = warp / 2 * 4 + lane / 16 * 2 + lane % 2;
        column = warp % 2 * 8 + lane / 2 % 8;
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

// The sums of a tile, in its threads' registers. On tensor cores `multiply` adds the products of one stage of the ring; for float32
// `reduce` does that by parts. `finish_all` calls
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

    // What a thread reads of its rows for four steps of the reduction, and of its columns for one.
    struct Rows {
        float4 at[RT];
    };
    struct Columns {
        float4 at[PT][G];
    };
    // Where the thread's first row and its first columns begin within a stage of the ring.
    ACROBAT_DEVICE const float* rows_of(const float* stage) const { return stage + place.row * kLeftStride; }
    ACROBAT_DEVICE const float* columns_of(const float* stage) const { return stage + T::kLeft + place.column * 4; }
    static ACROBAT_DEVICE void read(const float* from, int k, Rows& x) {
#pragma unroll
        for (int i = 0; i < RT; ++i) x.at[i] = *reinterpret_cast<const float4*>(from + i * 16 * kLeftStride + k);
    }
    static ACROBAT_DEVICE void read(const float* from, int k, Columns& w) {
#pragma unroll
        for (int p = 0; p < PT; ++p)
#pragma unroll
            for (int g = 0; g < G; ++g)
                w.at[p][g] = *reinterpret_cast<const float4*>(from + (k * G + g) * T::kRightStride + p * 64);
    }
    // Adds the products of one step; `of_four` says which of the four in `x` it is.
    ACROBAT_DEVICE void add(const Rows& x, int of_four, const Columns& w) {
#pragma unroll
        for (int p = 0; p < PT; ++p)
#pragma unroll
            for (int g = 0; g < G; ++g)
#pragma unroll
                for (int i = 0; i < RT; ++i) {
                    const float4 row = x.at[i];
                    const float v = of_four == 0 ? row.x : of_four == 1 ? row.y : of_four == 2 ? row.z : row.w;
                    acc[p][g][i][0] += v * w.at[p][g].x;
                    acc[p][g][i][1] += v * w.at[p][g].y;
                    acc[p][g][i][2] += v * w.at[p][g].z;
                    acc[p][g][i][3] += v * w.at[p][g].w;
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
            finish(place.row + e / PT * 16, e % PT * 16 + place.column, gates);
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
                    const float* const from = left + (row0 + d * 16 + w % 2 * 8 + group) * kLeftStride + k;
                    rows[d][w] = P::word(from, 1, member, w / 2);
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
    const auto fetch_stage = [&](int step) {
        if (step < steps) fetch(step, stage(step), stage(step) + T::kLeft);
        copies_commit();
    };
#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) fetch_stage(s);
    if constexpr (P::kExact) {
        // Everything is read from shared memory before what was read last has been multiplied, across stages too: the wait for
        // the next stage comes before the last four steps of this one. If all threads began a stage by reading, each would wait
        // for the reads of all others.
        using Mine = Sums<P, RT, PT, G>;
        typename Mine::Rows x, y;
        typename Mine::Columns w[2];
        // Four steps of the reduction, of which step i reads its columns at `columns`, step k + i; the step behind them at `after`.
        const auto four = [&](const typename Mine::Rows& rows, const float* columns, int k, const float* after, int k_after) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (i < 3) sums.read(columns, k + i + 1, w[(i + 1) % 2]);
                else sums.read(after, k_after, w[(i + 1) % 2]);
                sums.add(rows, i, w[i % 2]);
            }
        };
        copies_wait<kStages - 2>();
        block_sync();
        const float *rows = sums.rows_of(stage(0)), *columns = sums.columns_of(stage(0));
        sums.read(rows, 0, x);
        sums.read(columns, 0, w[0]);
        // Eight steps in a turn and not sixteen, since a walk has the code of all its kernels, which takes long to compile.
        constexpr int kTurn = 8, kTurns = kDepthStep / kTurn;
#pragma unroll 1
        for (int turn = 0; turn < steps * kTurns; ++turn) {
            const float *next_rows = rows + kTurn, *next_columns = columns + kTurn * T::kRightStep;
            sums.read(rows, 4, y);
            four(x, columns, 0, columns, 4);
            if (turn % kTurns == kTurns - 1) {
                const int s = turn / kTurns;
                copies_wait<kStages - 3>();
                block_sync();  // all threads are done with the stage before this one, which the next copies replace
                fetch_stage(s + kStages - 1);
                next_rows = sums.rows_of(stage(s + 1)), next_columns = sums.columns_of(stage(s + 1));
            }
            sums.read(next_rows, 0, x);
            four(y, columns, 4, next_columns, 0);
            rows = next_rows, columns = next_columns;
        }
    } else {
#pragma unroll 1
        for (int s = 0; s < steps; ++s) {
            copies_wait<kStages - 2>();
            block_sync();  // this step is there for all threads, and they are done with the one before, which the next copies replace
            fetch_stage(s + kStages - 1);
            sums.multiply(stage(s), stage(s) + T::kLeft);
        }
    }
    copies_wait<0>();
    block_sync();  // from here on the ring's memory may be used for other data
}

// Where a copy to the ring reads, and whether there is anything: else zeros are written.
struct Source {
    const float* from;
    bool valid;
};

// Starts the copies of one step of the left operand's rows; source(row, k) is where element k of a row lies. `kFours`: whether four
// elements from a multiple of four on lie next to each other.
template <int kRows, bool kFours, class F>
ACROBAT_DEVICE void copy_left(float* to, int step, int thread, F&& source) {
    constexpr int kEach = kFours ? 4 : 1, kPieces = kDepthStep / kEach, kAtOnce = kThreads / kPieces;
    const int k = thread % kPieces * kEach;
#pragma unroll
    for (int first = 0; first < kRows; first += kAtOnce) {
        const int row = first + thread / kPieces;
        if (kRows < kAtOnce && row >= kRows) return;
        const Source s = source(row, step * kDepthStep + k);
        float* const at = to + row * kLeftStride + k;
        if (kFours && aligned16(s.from)) {
            copy16(at, s.from, s.valid);
        } else {
#pragma unroll 1
            for (int i = 0; i < kEach; ++i) copy4(at + i, s.from + i, s.valid);
        }
    }
}

// A product with a shared weight. K: kRows, kDepth, kGates, kUnits, kSegments, kLanes, kFours, Args, and
//   weights(a), finish<V>(a, row, unit, gates)   as in few.cuh
//   start(a, segment, row)   where the input's segment of this row begins, in elements from the base
//   place(k, segment, at)    which segment element k of the reduction lies in, and how far from its start
//   kFours                   whether four elements from a multiple of four on always lie next to each other
template <class K, int RT, int PT, class P>
struct Many {
    using T = Tiled<P, RT, PT, K::kGates>;
    static constexpr int kPanels = (K::kUnits + 3) / 4;
    static constexpr int kColumns = (kPanels + 16 * PT - 1) / (16 * PT);
    static constexpr int kSharedBytes = T::kRingBytes + 8 * K::kSegments * T::kRows;
};

template <class K, int RT, int PT, class P>
ACROBAT_LARGE void many_rows(const typename K::Args& a, int tile, char* shared, int thread) {
    using M = Many<K, RT, PT, P>;
    using T = typename M::T;
    constexpr int G = K::kGates;
    constexpr bool kWhole = K::kDepth % kDepthStep == 0;
    float* const ring = reinterpret_cast<float*>(shared);
    int64_t* const starts = reinterpret_cast<int64_t*>(shared + T::kRingBytes);
    const int total = int(a.rows) * K::kRows, row0 = tile / M::kColumns * T::kRows;
    const int panel0 = tile % M::kColumns * 16 * PT;
    for (int i = thread; i < K::kSegments * T::kRows; i += kThreads) {
        starts[i] = K::start(a, i / T::kRows, smaller(row0 + i % T::kRows, total - 1));
    }
    block_sync();
    const float *const weights = K::weights(a), *const base = a.base;
    Sums<P, RT, PT, G> sums(thread);
    reduce(ceil_div(K::kDepth, kDepthStep), ring, sums, [&](int step, float* left, float* right) {
        copy_left<T::kRows, K::kFours>(left, step, thread, [&](int r, int k) {
            int segment = 0, at = 0;
            K::place(kWhole || k < K::kDepth ? k : 0, segment, at);
            return Source{base + starts[segment * T::kRows + r] + at, kWhole || k < K::kDepth};
        });
        constexpr int kEach = kDepthStep * G;  // pieces of a panel: four units of a step and gate each
#pragma unroll
        for (int i = 0; i < 16 * PT * kEach / kThreads; ++i) {
            const int c = thread + i * kThreads, panel = c / kEach, piece = c % kEach;
            const bool valid = kWhole || step * kDepthStep + piece / G < K::kDepth;
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

// Starts the copies of one step of the right operand, of which there are Count columns. Neighbouring threads read neighbouring
// addresses: along the reduction if that is contiguous, else along the columns.
template <int Count, int Stride, int Step, int Depth>
ACROBAT_DEVICE void copy_right(int step, float* to, const float* const* from, int thread) {
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
ACROBAT_LARGE void both_rows(const typename K::Args& a, int tile, char* shared, int thread) {
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
        copy_left<T::kRows, K::kLeftStep == 1 && K::kDepth % 4 == 0>(left, step, thread, [&](int row, int k) {
            return Source{lefts[row] + int64_t(k < K::kDepth ? k : 0) * K::kLeftStep, k < K::kDepth};
        });
        copy_right<T::kColumns, T::kRightStride, K::kRightStep, K::kDepth>(step, right, rights, thread);
    });
    sums.finish_all(ring, [&](int i, int four, float(&gates)[1][4]) {
        const int r = row0 + i, column = column0 + four * 4;
        if (r < K::kRows && column < K::kColumns)
            finish_four<K>(a, (instance * K::kHeads + head) * K::kRows + r, column, gates);
    });
}
