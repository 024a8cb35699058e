#include "plan.h"

#include <algorithm>

namespace acrobat::cuda {

Plan::Table Plan::numbers(int64_t n) {
    const Staging::Piece piece = staging_.take(size_t(n) * sizeof(int64_t));
    return {reinterpret_cast<int64_t*>(piece.host), reinterpret_cast<const int64_t*>(piece.device)};
}

const int64_t* Plan::table(const int64_t* column, int64_t n) {
    const Table table = numbers(n);
    std::copy_n(column, n, table.host);
    return table.device;
}

const int64_t* Plan::steps(int64_t start, int64_t stride, int64_t n) { return joined({Rows{nullptr, start, stride}}, n); }

const int64_t* Plan::joined(std::initializer_list<Rows> parts, int64_t n) {
    const Table table = numbers(int64_t(parts.size()) * n);
    int64_t* to = table.host;
    for (const Rows& rows : parts)
        for (int64_t i = 0; i < n; ++i) *to++ = rows[i];
    return table.device;
}

const int64_t* Plan::spread(const Rows& rows, const int64_t* starts, int64_t n) {
    const Table table = numbers(starts[n] - starts[0]);
    for (int64_t i = 0; i < n; ++i) std::fill(table.host + (starts[i] - starts[0]), table.host + (starts[i + 1] - starts[0]), rows[i]);
    return table.device;
}

const int64_t* Plan::operand(const int64_t* column, int64_t n, int64_t elements) {
    if (gather_fusion_) return column;
    const int64_t stride = (elements + 15) / 16 * 16;
    int64_t i = 1;
    while (i < n && column[i] == column[i - 1] + stride) ++i;
    if (i >= n) return column;
    const Tensor together = this->rows(n * stride);
    copy_rows(-1, table(column, n), n, elements, cx_.pointer(together), stride);
    cx_.counters.gathered_bytes += double(n * elements * 4);
    int64_t* places = cx_.host.make<int64_t>(size_t(n));
    for (int64_t row = 0; row < n; ++row) places[row] = together + row * stride;
    return places;
}

Tensor Plan::rows(int64_t elements) {
    if (!marked_) mark_ = cx_.tensors.mark(), marked_ = true;
    return cx_.place(elements);
}

void Plan::add(int kernel, int chain, int64_t tiles, Pointer args, int64_t words) {
    if (tiles > INT32_MAX) throw ResourceError("a kernel call has too many rows for the device: give fewer instances at once");
    steps_.push_back({kernel, 0, 0, int32_t(tiles), int64_t(args), words});
    chains_.push_back(chain);
}

void Plan::next_level() {
    // An insertion sort by `chain`: a level has few steps, almost in order.
    for (size_t i = 1; i < chains_.size(); ++i) {
        const int chain = chains_[i];
        const Step step = steps_[level_ + i];
        size_t at = i;
        for (; at > 0 && chains_[at - 1] > chain; --at) {
            chains_[at] = chains_[at - 1];
            steps_[level_ + at] = steps_[level_ + at - 1];
        }
        chains_[at] = chain;
        steps_[level_ + at] = step;
    }
    for (size_t i = 0; i < chains_.size(); ++i) {
        Step& step = steps_[level_ + i];
        step.barrier = i + 1 == chains_.size() || chains_[i + 1] != chains_[i];
        barriers_ += step.barrier;
        step.first = int32_t(tiles_);
        tiles_ = (tiles_ + step.tiles) % grid_;
    }
    chains_.clear();
    level_ = steps_.size();
}

const std::vector<Step>& Plan::close() {
    next_level();
    if (!steps_.empty() && steps_.back().barrier) {
        steps_.back().barrier = 0;
        barriers_ -= 1;
    }
    return steps_;
}

void Plan::clear() {
    steps_.clear();
    chains_.clear();
    level_ = 0;
    barriers_ = tiles_ = 0;
    if (marked_) cx_.tensors.release_to(mark_);
    marked_ = false;
}

}  // namespace acrobat::cuda
