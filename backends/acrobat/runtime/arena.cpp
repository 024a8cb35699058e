#include "arena.h"

namespace acrobat {

void Arena::release_to(char* mark) {
    if (!blocks_.empty() && mark >= blocks_.back().start && mark < cursor_) {
        high_water_ = std::max(high_water_, used());
        cursor_ = mark;
        prohibit(cursor_, size_t(end_ - cursor_));
    }
}

void Arena::reset() {
    high_water_ = 0;
    if (blocks_.size() > 1) {
        const size_t total = reserved_;
        release();
        map(total);  // if this fails, the arena has no block, and the next allocation opens one
    }
    if (!blocks_.empty()) {
        cursor_ = blocks_.back().start;
        prohibit(cursor_, size_t(end_ - cursor_));
    }
}

int64_t Arena::line_of(const void* p) const {
    int64_t before = 0;
    for (const Block& b : blocks_) {
        const char* at = static_cast<const char*>(p);
        if (at >= b.start && at < b.start + b.size) return before + (at - b.start) / int64_t(kAlign);
        before += int64_t(b.size / kAlign);
    }
    return -1;
}

void* Arena::take_from_new_block(size_t bytes) {
    if (bytes > kMost) too_much(bytes);
    const auto in_steps = [](size_t n) { return (n + kFirst - 1) / kFirst * kFirst; };
    const size_t least = in_steps(bytes + kAlign + kGap);
    if (least > limit_ - std::min(limit_, reserved_)) too_much(least);
    // As much again as there is, so that few blocks are opened; where the limit or the memory ends before that, less.
    size_t size = std::min(std::max(least, in_steps(reserved_)), (limit_ - reserved_) / kFirst * kFirst);
    while (!map(size)) {
        if (size == least) throw ResourceError(memory_->shortage(size) + " for the " + name_ + " arena");
        size = std::max(least, in_steps(size / 2));
    }
    char* at = cursor_;
    cursor_ += bytes + kGap;
    permit(at, bytes);
    return at;
}

void Arena::too_much(size_t bytes) const { full("the " + name_ + " arena", reserved_, bytes, limit_); }

void Arena::move_to(Memory& memory) {
    release();
    memory_ = &memory;
}

bool Arena::map(size_t bytes) {
    void* p = memory_->map(bytes);
    if (!p) return false;
    blocks_.push_back({static_cast<char*>(p), bytes});
    reserved_ += bytes;
    cursor_ = static_cast<char*>(p);
    end_ = cursor_ + bytes;
    prohibit(p, bytes);
    return true;
}

void Arena::release() {
    for (const Block& b : blocks_) {
        permit(b.start, b.size);  // the system may use these addresses again for another mapping
        memory_->unmap(b.start, b.size);
    }
    blocks_.clear();
    reserved_ = 0;
    cursor_ = end_ = nullptr;
}

}  // namespace acrobat
