// Where the blocks of an arena come from.
#pragma once

#include <cstddef>
#include <string>

namespace acrobat {

class Memory {
   public:
    virtual ~Memory() = default;
    // A block of `bytes` that begins at a multiple of 64; null if there is not enough memory.
    virtual void* map(size_t bytes) = 0;
    virtual void unmap(void* block, size_t bytes) = 0;
    // The message for when `map` has failed.
    virtual std::string shortage(size_t bytes) const = 0;
    // Whether AddressSanitizer knows these addresses.
    virtual bool checked() const = 0;
};

// Memory of this process, in huge pages where the system has them.
Memory& host_memory();

}  // namespace acrobat
