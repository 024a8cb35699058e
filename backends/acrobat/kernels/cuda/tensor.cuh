// Tiles of products on tensor cores, with operands that are rounded (mma.cuh).
//
// In shared memory each row of the left operand lies as it does in memory of the device, so copies are of four elements where
// these are next to each other; of the right operand, which is packed, the columns of a step of the reduction lie next to each
// other. The strides from row to row, or from step to step, are 20 and 4 modulo 32: what the lanes of a warp read or write at once
// lies in different banks.
#pragma once
#include "mma.cuh"
#include "ring.cuh"

template <class P, int RT, int PT, int G>
struct Tiled {
    static constexpr int kDepthStep = 16, kStages = 3;
    static constexpr int kRows = 16 * RT, kColumns = 64 * PT;
    static constexpr int kLeftStride = kDepthStep + 4;  // from one row of the left operand to the next
    static constexpr int kRightStride = kColumns + 4;
    // Lanes read two steps of the reduction at once, which lie 2 * G strides apart. This padding between steps gives them different
    // banks too.
    static constexpr int kStepPad = G == 2 ? 12 : G == 4 ? 4 : 0;
    static constexpr int kRightStep = G * kRightStride + kStepPad;
    static constexpr int kLeft = kRows * kLeftStride, kRight = kDepthStep * kRightStep;
    static constexpr int kSumStride = G * kColumns + 8;  // from one row to the next
    static constexpr int kSums = kRows * kSumStride;     // of all threads, for the epilogue
    static constexpr int kRing = kStages * (kLeft + kRight);
    static constexpr int kRingBytes = 4 * (kRing > kSums ? kRing : kSums);
    static_assert(RT == 2 || RT == 4 || RT == 8);
    static_assert(PT * G <= 4, "the sums would not fit the registers");

    // Starts the copies of one step for the left operand's rows; source(row, k) is where element k of a row lies. `kFours`: whether
    // four elements from a multiple of four on lie next to each other.
    template <bool, bool kFours, class F>
    static ACROBAT_DEVICE void copy_left(float* to, int step, int thread, F&& source) {
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
};

// As in exact.cuh. The warps are two rows of four: each has RT / 2 times 16 rows and 2 * PT times 8 columns, of all gates.
template <class P, int RT, int PT, int G>
struct Sums {
    using T = Tiled<P, RT, PT, G>;
    static constexpr int kDown = RT / 2, kAcross = 2 * PT;
    float acc[G][kDown][kAcross][4] = {};
    // The thread's place within a tile: the first row and column of its warp, and its place within the warp (mma.cuh).
    struct Place {
        int group, member, row, column;

        explicit ACROBAT_DEVICE Place(int thread)
            : group(thread % 32 / 4),
              member(thread % 4),
              row(thread / 128 * 16 * kDown),
              column(thread / 32 % 4 * 8 * kAcross) {}
    };

    ACROBAT_DEVICE void multiply(const float* left, const float* right, const Place& at) {
#pragma unroll
        for (int k = 0; k < T::kDepthStep; k += P::kSteps) {
            uint32_t rows[kDown][4];
#pragma unroll
            for (int d = 0; d < kDown; ++d)
#pragma unroll
                for (int w = 0; w < 4; ++w) {
                    const float* const from = left + (at.row + d * 16 + w % 2 * 8 + at.group) * T::kLeftStride + k;
                    rows[d][w] = P::word(from, 1, at.member, w / 2);
                }
#pragma unroll
            for (int g = 0; g < G; ++g)
#pragma unroll
                for (int c = 0; c < kAcross; ++c) {
                    const float* const from = right + k * T::kRightStep + g * T::kRightStride + at.column + c * 8 + at.group;
                    const uint32_t columns[2] = {P::word(from, T::kRightStep, at.member, 0),
                                                 P::word(from, T::kRightStep, at.member, 1)};
#pragma unroll
                    for (int d = 0; d < kDown; ++d) P::multiply(acc[g][d][c], rows[d], columns);
                }
        }
    }

    template <class Fetch>
    ACROBAT_DEVICE void reduce(int steps, float* ring, int thread, Fetch&& fetch) {
        const Place at(thread);
        const auto stage = [&](int step) { return ring + step % T::kStages * (T::kLeft + T::kRight); };
        const auto fetch_stage = [&](int step) {
            if (step < steps) fetch(step, stage(step), stage(step) + T::kLeft);
            copies_commit();
        };
#pragma unroll
        for (int s = 0; s < T::kStages - 1; ++s) fetch_stage(s);
#pragma unroll 1
        for (int s = 0; s < steps; ++s) {
            copies_wait<T::kStages - 2>();
            block_sync();  // this step is there for all threads, and they are done with the one before, which the next copies replace
            fetch_stage(s + T::kStages - 1);
            multiply(stage(s), stage(s) + T::kLeft, at);
        }
        copies_wait<0>();
        block_sync();  // from here on the ring's memory may be used for other data
    }

    template <class Finish>
    ACROBAT_DEVICE void finish_all(float* shared, Finish&& finish) const {
        const int thread = thread_index();
        const Place at(thread);
#pragma unroll
        for (int g = 0; g < G; ++g)
#pragma unroll
            for (int d = 0; d < kDown; ++d)
#pragma unroll
                for (int c = 0; c < kAcross; ++c)
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const int row = at.row + d * 16 + half * 8 + at.group, column = at.column + c * 8 + at.member * 2;
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
