// The kernels that every module begins with: copying rows, and setting a flag for the host.
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

ACROBAT_DEVICE void copy_rows_tiles(int arguments, int first, int tiles) {
    const copy_rows_args& a = *reinterpret_cast<const copy_rows_args*>(shared_memory() + arguments);
    const int blocks = gridDim.x, thread = thread_index();
    for (int tile = (blockIdx.x + blocks - first % blocks) % blocks; tile < tiles; tile += blocks)
        copy_rows_tile(a, tile, thread);
}

// Tells the host, by a flag, that the values it waits for are written. A barrier has to come before it.
struct flag_args {
    int64_t* where;
    int64_t value;
};

ACROBAT_DEVICE void flag_tile(const flag_args& a, int, int thread) {
    if (thread == 0) tell_host(a.where, a.value);
}

ACROBAT_DEVICE void flag_tiles(int arguments, int first, int) {
    if (int(blockIdx.x) == first % int(gridDim.x))
        flag_tile(*reinterpret_cast<const flag_args*>(shared_memory() + arguments), 0, thread_index());
}
