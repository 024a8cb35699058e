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

// A kernel or static block, as the runtime sees it.
struct Unit {
    const char* name;
    int operands;       // number of operand tables, which have one address for each row
    int groups;         // number of list groups (lists of one length), which have one table of starts each
    int lists;          // number of item tables, which have one address for each item of a list
    const int* group;   // the list group of each item table
    int64_t row_size;   // elements of a row of results
    void (*run)(Device&, Bucket&);  // generated for the model's device, which it has compute all rows of the bucket
};

// An array of addresses that can grow. Buckets keep their memory between mini-batches.
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
    // Makes room for at least so many addresses. Throws std::bad_alloc.
    void reserve(int64_t least);
};

struct Bucket {
    int64_t rows = 0;
    int64_t capacity = 0;
    std::vector<Column> operands;  // only their data and capacity are used, since their size is `rows`
    Column out;
    std::vector<Column> starts;  // a row has the items starts[g].data[row] .. starts[g].data[row + 1] of lists of group g
    std::vector<Column> items;

    explicit Bucket(const Unit& unit);

    // Adds a row and returns its number. The caller fills its place in all columns.
    int64_t open() {
        if (rows == capacity) [[unlikely]]
            grow();
        return rows++;
    }
    void clear() {
        rows = 0;
        for (Column& c : items) c.size = 0;
    }
    // Appends copies of the rows with these numbers of another bucket of the same unit.
    void take(const Bucket& from, const std::vector<int64_t>& numbers, const Unit& unit);

   private:
    void grow();
};

}  // namespace acrobat
