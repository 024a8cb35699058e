#include "materialised.h"

namespace acrobat {

void Materialised::add(Tensor t, int64_t elements) {
    const int64_t first = arenas_.tensors.line_of(arenas_.pointer(t));
    const int64_t last = first + (elements * 4 + 63) / 64;
    if (size_t(last) > lines_.size()) lines_.resize(size_t(last) * 2, false);
    std::fill(lines_.begin() + first, lines_.begin() + last, true);
}

bool Materialised::has(Tensor t) const {
    const int64_t line = arenas_.tensors.line_of(arenas_.pointer(t));
    return line < 0 || (size_t(line) < lines_.size() && lines_[size_t(line)]);
}

void Materialised::require_operands(const Unit& unit, const Bucket& bucket) const {
    const auto require = [&](Tensor t) {
        if (!has(t))
            throw ScheduleError(std::string("the unit ") + unit.name + " was scheduled before one of its operands was computed");
    };
    for (const Column& c : bucket.operands)
        for (int64_t i = 0; i < bucket.rows; ++i) require(c.data[i]);
    for (const Column& c : bucket.items)
        for (int64_t i = 0; i < c.size; ++i) require(c.data[i]);
}

}  // namespace acrobat
