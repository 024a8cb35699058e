// The schedule of one phase: a bucket for each depth and unit. An operation is recorded as the next row of its bucket, and is
// given memory for its result.
//
// Depths are absolute and never decrease. When recorded work has run, because an instance waited, the base of the stage moves
// past it, and later work begins at the new base. A value from before then has a depth below the base, which is right, since
// the value can be used at once. (The original resets depths to zero and can run a consumer before its hoisted producer.)
//
// When calls wait, only the work that they wait for has to run. Deeper work stays recorded and is batched with what they record
// next. (A parser that has read its sentence then reduces its stack in the same batches as parsers that read longer ones.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "bucket.h"
#include "owned.h"

namespace acrobat {

// A depth is the number of a segment (upper half) and a level in it (lower half), so that depths compare as numbers. Most work
// lies in one segment. Work that follows a loop with a trip count of its own is in the next segment, at whose beginning all
// instances are at one depth again, however long their loops were.
constexpr int kSegmentBits = 32;
constexpr int64_t kLevels = int64_t{1} << kSegmentBits;
constexpr int64_t kAllDepths = std::numeric_limits<int64_t>::max();

// A ghost operator: the depth `levels` later, for a value that the shorter arm of a branch uses, so that both arms end at one
// depth. Depth 0, of values that can be used from the start, stays 0.
inline int64_t padded(int64_t depth, int64_t levels) { return depth ? depth + levels : 0; }

// The work recorded in one program phase.
class Stage {
   public:
    void set_up(const Unit* units, int count, int64_t static_levels, size_t memory_limit);
    void reset();

    // The absolute depth of static depth k.
    int64_t at(int64_t k) const { return base_ + first_levels_run_ + k; }
    // The first depth for counted work: after all static depths, or the beginning of a later segment.
    int64_t start() const { return base_ + first_levels_run_ + static_levels_; }
    int64_t start(int64_t segment) const { return base_ + (segment << kSegmentBits); }
    // The beginning of the segment after that of `depth`.
    int64_t next(int64_t depth) const { return ((std::max(depth, base_) >> kSegmentBits) + 1) << kSegmentBits; }
    int64_t base() const { return base_; }
    int64_t levels_run() const { return levels_run_; }

    Bucket& bucket(int64_t depth, int unit) {
        const uint64_t from_base = uint64_t(depth - base_);
        const size_t segment = from_base >> kSegmentBits;
        const size_t level = (from_base & uint64_t(kLevels - 1)) - (segment ? 0 : size_t(levels_dropped_));
        if (segment >= segments_used_ || level >= segments_[segment].levels) [[unlikely]]
            extend(segment, level);
        Owned<Bucket>& b = segments_[segment].table[level * size_t(count_) + size_t(unit)];
        if (!b) [[unlikely]]
            b = make(units_[unit]);
        return *b;
    }

    // Calls visit(depth, level, unit, bucket) for the buckets with recorded work below depth `end`, by depth, then by unit, and then
    // empties them. `level` counts the levels that have run since the wave began, for logs.
    template <class Visit>
    void drain(int64_t end, Visit&& visit) {
        for (size_t i = 0; i < segments_used_; ++i) {
            Segment& s = segments_[i];
            const size_t ran = i ? 0 : size_t(first_levels_run_ - levels_dropped_);
            const int64_t first = base_ + (int64_t(i) << kSegmentBits) + (i ? 0 : levels_dropped_);
            const size_t levels = size_t(std::clamp<int64_t>(end - first, int64_t(ran), int64_t(s.levels)));
            for (size_t level = ran; level < levels; ++level)
                for (int unit = 0; unit < count_; ++unit) {
                    Bucket* b = s.table[level * size_t(count_) + size_t(unit)].get();
                    if (b && b->rows) {
                        visit(first + int64_t(level), levels_run_ + int64_t(level - ran), unit, *b);
                        b->clear();
                    }
                }
            levels_run_ += int64_t(levels - ran);
            if (levels < s.levels) return keep(i, levels);
            s.levels = 0;
        }
        base_ += int64_t(segments_used_) << kSegmentBits;
        first_levels_run_ = levels_dropped_ = 0;
        segments_used_ = 0;
    }

    // Empties all buckets: their work has run in another order, in `batches` batches.
    void skip(int64_t batches);

   private:
    struct Segment {
        size_t levels = 0;  // levels in use; the table may have more
        std::vector<Owned<Bucket>> table;
    };

    // Is called when everything before a level of a segment's table has run: that segment becomes the first. A table drops
    // levels that have run when they are more than half of it, so that each bucket is moved only a few times.
    void keep(size_t segment, size_t level);

    void extend(size_t segment, size_t level);

    // A new bucket. `take` counts its memory, since endless loops record ever more levels; throws ResourceError at the limit.
    Owned<Bucket> make(const Unit& unit);
    void take(size_t bytes);

    const Unit* units_ = nullptr;
    int count_ = 0;
    int64_t static_levels_ = 0;
    int64_t base_ = 0;              // depth of the beginning of the first segment in use
    int64_t first_levels_run_ = 0;  // levels of that segment that have run
    int64_t levels_dropped_ = 0;    // how many of these its table has dropped
    size_t segments_used_ = 0;      // number of segments in use
    int64_t levels_run_ = 0;        // levels that have run since the wave began
    std::vector<Segment> segments_;
    size_t bytes_ = 0;
    size_t memory_limit_ = 0;
};

}  // namespace acrobat
