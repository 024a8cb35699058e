#include "values.h"

namespace acrobat {

List<int64_t> range(Arena& arena, int64_t start, int64_t stop, int64_t step) {
    if (step == 0) throw InstanceError("range() with step 0");
    // Unsigned, because the distance between two ints may be too large for an int64_t.
    const uint64_t distance = step > 0 ? uint64_t(stop) - uint64_t(start) : uint64_t(start) - uint64_t(stop);
    const uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
    const int64_t count = (step > 0 ? stop > start : start > stop) ? int64_t((distance - 1) / stride + 1) : 0;
    List<int64_t> out = make_list<int64_t>(arena, count);
    for (int64_t i = 0; i < count; ++i) out.data[i] = start + i * step;
    return out;
}

}  // namespace acrobat
