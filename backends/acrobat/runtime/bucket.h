// The operations of one unit that lie at one depth. An operation is recorded by appending its operands' addresses to the tables
// that the unit's kernels will read, so nothing is hashed, no graph is kept and nothing is copied before a launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "values.h"

namespace acrobat {

struct Bucket;
class Device;

// A kernel or static block, as the scheduler sees it.
struct Unit {
    const char* name;
    int operands;       // operand tables: one address a row
    int groups;         // lists of one length: one table of starts each
    int lists;          // item tables: one address an item
    const int* group;   // the group of each item table
    int64_t row_size;   // elements of a row of results
    void (*run)(Device&, Bucket&);  // of the device that the model is for: has it compute all rows of the bucket
};

// Growable column of addresses; kept between mini-batches.
struct Column {
    int64_t* data = nullptr;
    int64_t size = 0;
    int64_t capacity = 0;

    ~Column() { std::free(data); }
    void push(int64_t value) {
        if (size == capacity) [[unlikely]]
            reserve(size + 1);
        data[size++] = value;
    }
    void push(const int64_t* values, int64_t count) {
        if (size + count > capacity) [[unlikely]]
            reserve(size + count);
        std::copy_n(values, count, data + size);
        size += count;
    }
    // Throws std::bad_alloc.
    void reserve(int64_t wanted);
};

struct Bucket {
    int64_t rows = 0;
    int64_t capacity = 0;
    std::vector<Column> operands;  // of which only data and capacity are used: their size is `rows`
    Column out;
    std::vector<Column> starts;  // starts[g].data[row] .. [row + 1]
    std::vector<Column> items;

    explicit Bucket(const Unit& unit);

    // The number of a new row.
    int64_t open() {
        if (rows == capacity) [[unlikely]]
            grow();
        return rows++;
    }
    void clear() {
        rows = 0;
        for (Column& c : items) c.size = 0;
    }
    // Adds copies of some rows of another bucket of the same unit.
    void take(const Bucket& from, const std::vector<int64_t>& chosen, const Unit& unit);

   private:
    void grow();
};

}  // namespace acrobat
