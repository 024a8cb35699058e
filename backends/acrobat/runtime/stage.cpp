#include "stage.h"

namespace acrobat {

void Stage::set_up(const Unit* units, int count, int64_t static_levels, size_t memory_limit) {
    memory_limit_ = memory_limit;
    units_ = units;
    count_ = count;
    static_levels_ = static_levels;
    reset();
}

void Stage::reset() {
    for (Segment& s : segments_) {
        for (auto& b : s.table)
            if (b) b->clear();
        s.levels = 0;
    }
    base_ = 0;
    first_levels_run_ = levels_dropped_ = 0;
    segments_used_ = 0;
    levels_run_ = 0;
}

void Stage::skip(int64_t batches) {
    for (size_t i = 0; i < segments_used_; ++i) {
        for (auto& b : segments_[i].table)
            if (b) b->clear();
        segments_[i].levels = 0;
    }
    levels_run_ += batches;
    base_ += int64_t(segments_used_) << kSegmentBits;
    segments_used_ = 0;
}

void Stage::keep(size_t segment, size_t level) {
    Segment& s = segments_[segment];
    if (segment) levels_dropped_ = 0;
    first_levels_run_ = levels_dropped_ + int64_t(level);
    if (2 * level > s.levels) {
        const auto begin = s.table.begin(), end = begin + std::ptrdiff_t(s.levels * size_t(count_));
        std::rotate(begin, begin + std::ptrdiff_t(level * size_t(count_)), end);
        s.levels -= level;
        levels_dropped_ = first_levels_run_;
    }
    base_ += int64_t(segment) << kSegmentBits;
    std::rotate(segments_.begin(), segments_.begin() + std::ptrdiff_t(segment), segments_.begin() + std::ptrdiff_t(segments_used_));
    segments_used_ -= segment;
}

void Stage::extend(size_t segment, size_t level) {
    if (segment >= segments_used_) segments_used_ = segment + 1;
    if (segments_.size() < segments_used_) segments_.resize(segments_used_);
    Segment& s = segments_[segment];
    s.levels = std::max(s.levels, level + 1);
    const size_t entries = s.levels * size_t(count_);
    if (s.table.size() < entries) {
        const size_t size = std::max(entries, 2 * s.table.size());
        take((size - s.table.size()) * sizeof(s.table[0]));
        s.table.resize(size);
    }
}

Owned<Bucket> Stage::make(const Unit& unit) {
    constexpr size_t column = sizeof(Column) + 16 * sizeof(int64_t);  // its size before it grows
    take(sizeof(Bucket) + column * size_t(unit.operands + 1 + unit.groups + unit.lists));
    return Owned(new Bucket(unit));
}

void Stage::take(size_t bytes) {
    if (bytes > memory_limit_ - bytes_) full("the schedule", bytes_, bytes, memory_limit_);
    bytes_ += bytes;
}

}  // namespace acrobat
