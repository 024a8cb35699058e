#include "bucket.h"

namespace acrobat {

void Column::reserve(int64_t least) {
    if (least <= capacity) return;
    capacity = std::max<int64_t>({least, 2 * capacity, 16});
    void* memory = std::realloc(data, size_t(capacity) * sizeof(int64_t));
    if (!memory) throw std::bad_alloc();
    data = static_cast<int64_t*>(memory);
}

Bucket::Bucket(const Unit& unit) : operands(size_t(unit.operands)), starts(size_t(unit.groups)), items(size_t(unit.lists)) {}

void Bucket::take(const Bucket& from, const std::vector<int64_t>& numbers, const Unit& unit) {
    for (const int64_t row : numbers) {
        const int64_t own = open();
        for (size_t i = 0; i < operands.size(); ++i) operands[i].data[own] = from.operands[i].data[row];
        out.data[own] = from.out.data[row];
        for (size_t i = 0; i < items.size(); ++i) {
            const int64_t* starts_of = from.starts[size_t(unit.group[i])].data;
            for (int64_t k = starts_of[row]; k < starts_of[row + 1]; ++k) items[i].push(from.items[i].data[k]);
            starts[size_t(unit.group[i])].data[own + 1] = items[i].size;
        }
    }
}

void Bucket::grow() {
    capacity = capacity ? 2 * capacity : 16;
    for (Column& c : operands) c.size = rows, c.reserve(capacity);
    out.size = rows;
    out.reserve(capacity);
    for (Column& c : starts) {
        c.size = rows ? rows + 1 : 0;
        c.reserve(capacity + 1);
        if (!rows) c.data[0] = 0;
    }
}

}  // namespace acrobat
