// Where the blocks of an arena come from.
#pragma once

#include <cstddef>
#include <string>

namespace acrobat {

class Memory {
   public:
    virtual ~Memory() = default;
    // `bytes` that begin at a multiple of 64; null if there are none.
    virtual void* map(size_t bytes) = 0;
    virtual void unmap(void* block, size_t bytes) = 0;
    // What to say when there are no more.
    virtual std::string shortage(size_t bytes) const = 0;
    // Whether AddressSanitizer knows these addresses.
    virtual bool checked() const = 0;
};

// The process's own, in large pages where the system has them.
Memory& host_memory();

}  // namespace acrobat
