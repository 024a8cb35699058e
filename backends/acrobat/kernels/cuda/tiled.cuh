// Products in tiles of 16 * RT rows and 64 * PT columns (of each gate). P is the way of multiplying a tile: in float32 (exact.cuh),
// or on tensor cores (tensor.cuh).
#pragma once
#include "exact.cuh"
#include "tensor.cuh"

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
    // The first row and the first panel of a tile.
    static ACROBAT_DEVICE int row_of(int tile) { return tile / kColumns * T::kRows; }
    static ACROBAT_DEVICE int panel_of(int tile) { return tile % kColumns * 16 * PT; }
};

template <class K, int RT, int PT, class P>
ACROBAT_LARGE void many_rows(const typename K::Args& a, int tile, char* shared, int thread) {
    is_shared(&a), is_shared(shared);
    using M = Many<K, RT, PT, P>;
    using T = typename M::T;
    constexpr int G = K::kGates;
    constexpr bool kWhole = K::kDepth % T::kDepthStep == 0;
    float* const ring = reinterpret_cast<float*>(shared);
    const float** const starts = reinterpret_cast<const float**>(shared + T::kRingBytes);
    for (int i = thread; i < K::kSegments * T::kRows; i += kThreads) {
        const int row = smaller(M::row_of(tile) + i % T::kRows, int(a.rows) * K::kRows - 1);
        starts[i] = a.base + K::start(a, i / T::kRows, row);
    }
    block_sync();
    const float* const weights = K::weights(a);
    Sums<P, RT, PT, G> sums;
    sums.reduce(ceil_div(K::kDepth, T::kDepthStep), ring, thread, [&](int step, float* left, float* right) {
        T::template copy_left<true, K::kFours>(left, step, thread, [&](int row, int k) {
            int segment = 0, at = 0;
            K::place(kWhole || k < K::kDepth ? k : 0, segment, at);
            return Source{starts[segment * T::kRows + row] + at, kWhole || k < K::kDepth};
        });
        constexpr int kEach = T::kDepthStep * G, kPieces = 16 * PT * kEach;  // of a panel, of all: four units of a step and gate
#pragma unroll
        for (int first = 0; first < kPieces; first += kThreads) {
            const int c = first + thread, panel = c / kEach, piece = c % kEach;
            if (first + kThreads > kPieces && c >= kPieces) break;
            const bool valid = kWhole || step * T::kDepthStep + piece / G < K::kDepth;
            const int row = smaller(M::panel_of(tile) + panel, M::kPanels - 1) * (K::kDepth * G);
            const float* const from = weights + int64_t(row + piece) * 4;
            float* const to = right + piece / G * T::kRightStep + piece % G * T::kRightStride + panel * 4;
            copy16(to, valid ? from + step * (kEach * 4) : weights, valid);
        }
    });
    const int again = anew(tile);
    sums.finish_all(ring, [&](int i, int four, float(&gates)[G][4]) {
        const int row = M::row_of(again) + i, unit = (M::panel_of(again) + four) * 4;
        if (row < int(a.rows) * K::kRows && unit < K::kUnits) finish_four<K>(a, row, unit, gates);
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
    // Where a tile lies.
    struct Place {
        int instance, head, row, column;

        explicit ACROBAT_DEVICE Place(int tile)
            : instance(tile / kTiles),
              head(tile % kTiles / (kDown * kAcross)),
              row(tile / kAcross % kDown * T::kRows),
              column(tile % kAcross * T::kColumns) {}
    };
};

template <class K, int RT, int PT, class P>
ACROBAT_LARGE void both_rows(const typename K::Args& a, int tile, char* shared, int thread) {
    is_shared(&a), is_shared(shared);
    using B = Both<K, RT, PT, P>;
    using T = typename B::T;
    float* const ring = reinterpret_cast<float*>(shared);
    const float** const lefts = reinterpret_cast<const float**>(shared + T::kRingBytes);
    const float** const rights = lefts + T::kRows;
    const typename B::Place at(tile);
    for (int i = thread; i < T::kRows; i += kThreads)
        lefts[i] = K::left(a, at.instance, at.head, smaller(at.row + i, K::kRows - 1));
    for (int i = thread; i < T::kColumns; i += kThreads)
        rights[i] = K::right(a, at.instance, at.head, smaller(at.column + i, K::kColumns - 1));
    block_sync();
    Sums<P, RT, PT, 1> sums;
    sums.reduce(ceil_div(K::kDepth, T::kDepthStep), ring, thread, [&](int step, float* left, float* right) {
        const auto within = [](const float* start, int k, int along) {
            return Source{start + int64_t(k < K::kDepth ? k : 0) * along, k < K::kDepth};
        };
        constexpr bool kAlong = K::kLeftStep == 1;
        T::template copy_left<kAlong, kAlong && K::kDepth % 4 == 0>(
            left, step, thread, [&](int row, int k) { return within(lefts[row], k, K::kLeftStep); });
        copy_steps<T::kDepthStep, T::kColumns, T::kRightStride, K::kRightStep == 1>(
            right, step, thread, [&](int column, int k) { return within(rights[column], k, K::kRightStep); });
    });
    const typename B::Place again(anew(tile));
    sums.finish_all(ring, [&](int i, int four, float(&gates)[1][4]) {
        const int row = again.row + i, column = again.column + four * 4;
        if (row < K::kRows && column < K::kColumns)
            finish_four<K>(a, (again.instance * K::kHeads + again.head) * K::kRows + row, column, gates);
    });
}
