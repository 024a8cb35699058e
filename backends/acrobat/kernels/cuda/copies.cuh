// The kernels that every module begins with: copying rows, and telling the host what is in them.
#pragma once
#include "device.cuh"

// Copies row i from base + from[i] + by to `to + i * stride`: `elements` words of 4 bytes. One warp for each row.
struct copy_rows_args {
    float* base;
    int64_t rows;
    const int64_t* from;
    int64_t by, elements;
    float* to;
    int64_t stride;
};

ACROBAT_DEVICE void copy_rows_tile(const copy_rows_args& a, int tile, int thread) {
    const int row = tile * kWarps + thread / 32, lane = thread % 32;
    if (row >= a.rows) return;
    const float* const from = a.base + a.from[row] + a.by;
    float* const to = a.to + row * a.stride;
    const int elements = int(a.elements);
    int done = 0;
    if (aligned16(from) && aligned16(to)) {
        for (int e = lane; e < elements / 4; e += 32)
            reinterpret_cast<float4*>(to)[e] = reinterpret_cast<const float4*>(from)[e];
        done = elements / 4 * 4;
    }
    // Copied as integers, since words of an int64 tensor may look like signalling NaNs.
    for (int e = done + lane; e < elements; e += 32)
        reinterpret_cast<uint32_t*>(to)[e] = reinterpret_cast<const uint32_t*>(from)[e];
}

ACROBAT_DEVICE void copy_rows_tiles(int arguments, int first, int tiles, Barrier& barrier) {
    const copy_rows_args& a = *reinterpret_cast<const copy_rows_args*>(shared_memory() + arguments);
    const int blocks = gridDim.x, thread = thread_index();
    for (int tile = own_tile(first); tile < tiles; tile += blocks) {
        barrier.wait();
        copy_rows_tile(a, tile, thread);
    }
}

// Writes `elements` words of each row to memory of the host, row i to `to + i * elements`. Each is written together with the tag, which
// becomes the upper half, so the host sees by the tag that a word is there. One warp for each row.
struct tell_rows_args {
    float* base;
    int64_t rows;
    const int64_t* from;
    int64_t elements;
    int64_t* to;
    int64_t tag;
};

ACROBAT_DEVICE void tell_rows_tile(const tell_rows_args& a, int tile, int thread) {
    const int row = tile * kWarps + thread / 32, lane = thread % 32;
    if (row >= a.rows) return;
    const uint32_t* const from = reinterpret_cast<const uint32_t*>(a.base + a.from[row]);
    for (int64_t e = lane; e < a.elements; e += 32)
        tell_host(a.to + row * a.elements + e, int64_t(uint64_t(a.tag) << 32 | from[e]));
}

ACROBAT_DEVICE void tell_rows_tiles(int arguments, int first, int tiles, Barrier& barrier) {
    const tell_rows_args& a = *reinterpret_cast<const tell_rows_args*>(shared_memory() + arguments);
    const int blocks = gridDim.x, thread = thread_index();
    for (int tile = own_tile(first); tile < tiles; tile += blocks) {
        barrier.wait();
        tell_rows_tile(a, tile, thread);
    }
}
