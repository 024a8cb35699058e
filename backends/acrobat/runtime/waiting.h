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

    // Before the work that coroutines wait for runs: those that wait in phases up to and including `last` will be resumed. On a
    // device on which the host goes on, those that wait for less work come first: their tensors are computed first.
    void prepare(const Context& cx, const Device& device, int last);
    // While that work is passed to the device: requires the tensors that can be used at this depth.
    void require(Context& cx, Device& device, int64_t depth);
    // Afterwards: resumes each of these coroutines when its tensor is computed. Coroutines that then wait again stay in the queue.
    void resume(Context& cx, Device& device);
    // The earliest phase in which a coroutine waits, and the depth below which all work lies that is waited for in this phase.
    std::pair<int, int64_t> first(const Context& cx) const;

   private:
    // A coroutine that waits in the phase `stage` until a tensor is computed, which can be used from depth `depth` on.
    struct Waiter {
        std::coroutine_handle<> handle;
        Stage* stage;
        int64_t depth;
        Tensor tensor;
        int64_t elements;
    };

    void push(const Wait& w, std::coroutine_handle<> handle) {
        waiting_.push_back({handle, w.stage, w.depth, w.tensor, w.elements});
    }

    std::vector<Waiter> waiting_;
    std::vector<Waiter> next_;   // those that are resumed next, in this order
    size_t required_ = 0;     // how many of these have been required
    bool cancelled_ = false;
};

}  // namespace acrobat
