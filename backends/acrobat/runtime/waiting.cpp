#include "waiting.h"

#include <cstring>
#include <functional>
#include <iterator>

namespace acrobat {

void Waiting::clear() {
    waiting_.clear();
    next_.clear();
    cancelled_ = false;
}

void Waiting::cancel(Context& cx) {
    cancelled_ = true;
    while (!next_.empty() || !empty()) {
        std::vector<Waiter> waiters;
        waiters.swap(next_.empty() ? waiting_ : next_);
        for (const Waiter& w : waiters) {
            cx.counters.waits += 1;
            if (w.handle) w.handle.resume();
        }
    }
}

void Waiting::prepare(const Context& cx, const Device& device, int last) {
    const auto later = [&](const Waiter& w) { return w.stage - cx.stages.data() > last; };
    next_.clear();
    std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(next_), std::not_fn(later));
    std::erase_if(waiting_, std::not_fn(later));
    required_ = 0;
    const auto earlier = [](const Waiter& a, const Waiter& b) { return a.depth < b.depth; };
    if (device.goes_on() && !std::is_sorted(next_.begin(), next_.end(), earlier)) std::stable_sort(next_.begin(), next_.end(), earlier);
}

void Waiting::require(Context& cx, Device& device, int64_t depth) {
    for (; required_ < next_.size() && next_[required_].depth <= depth; ++required_)
        device.require(cx.now(next_[required_].tensor), next_[required_].elements);
}

void Waiting::resume(Context& cx, Device& device) {
    require(cx, device, kAllDepths);
    device.proceed();
    resumed_.clear();
    resumed_.swap(next_);  // in turn, so that the memory of both is used again
    for (size_t i = 0; i < resumed_.size(); ++i) {
        const Waiter& w = resumed_[i];
        try {
            cx.awaited = device.values(int64_t(i), cx.now(w.tensor), w.elements);
        } catch (...) {
            waiting_.insert(waiting_.end(), resumed_.begin() + std::ptrdiff_t(i), resumed_.end());  // for `cancel`
            throw;
        }
        cx.counters.waits += 1;
        if (w.kept) std::memcpy(w.kept, cx.awaited, size_t(w.elements) * sizeof(float));
        if (w.handle) w.handle.resume();
    }
}

std::pair<int, int64_t> Waiting::first(const Context& cx) const {
    Stage* stage = waiting_.front().stage;
    for (const Waiter& w : waiting_) stage = std::min(stage, w.stage);
    int64_t depth = 0;
    for (const Waiter& w : waiting_)
        if (w.stage == stage) depth = std::max(depth, w.depth);
    return {int(stage - cx.stages.data()), depth};
}

}  // namespace acrobat
