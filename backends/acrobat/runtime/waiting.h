// Instances that wait for a tensor's value: coroutines that are resumed when the work they wait for has run.
#pragma once

#include <algorithm>
#include <coroutine>
#include <utility>
#include <vector>

#include "context.h"
#include "coroutine.h"
#include "device.h"

namespace acrobat {

// The queue of waiting coroutines. Each is suspended until the tensor that it reads is computed.
class Waiting {
   public:
    struct Wait {
        Waiting& queue;
        Context& cx;
        int64_t depth;  // the first depth at which the tensor can be used
        Tensor tensor;
        int64_t elements;
        Stage* stage = nullptr;
        int64_t instance = 0;
        int64_t level = 0;

        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> self) {
            stage = cx.stage;
            depth = std::max(depth, stage->start());  // all static work included: static depths are not counted
            instance = cx.instance;
            level = Frames::current->level;
            queue.push(*this, self);
        }
        void await_resume() {
            cx.stage = stage;
            cx.instance = instance;
            Frames::current->level = level;
            if (queue.cancelled_) throw Cancelled{};
        }
    };

    // Is thrown into a waiting coroutine to end it when the mini-batch has failed elsewhere.
    struct Cancelled {};

    // To be awaited until a tensor of `elements` 4-byte elements is computed. `Context::computed` then has its values.
    Wait wait(Context& cx, int64_t depth, Tensor tensor, int64_t elements) { return {*this, cx, depth, tensor, elements}; }
    bool empty() const { return waiting_.empty(); }
    void clear();

    // Ends all waiting coroutines by an exception, innermost calls first. (Destroying the outermost call instead would need
    // stack for all levels, and a forked child has no owner that could destroy it.)
    void cancel(Context& cx);

    // Waits until the device has computed the tensors that are waited for in phases up to and including `last`, and resumes the
    // coroutines that wait for them. Coroutines that then wait again stay in the queue.
    void resume(Context& cx, Device& device, int last);
    // The earliest phase in which a coroutine waits, and the depth below which all work lies that is waited for in this phase.
    std::pair<int, int64_t> first(const Context& cx) const;

   private:
    struct One {
        std::coroutine_handle<> handle;
        Stage* stage;
        int64_t depth;
        Tensor tensor;
        int64_t elements;
        const float* values;  // of the tensor; set before the coroutine is resumed
    };

    void push(const Wait& w, std::coroutine_handle<> handle) {
        waiting_.push_back({handle, w.stage, w.depth, w.tensor, w.elements, nullptr});
    }
    void resume(Context& cx, int last);

    std::vector<One> waiting_;
    bool cancelled_ = false;
};

}  // namespace acrobat
