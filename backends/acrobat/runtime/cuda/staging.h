// Memory of the host with a mirror on the device. What the host writes while it records and plans (scalars, tensors of instances,
// tables, arguments, steps) has an address on the device from the beginning, and one copy uploads all that is new.
//
// No piece is used again before the wave ends, so the host can write on while earlier pieces are being copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver.h"

namespace acrobat::cuda {

class Staging {
   public:
    static constexpr size_t kAlign = 16;
    static constexpr size_t kFirst = size_t{1} << 20;

    Staging(const Primary& primary, size_t limit) : primary_(primary), limit_(limit) {}
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging() { release(); }

    struct Piece {
        char* host;
        Pointer device;
    };
    // A piece of memory that is valid until `reset`. Throws ResourceError.
    Piece take(size_t bytes) {
        bytes = (bytes + kAlign - 1) / kAlign * kAlign;
        if (blocks_.empty() || bytes > blocks_.back().size - blocks_.back().used) [[unlikely]]
            open(bytes);
        Block& b = blocks_.back();
        const Piece piece{b.host + b.used, b.device + b.used};
        b.used += bytes;
        return piece;
    }

    // Enqueues the copies of all that was taken since the last upload: one, unless a new block was opened. Returns their bytes.
    size_t upload(Stream stream);
    // Gives all pieces back. The device must have read them.
    void reset();

   private:
    struct Block {
        char* host;
        Pointer device;
        size_t size;
        size_t used;
        size_t uploaded;
    };
    void open(size_t bytes);
    void release();

    const Primary& primary_;
    size_t limit_;
    size_t reserved_ = 0;
    std::vector<Block> blocks_;
};

}  // namespace acrobat::cuda
