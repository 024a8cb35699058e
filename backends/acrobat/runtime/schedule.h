// The schedule. An operation is recorded into the bucket (phase, depth, unit): its operands' addresses go to the bucket's tables
// and its result gets the next free row, so nothing is hashed, no graph is kept, and the tables are what the kernels read.
//
// Depths are absolute and never fall: when recorded work has run (because an instance waited), its stage's base moves past
// it, and what is recorded afterwards starts there. A value's depth from before is then below the base, which is right: it
// is there. (The original resets depths to zero and can run a consumer before its hoisted producer.)
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "values.h"

namespace acrobat {

class Context;
struct Bucket;

// A kernel or static block, as the scheduler sees it.
struct Unit {
    const char* name;
    int operands;       // operand tables: one address a row
    int groups;         // lists of one length: one table of starts each
    int lists;          // item tables: one address an item
    const int* group;   // the group of each item table
    int64_t row_size;   // elements of a row of results
    void (*run)(Context&, Bucket&);
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
    void reserve(int64_t wanted) {
        if (wanted <= capacity) return;
        capacity = std::max<int64_t>({wanted, 2 * capacity, 16});
        void* grown = std::realloc(data, size_t(capacity) * sizeof(int64_t));
        if (!grown) throw std::bad_alloc();
        data = static_cast<int64_t*>(grown);
    }
};

struct Bucket {
    int64_t rows = 0;
    int64_t capacity = 0;
    std::vector<Column> operands;  // of which only data and capacity are used: their size is `rows`
    Column out;
    std::vector<Column> starts;  // starts[g].data[row] .. [row + 1]
    std::vector<Column> items;

    explicit Bucket(const Unit& unit)
        : operands(size_t(unit.operands)), starts(size_t(unit.groups)), items(size_t(unit.lists)) {}

    int64_t open() {
        if (rows == capacity) [[unlikely]]
            grow();
        return rows++;
    }
    void clear() {
        rows = 0;
        for (Column& c : items) c.size = 0;
    }

   private:
    void grow() {
        capacity = capacity ? 2 * capacity : 16;
        for (Column& c : operands) c.size = rows, c.reserve(capacity);
        out.size = rows;
        out.reserve(capacity);
        for (Column& c : starts) {
            c.size = rows ? rows + 1 : 0;
            c.reserve(capacity + 1);
            if (!rows) c.data[0] = 0;
        }
    }
};

// The work recorded in one program phase.
class Stage {
   public:
    void set_up(const Unit* units, int count, int64_t static_levels, size_t memory_limit) {
        memory_limit_ = memory_limit;
        units_ = units;
        count_ = count;
        static_levels_ = static_levels;
        reset();
    }
    void reset() {
        for (auto& b : table_)
            if (b) b->clear();
        base_ = 0;
        levels_ = 0;
    }

    // Static depth k of the work recorded now.
    int64_t at(int64_t k) const { return base_ + k; }
    // The first depth after all static ones.
    int64_t start() const { return base_ + static_levels_; }
    int64_t levels() const { return levels_; }
    bool empty() const { return levels_ == 0; }

    Bucket& bucket(int64_t depth, int unit) {
        const int64_t level = depth - base_;
        const size_t slot = size_t(level) * size_t(count_) + size_t(unit);
        if (level >= levels_) [[unlikely]]
            extend(level);
        std::unique_ptr<Bucket>& b = table_[slot];
        if (!b) [[unlikely]]
            b = make(units_[unit]);
        return *b;
    }

    // Calls visit(depth, unit, bucket) for all recorded work by depth, then by unit; afterwards nothing is recorded.
    template <class Visit>
    void drain(Visit&& visit) {
        for (int64_t level = 0; level < levels_; ++level)
            for (int unit = 0; unit < count_; ++unit) {
                Bucket* b = table_[size_t(level) * size_t(count_) + size_t(unit)].get();
                if (b && b->rows) {
                    visit(base_ + level, unit, *b);
                    b->clear();
                }
            }
        base_ += levels_;
        levels_ = 0;
    }

   private:
    void extend(int64_t level) {
        levels_ = level + 1;
        const size_t wanted = size_t(levels_) * size_t(count_);
        if (table_.size() < wanted) {
            const size_t size = std::max(wanted, 2 * table_.size());
            take((size - table_.size()) * sizeof(table_[0]));
            table_.resize(size);
        }
    }

    // A loop that does not end records one level after the other, and they take more memory than their results.
    std::unique_ptr<Bucket> make(const Unit& unit) {
        constexpr size_t column = sizeof(Column) + 16 * sizeof(int64_t);  // as it begins
        take(sizeof(Bucket) + column * size_t(unit.operands + 1 + unit.groups + unit.lists));
        return std::make_unique<Bucket>(unit);
    }
    void take(size_t bytes) {
        if (bytes > memory_limit_ - taken_) full("the schedule", taken_, bytes, memory_limit_);
        taken_ += bytes;
    }

    const Unit* units_ = nullptr;
    int count_ = 0;
    int64_t static_levels_ = 0;
    int64_t base_ = 0;
    int64_t levels_ = 0;
    size_t taken_ = 0;
    size_t memory_limit_ = 0;
    std::vector<std::unique_ptr<Bucket>> table_;
};

}  // namespace acrobat
