// Bump arenas over some memory, reset between mini-batches. What does not fit opens another block; at the next reset the blocks
// become one, so that a steady workload allocates nothing. The memory need not be the host's: an arena never looks into it.
//
// Under AddressSanitizer what is not taken is poisoned, and a gap is left after each piece: reading what a reset has given back
// and running from one piece into the next are seen as on the heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "errors.h"
#include "memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace acrobat {

// Says to AddressSanitizer which memory may be used; nothing without it.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr size_t kGap = 64;
inline void forbid(const void* p, size_t bytes) { __asan_poison_memory_region(p, bytes); }
inline void allow(const void* p, size_t bytes) { __asan_unpoison_memory_region(p, bytes); }
#else
inline constexpr size_t kGap = 0;
inline void forbid(const void*, size_t) {}
inline void allow(const void*, size_t) {}
#endif

class Arena {
   public:
    static constexpr size_t kAlign = 64;
    static constexpr size_t kFirst = size_t{1} << 20;

    Arena(std::string name, size_t limit, Memory& memory = host_memory())
        : name_(std::move(name)), limit_(limit), memory_(&memory) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { release(); }

    // `bytes` of uninitialised memory, aligned to a multiple of `align` (a power of two, at most kAlign).
    void* take(size_t bytes, size_t align = kAlign) {
        char* at = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(cursor_) + align - 1) & ~(uintptr_t(align) - 1));
        if (bytes + kGap > size_t(end_ - at)) [[unlikely]]
            return take_from_new_block(bytes);
        cursor_ = at + bytes + kGap;
        permit(at, bytes);
        return at;
    }

    // Takes its blocks from another memory from here on; all that was taken is given back.
    void move_to(Memory& memory);

    template <class T>
    T* make(size_t count) {
        if (count > kMost / sizeof(T)) [[unlikely]]
            too_much(kMost);
        return static_cast<T*>(take(count * sizeof(T), alignof(T)));
    }

    // A point to come back to: what was taken after it is given back, unless a new block was opened since.
    char* mark() const { return cursor_; }
    void release_to(char* mark);

    // All that was taken is given back.
    void reset();

    size_t used() const {
        return blocks_.empty() ? 0 : reserved_ - size_t(end_ - cursor_);
    }
    size_t high_water() const { return std::max(high_water_, used()); }
    size_t reserved() const { return reserved_; }
    void set_limit(size_t limit) { limit_ = limit; }

    // Index of the 64-byte line `p` lies in, counted over all blocks; -1 if it is not this arena's. For checked mode.
    int64_t line_of(const void* p) const;

   private:
    struct Block {
        char* start;
        size_t size;
    };
    static constexpr size_t kMost = size_t{1} << 60;  // no machine has as much; sums of a few of these do not overflow

    // As `allow` and `forbid`, where AddressSanitizer knows the memory.
    void permit(const void* p, size_t bytes) const {
        if (kGap && memory_->checked()) allow(p, bytes);
    }
    void prohibit(const void* p, size_t bytes) const {
        if (kGap && memory_->checked()) forbid(p, bytes);
    }

    void* take_from_new_block(size_t bytes);
    [[noreturn]] void too_much(size_t bytes) const;
    // Opens a block of `bytes`, a multiple of kFirst; false if the system has no more memory.
    bool map(size_t bytes);
    void release();

    std::string name_;
    size_t limit_;
    Memory* memory_;
    std::vector<Block> blocks_;
    char* cursor_ = nullptr;
    char* end_ = nullptr;
    size_t reserved_ = 0;
    size_t high_water_ = 0;
};

}  // namespace acrobat
