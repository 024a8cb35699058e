// The schedule. An operation is recorded into the bucket (phase, depth, unit): its operands' addresses go to the bucket's tables
// and its result gets the next free row, so nothing is hashed, no graph is kept, and the tables are what the kernels read.
//
// Depths are absolute and never fall: when recorded work has run (because an instance waited), its stage's base moves past
// it, and what is recorded afterwards starts there. A value's depth from before is then below the base, which is right: it
// is there. (The original resets depths to zero and can run a consumer before its hoisted producer.)
//
// Only what the waiting calls need has to run when they wait: what is recorded deeper stays, and what they record next meets it
// there. (A parser that has read its sentence reduces what is on its stack; it does so together with those that come later.)
#pragma once

#include <algorithm>
#include <cstddef>
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
    // Becomes a copy of some rows of another bucket of the same unit.
    void take(const Bucket& from, const std::vector<int64_t>& chosen, const Unit& unit) {
        for (const int64_t row : chosen) {
            const int64_t own = open();
            for (size_t i = 0; i < operands.size(); ++i) operands[i].data[own] = from.operands[i].data[row];
            out.data[own] = from.out.data[row];
            for (size_t i = 0; i < items.size(); ++i) {
                const int64_t* starts_of = from.starts[size_t(unit.group[i])].data;
                for (int64_t k = starts_of[row]; k < starts_of[row + 1]; ++k) items[i].push(from.items[i].data[k]);
                starts[size_t(unit.group[i])].data[own + 1] = items[i].size;
            }
        }
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

// A depth is a segment (upper half) and a level in it (lower half), so that depths compare as numbers. Most work lies in one
// segment. What follows a loop with a trip count of its own stands in the next one: there all instances meet again, however
// long their loops were.
constexpr int kSegmentBits = 32;
constexpr int64_t kLevels = int64_t{1} << kSegmentBits;

// A ghost operator: what the shorter arm of a branch uses is there some levels later, so that both arms end at one depth. What
// is there from the start still is.
inline int64_t padded(int64_t depth, int64_t levels) { return depth ? depth + levels : 0; }

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
        for (Segment& s : segments_) {
            for (auto& b : s.table)
                if (b) b->clear();
            s.levels = 0;
        }
        base_ = 0;
        low_ = origin_ = 0;
        used_ = 0;
        passed_ = 0;
    }

    // Static depth k of the work recorded now.
    int64_t at(int64_t k) const { return base_ + low_ + k; }
    // The first depth after all static ones; the first of a later segment.
    int64_t start() const { return base_ + low_ + static_levels_; }
    int64_t start(int64_t segment) const { return base_ + (segment << kSegmentBits); }
    // Where all instances stand again that have come to `depth` by different numbers of levels.
    int64_t next(int64_t depth) const { return ((std::max(depth, base_) >> kSegmentBits) + 1) << kSegmentBits; }
    int64_t base() const { return base_; }
    int64_t passed() const { return passed_; }
    bool empty() const { return used_ == 0; }

    Bucket& bucket(int64_t depth, int unit) {
        const uint64_t from_base = uint64_t(depth - base_);
        const size_t segment = from_base >> kSegmentBits;
        const size_t level = (from_base & uint64_t(kLevels - 1)) - (segment ? 0 : size_t(origin_));
        if (segment >= used_ || level >= segments_[segment].levels) [[unlikely]]
            extend(segment, level);
        std::unique_ptr<Bucket>& b = segments_[segment].table[level * size_t(count_) + size_t(unit)];
        if (!b) [[unlikely]]
            b = make(units_[unit]);
        return *b;
    }

    // Calls visit(depth, unit, bucket) for the recorded work below depth `end` by depth, then by unit; afterwards it is not
    // recorded any more. The visit's `depth` counts levels from the beginning of the mini-batch, for people to read.
    template <class Visit>
    void drain(int64_t end, Visit&& visit) {
        for (size_t i = 0; i < used_; ++i) {
            Segment& s = segments_[i];
            const size_t ran = i ? 0 : size_t(low_ - origin_);
            const int64_t first = base_ + (int64_t(i) << kSegmentBits) + (i ? 0 : origin_);
            const size_t levels = size_t(std::clamp<int64_t>(end - first, int64_t(ran), int64_t(s.levels)));
            for (size_t level = ran; level < levels; ++level)
                for (int unit = 0; unit < count_; ++unit) {
                    Bucket* b = s.table[level * size_t(count_) + size_t(unit)].get();
                    if (b && b->rows) {
                        visit(passed_ + int64_t(level - ran), unit, *b);
                        b->clear();
                    }
                }
            passed_ += int64_t(levels - ran);
            if (levels < s.levels) return keep(i, levels);
            s.levels = 0;
        }
        base_ += int64_t(used_) << kSegmentBits;
        low_ = origin_ = 0;
        used_ = 0;
    }

    // What was recorded has run in another order, in so many batches.
    void skip(int64_t batches) {
        for (size_t i = 0; i < used_; ++i) {
            for (auto& b : segments_[i].table)
                if (b) b->clear();
            segments_[i].levels = 0;
        }
        passed_ += batches;
        base_ += int64_t(used_) << kSegmentBits;
        used_ = 0;
    }

   private:
    struct Segment {
        size_t levels = 0;  // used now; the table may have more
        std::vector<std::unique_ptr<Bucket>> table;
    };

    // What has run is what lies before a level of a segment's table: that segment becomes the first. Tables give up levels that
    // have run when these are the larger part, so that each is moved but a few times.
    void keep(size_t segment, size_t level) {
        Segment& s = segments_[segment];
        if (segment) origin_ = 0;
        low_ = origin_ + int64_t(level);
        if (2 * level > s.levels) {
            const auto begin = s.table.begin(), end = begin + std::ptrdiff_t(s.levels * size_t(count_));
            std::rotate(begin, begin + std::ptrdiff_t(level * size_t(count_)), end);
            s.levels -= level;
            origin_ = low_;
        }
        base_ += int64_t(segment) << kSegmentBits;
        std::rotate(segments_.begin(), segments_.begin() + std::ptrdiff_t(segment), segments_.begin() + std::ptrdiff_t(used_));
        used_ -= segment;
    }

    void extend(size_t segment, size_t level) {
        if (segment >= used_) used_ = segment + 1;
        if (segments_.size() < used_) segments_.resize(used_);
        Segment& s = segments_[segment];
        s.levels = std::max(s.levels, level + 1);
        const size_t wanted = s.levels * size_t(count_);
        if (s.table.size() < wanted) {
            const size_t size = std::max(wanted, 2 * s.table.size());
            take((size - s.table.size()) * sizeof(s.table[0]));
            s.table.resize(size);
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
    int64_t base_ = 0;     // depth of the first segment recorded now; a whole number of segments
    int64_t low_ = 0;      // levels of that segment which have run
    int64_t origin_ = 0;   // and of those the ones that its table has no more
    size_t used_ = 0;      // segments
    int64_t passed_ = 0;   // levels that have run
    std::vector<Segment> segments_;
    size_t taken_ = 0;
    size_t memory_limit_ = 0;
};

}  // namespace acrobat
