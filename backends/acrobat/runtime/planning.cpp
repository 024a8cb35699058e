#include "planning.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace acrobat {

namespace {

// The next use of a result: the batch that reads it, the number of the operand, and the place in that operand's rows.
using Reader = std::tuple<size_t, size_t, int64_t>;
constexpr Reader kNobody{std::numeric_limits<size_t>::max(), 0, 0};

int64_t producer(const Context& cx, Tensor t) { return cx.tracking.producer(cx.tensors.line_of(cx.pointer(t))); }

}  // namespace

void arrange(Context& cx, const Unit* units, const Graph& graph, std::vector<Batch>& batches) {
    Stage& stage = *cx.stage;
    std::vector<int32_t> in_graph(cx.tracking.count(), -1);
    for (size_t i = 0; i < graph.size(); ++i) in_graph[size_t(graph.number[i])] = int32_t(i);
    std::vector<Reader> readers(graph.size(), kNobody);
    const auto reads = [&](size_t batch, size_t operand, int64_t place, Tensor t) {
        const int64_t number = producer(cx, t);
        if (number >= 0 && in_graph[size_t(number)] >= 0) readers[size_t(in_graph[size_t(number)])] = {batch, operand, place};
    };
    // Backwards, since the order of a batch depends on the batches that read it. Of several readers the first one counts.
    for (size_t b = batches.size(); b-- > 0;) {
        std::vector<int32_t>& operations = batches[b].operations;
        std::stable_sort(operations.begin(), operations.end(),
                         [&](int32_t i, int32_t k) { return readers[size_t(i)] < readers[size_t(k)]; });
        const Unit& unit = units[batches[b].unit];
        const Bucket& all = stage.bucket(stage.base(), batches[b].unit);
        for (size_t list = all.items.size(); list-- > 0;) {
            const int64_t* starts = all.starts[size_t(unit.group[list])].data;
            int64_t place = 0;
            for (const int32_t i : operations)
                for (int64_t k = starts[graph.row[size_t(i)]]; k < starts[graph.row[size_t(i)] + 1]; ++k)
                    reads(b, all.operands.size() + list, place++, all.items[list].data[k]);
        }
        for (size_t operand = all.operands.size(); operand-- > 0;) {
            int64_t place = 0;
            for (const int32_t i : operations) reads(b, operand, place++, all.operands[operand].data[graph.row[size_t(i)]]);
        }
    }
    for (const Batch& batch : batches) {
        const Bucket& all = stage.bucket(stage.base(), batch.unit);
        const int64_t elements = (units[batch.unit].row_size + 15) / 16 * 16;  // whole cache lines
        Tensor next = cx.place(elements * int64_t(batch.operations.size()));
        for (const int32_t i : batch.operations) {
            cx.tracking.displacement(graph.number[size_t(i)]) = next - all.out.data[graph.row[size_t(i)]];
            next += elements;
        }
    }
}

void relocate(const Context& cx, Bucket& bucket) {
    const auto all = [&](Column& column, int64_t count) {
        for (int64_t i = 0; i < count; ++i) column.data[i] = cx.now(column.data[i]);
    };
    for (Column& operand : bucket.operands) all(operand, bucket.rows);
    for (Column& items : bucket.items) all(items, items.size);
    all(bucket.out, bucket.rows);
}

}  // namespace acrobat
