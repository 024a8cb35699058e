#include "waiting.h"

namespace acrobat {

void Waiting::clear() {
    waiting_.clear();
    cancelled_ = false;
}

void Waiting::cancel(Context& cx) {
    cancelled_ = true;
    while (!empty()) resume(cx, int(cx.stages.size()));
}

void Waiting::resume(Context& cx, Device& device, int last) {
    for (One& w : waiting_)
        if (w.stage - cx.stages.data() <= last) device.require(cx.now(w.tensor), w.elements, &w.values);
    device.await();  // if it throws, all coroutines are still in the queue
    resume(cx, last);
}

void Waiting::resume(Context& cx, int last) {
    std::vector<One> now;
    now.swap(waiting_);
    for (const One& w : now) {
        if (w.stage - cx.stages.data() <= last) {
            cx.counters.waits += 1;
            cx.awaited = w.values;
            w.handle.resume();
        } else {
            waiting_.push_back(w);
        }
    }
}

std::pair<int, int64_t> Waiting::first(const Context& cx) const {
    Stage* stage = waiting_.front().stage;
    for (const One& w : waiting_) stage = std::min(stage, w.stage);
    int64_t depth = 0;
    for (const One& w : waiting_)
        if (w.stage == stage) depth = std::max(depth, w.depth);
    return {int(stage - cx.stages.data()), depth};
}

}  // namespace acrobat
