// Checked mode: which lines of the tensor arena hold computed values, so that a kernel that would run before its operands is an error
// and not a wrong number.
#pragma once

#include <cstdint>
#include <vector>

#include "bucket.h"
#include "arenas.h"

namespace acrobat {

class Materialised {
   public:
    explicit Materialised(const Arenas& arenas) : arenas_(arenas) {}

    // Nothing is computed yet.
    void reset() { lines_.clear(); }
    // A tensor of so many elements has been computed.
    void add(Tensor t, int64_t elements);
    // Whether a tensor has been computed; what lies outside of the arena always is.
    bool has(Tensor t) const;
    // Throws ScheduleError unless all operands of the bucket have been computed.
    void require_operands(const Unit& unit, const Bucket& bucket) const;

   private:
    const Arenas& arenas_;
    std::vector<bool> lines_;
};

}  // namespace acrobat
