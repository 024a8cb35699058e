// What a thread needs beside the schedule: room for intermediates and tables of the block of rows that it computes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "../arena.h"

namespace acrobat {

class Worker {
   public:
    explicit Worker(size_t memory_limit) : memory_("block", memory_limit) {}

    // The memory of the block before is free again.
    void begin_block() { memory_.reset(); }
    float* rows(int64_t elements);

    // ---- tables of `rows` addresses
    const int64_t* steps(int64_t start, int64_t stride, int64_t rows);
    // Each moved by the same distance.
    const int64_t* shifted(const int64_t* table, int64_t by, int64_t rows);
    // Tables of `rows` rows each, one after the other.
    const int64_t* joined(std::initializer_list<const int64_t*> tables, int64_t rows);
    // A row's address for each of its items; starts[0] need not be 0.
    const int64_t* spread(const int64_t* table, const int64_t* starts, int64_t rows);

    // Room for one call of a kernel.
    float* scratch(size_t bytes);

   private:
    Arena memory_;
    std::vector<char> scratch_;
};

}  // namespace acrobat
