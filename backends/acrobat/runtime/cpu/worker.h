// The memory of one thread: intermediates and tables for the block of rows that it computes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "../arena.h"

namespace acrobat {

class Worker {
   public:
    explicit Worker(size_t memory_limit) : memory_("block", memory_limit) {}

    // Frees the memory of the block before.
    void begin_block() { memory_.reset(); }
    float* rows(int64_t elements);

    // ---- tables of addresses. `steps`: start + i * stride for row i
    const int64_t* steps(int64_t start, int64_t stride, int64_t rows);
    // The addresses in `table`, each increased by `by`.
    const int64_t* shifted(const int64_t* table, int64_t by, int64_t rows);
    // Tables of `rows` addresses each, concatenated.
    const int64_t* joined(std::initializer_list<const int64_t*> tables, int64_t rows);
    // For each item of a list the address of its row: row i has the items starts[i] .. starts[i + 1]; starts[0] need not be 0.
    const int64_t* spread(const int64_t* table, const int64_t* starts, int64_t rows);

    // Scratch memory for one call of a kernel, aligned to 64 bytes. The next call of `scratch` may move it.
    float* scratch(size_t bytes);

   private:
    Arena memory_;
    std::vector<char> scratch_;
};

}  // namespace acrobat
