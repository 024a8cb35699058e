// Products of small matrices on tensor cores: one instruction multiplies 16 rows by 8 columns for a warp. The operands are
// rounded to fewer bits; sums are float32.
//
// Each lane holds some elements of both operands and of the sums (PTX ISA, "Matrix Fragments for mma.m16n8k8 and .m16n8k16"). With
// group = lane / 4 and member = lane % 4 it has of the sums rows group and group + 8 of columns 2 * member and 2 * member + 1; of
// the left operand the words {row group, half 0}, {row group + 8, half 0}, {group, half 1}, {group + 8, half 1}; of the right one
// the words of column `group`, halves 0 and 1. `word` says which steps of the reduction a word has. For TF32 they differ from PTX's:
// any order is right if both operands have the same one, and this one is read from shared memory without bank conflicts.
#pragma once
#include "device.cuh"

struct Tf32 {  // 10 bits of fraction
    static constexpr int kSteps = 8;
    // One word of a lane; the operand lies in shared memory with `stride` elements from one step of the reduction to the next.
    static ACROBAT_DEVICE uint32_t word(const float* from, int stride, int member, int half) {
        return to_tf32(from[(member * 2 + half) * stride]);
    }
    static ACROBAT_DEVICE void multiply(float (&sums)[4], const uint32_t (&left)[4], const uint32_t (&right)[2]) {
        mma_tf32(sums, left, right);
    }
};

struct Bf16 {  // 7 bits of fraction
    static constexpr int kSteps = 16;
    static ACROBAT_DEVICE uint32_t word(const float* from, int stride, int member, int half) {
        const float* const first = from + (half * 8 + member * 2) * stride;
        return to_bf16(first[0], first[stride]);
    }
    static ACROBAT_DEVICE void multiply(float (&sums)[4], const uint32_t (&left)[4], const uint32_t (&right)[2]) {
        mma_bf16(sums, left, right);
    }
};
