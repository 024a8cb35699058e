// Bump arenas, reset between mini-batches. What does not fit opens another block; at the next reset the blocks become one,
// so that a steady workload allocates nothing.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "errors.h"

namespace acrobat {

class Arena {
   public:
    static constexpr size_t kAlign = 64;
    static constexpr size_t kFirst = size_t{1} << 20;

    Arena(std::string name, size_t limit) : name_(std::move(name)), limit_(limit) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { release(); }

    // `bytes` of uninitialised memory, aligned to a multiple of `align` (a power of two, at most kAlign).
    void* take(size_t bytes, size_t align = kAlign) {
        char* at = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(cursor_) + align - 1) & ~(uintptr_t(align) - 1));
        if (at + bytes > end_) [[unlikely]]
            return take_from_new_block(bytes);
        cursor_ = at + bytes;
        return at;
    }

    template <class T>
    T* make(size_t count) {
        return static_cast<T*>(take(count * sizeof(T), alignof(T)));
    }

    // A point to come back to: what was taken after it is given back, unless a new block was opened since.
    char* mark() const { return cursor_; }
    void release_to(char* mark) {
        if (!blocks_.empty() && mark >= blocks_.back().start && mark <= cursor_) {
            high_water_ = std::max(high_water_, used());
            cursor_ = mark;
        }
    }

    void reset() {
        high_water_ = std::max(high_water_, used());
        if (blocks_.size() > 1) {
            const size_t total = reserved_;
            release();
            open(total);
        }
        if (!blocks_.empty()) cursor_ = blocks_.back().start;
    }

    size_t used() const {
        return blocks_.empty() ? 0 : reserved_ - size_t(end_ - cursor_);
    }
    size_t high_water() const { return std::max(high_water_, used()); }
    size_t reserved() const { return reserved_; }
    void set_limit(size_t limit) { limit_ = limit; }

    // Index of the 64-byte line `p` lies in, counted over all blocks; -1 if it is not this arena's. For checked mode.
    int64_t line_of(const void* p) const {
        int64_t before = 0;
        for (const Block& b : blocks_) {
            const char* at = static_cast<const char*>(p);
            if (at >= b.start && at < b.start + b.size) return before + (at - b.start) / int64_t(kAlign);
            before += int64_t(b.size / kAlign);
        }
        return -1;
    }

   private:
    struct Block {
        char* start;
        size_t size;
    };

    void* take_from_new_block(size_t bytes) {
        open(std::max({bytes + kAlign, kFirst, reserved_}));
        char* at = cursor_;
        cursor_ += bytes;
        return at;
    }

    void open(size_t bytes) {
        bytes = (bytes + kFirst - 1) / kFirst * kFirst;
        if (reserved_ + bytes > limit_)
            throw ResourceError("the " + name_ + " arena is full: " + std::to_string(reserved_ >> 20) + " MiB are in use, " +
                                std::to_string(bytes >> 20) + " MiB more were needed and its limit is " +
                                std::to_string(limit_ >> 20) + " MiB; use a smaller mini-batch or raise memory_limit");
        void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            throw ResourceError("the system has no " + std::to_string(bytes >> 20) + " MiB left for the " + name_ + " arena");
        // Rows are gathered from all over the arena: huge pages keep that from missing the TLB.
        madvise(p, bytes, MADV_HUGEPAGE);
        blocks_.push_back({static_cast<char*>(p), bytes});
        reserved_ += bytes;
        cursor_ = static_cast<char*>(p);
        end_ = cursor_ + bytes;
    }

    void release() {
        for (const Block& b : blocks_) munmap(b.start, b.size);
        blocks_.clear();
        reserved_ = 0;
        cursor_ = end_ = nullptr;
    }

    std::string name_;
    size_t limit_;
    std::vector<Block> blocks_;
    char* cursor_ = nullptr;
    char* end_ = nullptr;
    size_t reserved_ = 0;
    size_t high_water_ = 0;
};

}  // namespace acrobat
