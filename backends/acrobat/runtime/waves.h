// How a mini-batch is cut into waves: instances that are read, recorded, executed and fetched before the next ones are looked
// at. So results are still in the caches when they are read, and all waves use the same memory. On a CPU, waves gain nothing
// from more instances than fill the kernels: in one wave of 1024, an instance took 3 % (TreeLSTM) to 9 % (MV-RNN) longer than
// in waves of 64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acrobat {

class Waves {
   public:
    // `least`: the least number of instances of a wave; 0 makes all one wave. `second_level`: the size of that cache in bytes.
    Waves(int64_t least, int64_t second_level) : least_(least), bytes_(size_t(second_level / 16)) {}

    // How many of the `remaining` instances the next wave has: `factor * least`, or all where the rest would be fewer than that.
    int64_t next_size(int64_t remaining, int64_t factor) const {
        return least_ && remaining >= 2 * factor * least_ ? factor * least_ : remaining;
    }
    // Whether a wave with so many bytes of results is complete.
    bool full(size_t bytes) const { return least_ && bytes >= size_t(least_) * bytes_; }

    // Of instances that wait, four times as many are a wave: they then fill the kernels even when only a few of them still go
    // on. (StackRNN is slower by an eighth in waves of 64. In a wave of 1024, DRNN's frames and results, with 54 tensors for
    // each instance, outgrow all caches.)
    static constexpr int64_t kWaiting = 4;

   private:
    int64_t least_;
    // Bytes of results for each of the `least` instances. For 64 instances they are four times the second-level cache, which is
    // about what fits into that cache and a core's share of the third-level cache.
    size_t bytes_;
};

}  // namespace acrobat
