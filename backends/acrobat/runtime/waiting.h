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
    // What an instance is in the middle of when it begins to wait.
    struct Suspended {
        Waiting& queue;
        Context& cx;
        Stage* stage = nullptr;
        int64_t instance = 0;
        int64_t level = 0;

        bool await_ready() const noexcept { return false; }
        void leave() {
            stage = cx.stage;
            instance = cx.instance;
            level = Frames::current->level;
        }
        void enter() {
            cx.stage = stage;
            cx.instance = instance;
            Frames::current->level = level;
            if (queue.cancelled_) throw Cancelled{};
        }
    };
    struct Wait : Suspended {
        int64_t depth;  // the first depth at which the tensor can be used
        Tensor tensor;
        int64_t elements;

        void await_suspend(std::coroutine_handle<> self) {
            leave();
            queue.push({self, stage, depth, tensor, elements, nullptr});
        }
        void await_resume() { enter(); }
    };

    // A tensor of one number, 4 or 8 bytes, as one of several that are waited for together; `values` is where they are kept.
    struct Number {
        Tensor tensor;
        int64_t elements;
        float values[2] = {};
    };
    struct WaitForAll : Suspended {
        int64_t depth;  // the first depth at which all of the tensors can be used
        Number* numbers;
        size_t count;

        void await_suspend(std::coroutine_handle<> self) {
            leave();
            for (Number* n = numbers; n != numbers + count; ++n)  // the last of them resumes the coroutine
                queue.push({n + 1 == numbers + count ? self : nullptr, stage, depth, n->tensor, n->elements, n->values});
        }
        void await_resume() { enter(); }
    };

    // Is thrown into a waiting coroutine to end it when the mini-batch has failed elsewhere.
    struct Cancelled {};

    // To be awaited until a tensor of `elements` 4-byte elements is computed. `Context::computed` then has its values.
    Wait wait(Context& cx, int64_t depth, Tensor tensor, int64_t elements) { return {{*this, cx}, depth, tensor, elements}; }
    // To be awaited until all of these numbers are computed; their values are then in `numbers`, for `Context::awaited`. It is what
    // a fork of coroutines that each wait for one of them comes to, without the coroutines.
    template <size_t N>
    WaitForAll wait_for_all(Context& cx, int64_t depth, Number (&numbers)[N]) {
        return {{*this, cx}, depth, numbers, N};
    }
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
    // A coroutine that waits in the phase `stage` until a tensor is computed, which can be used from depth `depth` on. Of several
    // tensors that a coroutine waits for together, which follow each other in the queue, only the last has the handle.
    struct Waiter {
        std::coroutine_handle<> handle;
        Stage* stage;
        int64_t depth;
        Tensor tensor;
        int64_t elements;
        float* kept;  // where the values are copied to; null: nowhere
    };

    void push(Waiter w) {
        w.depth = std::max(w.depth, w.stage->start());  // all static work included: static depths are not counted
        waiting_.push_back(w);
    }

    std::vector<Waiter> waiting_;
    std::vector<Waiter> next_;   // those that are resumed next, in this order
    std::vector<Waiter> resumed_;  // those that are being resumed
    size_t required_ = 0;     // how many of these have been required
    bool cancelled_ = false;
};

}  // namespace acrobat
