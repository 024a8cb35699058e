// Reductions for the row-wise templates, by a group of W threads: a part of a warp (8), a warp (32) or the whole block (256). All
// threads of the warp or block have to call them, and each gets the result. `words` are 2 * kWarps words of shared memory, used only by whole blocks.
#pragma once
#include "device.cuh"

template <int W>
ACROBAT_DEVICE float group_sum(float v, float* words, int thread) {
    v = warp_sum<W>(v);
    if constexpr (W > 32) {
        block_sync();  // the words may still be read
        if (thread % 32 == 0) words[thread / 32] = v;
        block_sync();
        v = 0.0f;
        for (int w = 0; w < W / 32; ++w) v += words[w];
    }
    return v;
}

template <int W>
ACROBAT_DEVICE float group_max(float v, float* words, int thread) {
    v = warp_max<W>(v);
    if constexpr (W > 32) {
        block_sync();
        if (thread % 32 == 0) words[thread / 32] = v;
        block_sync();
        v = words[0];
        for (int w = 1; w < W / 32; ++w) v = maximum(v, words[w]);
    }
    return v;
}

// Whether value a at index i precedes b at index j in the search for the largest: NaN precedes all, and of equals the first.
ACROBAT_DEVICE bool leads(float a, int i, float b, int j) {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) return a_nan && (!b_nan || i < j);
    return a > b || (a == b && i < j);
}

template <int W>
ACROBAT_DEVICE int group_first_max(float v, int index, float* words, int thread) {
#pragma unroll
    for (int by = (W < 32 ? W : 32) / 2; by; by /= 2) {
        const float other = lane_xor(v, by);
        const int32_t at = lane_xor(int32_t(index), by);
        if (leads(other, at, v, index)) v = other, index = at;
    }
    if constexpr (W > 32) {
        block_sync();
        int32_t* const indices = reinterpret_cast<int32_t*>(words) + kWarps;
        if (thread % 32 == 0) words[thread / 32] = v, indices[thread / 32] = index;
        block_sync();
        v = words[0], index = indices[0];
        for (int w = 1; w < W / 32; ++w)
            if (leads(words[w], indices[w], v, index)) v = words[w], index = indices[w];
    }
    return index;
}
