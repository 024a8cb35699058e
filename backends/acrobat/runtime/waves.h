// How a mini-batch is cut into waves: instances that are read, recorded, executed and fetched before the next are looked at, so that
// what an operation writes is still in the cache when another reads it, and memory serves one wave after the other. More of them
// together than fill the kernels gain nothing on a CPU: of 1024 in one wave an instance took 3 (TreeLSTM) to 9 % (MV-RNN) longer
// than of 64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acrobat {

class Waves {
   public:
    // `least`: instances of a wave, but for the last; 0: all are one. `second_level`: bytes of that cache.
    Waves(int64_t least, int64_t second_level) : least_(least), bytes_(size_t(second_level / 16)) {}

    // How many of `left` instances are read next, `factor` times a wave's least number or more: none are left that are fewer.
    int64_t group(int64_t left, int64_t factor) const { return least_ && left >= 2 * factor * least_ ? factor * least_ : left; }
    // Whether a wave has as many bytes of results as it should have.
    bool full(size_t bytes) const { return least_ && bytes >= size_t(least_) * bytes_; }

    // Instances that wait run four times as many together: they fill their kernels also where only a few still go on. (StackRNN
    // is slower by an eighth in waves of 64; in one of 1024 DRNN's frames and results, 54 tensors to an instance, leave all
    // caches.)
    static constexpr int64_t kWaiting = 4;

   private:
    int64_t least_;
    // For an instance of the least number: with 64 instances four times the second-level cache, which is what may stay in that
    // and in a core's share of the third.
    size_t bytes_;
};

}  // namespace acrobat
