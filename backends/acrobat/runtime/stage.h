// The schedule of one program phase. An operation is recorded into the bucket (phase, depth, unit), and its result gets the next
// free row.
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
#include <limits>
#include <vector>

#include "bucket.h"
#include "owned.h"

namespace acrobat {

// A depth is a segment (upper half) and a level in it (lower half), so that depths compare as numbers. Most work lies in one
// segment. What follows a loop with a trip count of its own stands in the next one: there all instances meet again, however
// long their loops were.
constexpr int kSegmentBits = 32;
constexpr int64_t kLevels = int64_t{1} << kSegmentBits;
constexpr int64_t kAllDepths = std::numeric_limits<int64_t>::max();

// A ghost operator: what the shorter arm of a branch uses is there some levels later, so that both arms end at one depth. What
// is there from the start still is.
inline int64_t padded(int64_t depth, int64_t levels) { return depth ? depth + levels : 0; }

// The work recorded in one program phase.
class Stage {
   public:
    void set_up(const Unit* units, int count, int64_t static_levels, size_t memory_limit);
    void reset();

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
        Owned<Bucket>& b = segments_[segment].table[level * size_t(count_) + size_t(unit)];
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
    void skip(int64_t batches);

   private:
    struct Segment {
        size_t levels = 0;  // used now; the table may have more
        std::vector<Owned<Bucket>> table;
    };

    // What has run is what lies before a level of a segment's table: that segment becomes the first. Tables give up levels that
    // have run when these are the larger part, so that each is moved but a few times.
    void keep(size_t segment, size_t level);

    void extend(size_t segment, size_t level);

    // A loop that does not end records one level after the other, and they take more memory than their results.
    Owned<Bucket> make(const Unit& unit);
    void take(size_t bytes);

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
