#include "worker.h"

namespace acrobat {

float* Worker::rows(int64_t elements) { return static_cast<float*>(memory_.take(size_t(elements) * 4)); }

const int64_t* Worker::steps(int64_t start, int64_t stride, int64_t rows) {
    int64_t* table = memory_.make<int64_t>(size_t(rows));
    for (int64_t i = 0; i < rows; ++i) table[i] = start + i * stride;
    return table;
}

const int64_t* Worker::shifted(const int64_t* table, int64_t by, int64_t rows) {
    if (by == 0) return table;
    int64_t* out = memory_.make<int64_t>(size_t(rows));
    for (int64_t i = 0; i < rows; ++i) out[i] = table[i] + by;
    return out;
}

const int64_t* Worker::joined(std::initializer_list<const int64_t*> tables, int64_t rows) {
    int64_t* all = memory_.make<int64_t>(tables.size() * size_t(rows));
    int64_t* at = all;
    for (const int64_t* table : tables) at = std::copy(table, table + rows, at);
    return all;
}

const int64_t* Worker::spread(const int64_t* table, const int64_t* starts, int64_t rows) {
    int64_t* items = memory_.make<int64_t>(size_t(starts[rows] - starts[0]));
    for (int64_t i = 0; i < rows; ++i) std::fill(items + (starts[i] - starts[0]), items + (starts[i + 1] - starts[0]), table[i]);
    return items;
}

float* Worker::scratch(size_t bytes) {
    if (scratch_.size() < bytes + 64) scratch_.resize(bytes + 64);
    return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch_.data()) + 63) & ~uintptr_t{63});
}

}  // namespace acrobat
