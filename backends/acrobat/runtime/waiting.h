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

// The instances' waits. A coroutine suspends here until the tensor it reads is computed.
class Waiting {
   public:
    struct Wait {
        Waiting& queue;
        Context& cx;
        int64_t depth;  // the first at which what it waits for is there
        Tensor tensor;
        int64_t elements;
        Stage* stage = nullptr;
        int64_t instance = 0;
        int64_t level = 0;

        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> self) {
            stage = cx.stage;
            depth = std::max(depth, stage->start());  // of a static depth nothing is known here
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

    // Ends a coroutine whose mini-batch has failed elsewhere.
    struct Cancelled {};

    // Afterwards `Context::computed` has the values of this tensor, so many 4-byte elements.
    Wait wait(Context& cx, int64_t depth, Tensor tensor, int64_t elements) { return {*this, cx, depth, tensor, elements}; }
    bool empty() const { return waiting_.empty(); }
    void clear();

    // All that wait end by an exception, innermost first. (Destroying the outermost instead would take the stack of all levels,
    // and a forked child has no owner to destroy it.)
    void cancel(Context& cx);

    // Resumes all that wait in a phase up to and including `last`, whose tensors the device has been told to compute, when they are
    // there; those that wait again meanwhile stay for the next round.
    void resume(Context& cx, Device& device, int last);
    // The earliest phase that anything waits in, and below which depth all lies there that is waited for.
    std::pair<int, int64_t> first(const Context& cx) const;

   private:
    struct One {
        std::coroutine_handle<> handle;
        Stage* stage;
        int64_t depth;
        Tensor tensor;
        int64_t elements;
        const float* values;  // when it is resumed
    };

    void push(const Wait& w, std::coroutine_handle<> handle) {
        waiting_.push_back({handle, w.stage, w.depth, w.tensor, w.elements, nullptr});
    }
    void resume(Context& cx, int last);

    std::vector<One> waiting_;
    bool cancelled_ = false;
};

}  // namespace acrobat
