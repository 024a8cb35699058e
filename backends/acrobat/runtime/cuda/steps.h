// What the host and the device agree on: the steps of a flat schedule, and the kernels that every model's module has.
#pragma once

#include <cstdint>

namespace acrobat::cuda {

// The numbers of the kernels that every model's module begins with.
constexpr int kCopyRows = 0, kTellRows = 1;

// Arguments of kCopyRows, which copies row i from base + from[i] + by to `to + i * stride`.
struct CopyRows {
    float* base;
    int64_t rows;
    const int64_t* from;
    int64_t by;  // added to each address
    int64_t elements;
    float* to;
    int64_t stride;

    static int64_t tiles(int64_t rows) { return (rows + 7) / 8; }
};
// Arguments of kTellRows, which writes the words of row i to memory of the host, `to + i * elements`, each below the tag.
struct TellRows {
    float* base;
    int64_t rows;
    const int64_t* from;
    int64_t elements;
    int64_t* to;
    int64_t tag;

    static int64_t tiles(int64_t rows) { return (rows + 7) / 8; }
};

// The bytes of the words by which all blocks of a walk wait for each other.
constexpr int kBarrierBytes = 2048;

// A kernel call in the form in which the device reads it.
struct Step {
    int32_t kernel;
    int32_t barrier;  // whether all blocks wait for each other after it
    int32_t first;    // the block that takes its first tile
    int32_t tiles;
    int64_t args;     // on the device
    int64_t words;    // of 8 bytes, of the arguments
};

}  // namespace acrobat::cuda
