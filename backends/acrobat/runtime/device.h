// What runs recorded work. The schedule above it knows no device: it hands over one batch of a unit after the other, in an order in
// which each comes after its operands.
#pragma once

#include <cstdint>

#include "bucket.h"

namespace acrobat {

// Where in the schedule a batch lies, for the log of launches. `depth` counts levels from the beginning of the mini-batch.
struct Place {
    int phase = 0;
    int64_t depth = 0;
};

class Device {
   public:
    virtual ~Device() = default;
    // Work will come soon; none will come soon. In between, threads that wait for it need not sleep.
    virtual void wake() = 0;
    virtual void rest() = 0;
    // Computes all rows of the bucket; when it returns, results can be read.
    virtual void run(const Unit& unit, Bucket& bucket, Place place) = 0;
};

}  // namespace acrobat
