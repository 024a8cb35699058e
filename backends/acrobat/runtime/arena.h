// Bump-pointer arenas. An allocation that does not fit opens another block; a reset frees all allocations and makes the blocks
// one, so that a steady workload maps no memory. The memory may be a device's: an arena never reads or writes it.
//
// Under AddressSanitizer, memory that is not allocated is poisoned and a gap follows each allocation, so that use after a reset
// and overruns are reported as they are for heap memory.
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

// Tell AddressSanitizer which memory may be used; they do nothing where the code is compiled without it.
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

    // `bytes` of uninitialised memory, aligned to `align` (a power of two, at most kAlign). Throws ResourceError.
    void* take(size_t bytes, size_t align = kAlign) {
        char* at = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(cursor_) + align - 1) & ~(uintptr_t(align) - 1));
        if (bytes + kGap > size_t(end_ - at)) [[unlikely]]
            return take_from_new_block(bytes);
        cursor_ = at + bytes + kGap;
        permit(at, bytes);
        return at;
    }

    // Frees all blocks; further ones are allocated from `memory`.
    void move_to(Memory& memory);

    template <class T>
    T* make(size_t count) {
        if (count > kMost / sizeof(T)) [[unlikely]]
            too_much(kMost);
        return static_cast<T*>(take(count * sizeof(T), alignof(T)));
    }

    // `release_to(mark)` frees what was allocated since the `mark()`, unless a new block was opened in between.
    char* mark() const { return cursor_; }
    void release_to(char* mark);

    // Frees all allocations, but keeps the memory for the next ones.
    void reset();

    size_t used() const {
        return blocks_.empty() ? 0 : reserved_ - size_t(end_ - cursor_);
    }
    // The most bytes that were in use at once since the last `reset`.
    size_t high_water() const { return std::max(high_water_, used()); }

    // The index of the 64-byte line in which `p` lies, counted over all blocks; -1 if `p` is not in this arena.
    int64_t line_of(const void* p) const;

   private:
    struct Block {
        char* start;
        size_t size;
    };
    static constexpr size_t kMost = size_t{1} << 60;  // more than any machine has, and sums of a few of these do not overflow

    // `allow` and `forbid`, but only for memory that AddressSanitizer knows, which a device's memory is not.
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
