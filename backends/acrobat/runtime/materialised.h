// For checked mode: which lines of the tensor arena hold computed values. A kernel that would run before its operands are
// computed is then an error and not a wrong number.
#pragma once

#include <cstdint>
#include <vector>

#include "bucket.h"
#include "arenas.h"

namespace acrobat {

class Materialised {
   public:
    explicit Materialised(const Arenas& arenas) : arenas_(arenas) {}

    // Forgets everything: no result counts as computed.
    void reset() { lines_.clear(); }
    // Notes that a tensor of `elements` elements has been computed.
    void add(Tensor t, int64_t elements);
    // Whether a tensor has been computed; one outside of the arena always counts as computed.
    bool has(Tensor t) const;
    // Throws ScheduleError unless all operands of the bucket have been computed.
    void require_operands(const Unit& unit, const Bucket& bucket) const;

   private:
    const Arenas& arenas_;
    std::vector<bool> lines_;
};

}  // namespace acrobat
