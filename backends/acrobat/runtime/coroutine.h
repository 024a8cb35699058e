// Waiting instances (paper: fibers). Only functions that may wait are coroutines. A task starts when it is awaited; children that
// do not depend on each other are started one after the other and joined, so all of them reach their waits together.
//
// Frames come from a pool over the structure arena: a chain of 5,000 waiting calls needs no stack, and resuming the innermost
// is one indirect jump.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "context.h"

namespace acrobat {

class Frames {
   public:
    explicit Frames(Arena& arena) : arena_(arena) {}

    void* take(size_t bytes) {
        const size_t size = (bytes + 63) / 64;
        if (level > kDeepest) [[unlikely]]
            throw ResourceError("calls that wait are nested more than " + std::to_string(kDeepest) +
                                " deep: the recursion may not end");
        if (size < free_.size() && free_[size]) {
            void* frame = free_[size];
            free_[size] = *static_cast<void**>(frame);
            allow(frame, size * 64);
            return frame;
        }
        return arena_.take(size * 64);
    }
    void give(void* frame, size_t bytes) {
        const size_t size = (bytes + 63) / 64;
        if (size >= free_.size()) free_.resize(size + 1, nullptr);
        *static_cast<void**>(frame) = free_[size];
        free_[size] = frame;
        forbid(static_cast<void**>(frame) + 1, size * 64 - sizeof(void*));
    }
    // The arena was reset: forget what lay in it.
    void reset() {
        free_.assign(free_.size(), nullptr);
        level = 0;
    }

    static inline thread_local Frames* current = nullptr;

    int64_t level = 0;  // how many calls lie between the running coroutine and its instance's first

   private:
    // Far beyond what any instance needs, and little enough to be found and unwound at once.
    static constexpr int64_t kDeepest = 1 << 18;

    Arena& arena_;
    std::vector<void*> free_;
};

struct FramePromise {
    static void* operator new(size_t bytes) { return Frames::current->take(bytes); }
    static void operator delete(void* frame, size_t bytes) { Frames::current->give(frame, bytes); }
};

template <class T>
class [[nodiscard]] Task {
   public:
    struct promise_type : FramePromise {
        T value{};
        std::exception_ptr error;
        std::coroutine_handle<> caller = std::noop_coroutine();

        Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        struct Return {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept { return self.promise().caller; }
            void await_resume() noexcept {}
        };
        Return final_suspend() noexcept { return {}; }
        void return_value(T v) { value = std::move(v); }
        void unhandled_exception() { error = std::current_exception(); }
    };

    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_) handle_.destroy();
    }

    // Awaiting a task runs it in place of the caller.
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
        handle_.promise().caller = caller;
        Frames::current->level += 1;
        return handle_;
    }
    T await_resume() {
        Frames::current->level -= 1;
        return result();
    }

    void start() { handle_.resume(); }
    bool done() const { return handle_.done(); }
    T result() {
        if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
        return std::move(handle_.promise().value);
    }

   private:
    std::coroutine_handle<promise_type> handle_;
};

// A parent awaits the join after starting its children; the last child to end resumes it.
class Join {
   public:
    explicit Join(int64_t children) : pending_(children), level_(Frames::current->level) {}

    // Starts a child. Where there is no memory for its frame, the children before it must still end before the parent does.
    template <class Start>
    void fork(Start&& start) noexcept {
        try {
            if (error_)  // the parent will fail in any case
                end_child(nullptr);
            else
                start();
        } catch (...) {
            end_child(std::current_exception());
        }
        Frames::current->level = level_;
    }

    bool await_ready() const noexcept { return pending_ == 0; }
    void await_suspend(std::coroutine_handle<> parent) noexcept { parent_ = parent; }
    void await_resume() {
        Frames::current->level = level_;
        if (error_) std::rethrow_exception(error_);
    }

    std::coroutine_handle<> end_child(std::exception_ptr error) noexcept {
        if (error && !error_) error_ = error;
        return --pending_ == 0 && parent_ ? parent_ : std::noop_coroutine();
    }

   private:
    int64_t pending_;
    int64_t level_;
    std::coroutine_handle<> parent_ = nullptr;
    std::exception_ptr error_;
};

// A forked child: runs at once until it waits or ends, and frees itself. Its first or second argument is the Join.
struct Child {
    struct promise_type : FramePromise {
        Join* join;
        std::exception_ptr error;

        template <class... Rest>
        promise_type(Join& j, Rest&&...) : join(&j) {}
        template <class Closure, class... Rest>
        promise_type(Closure&&, Join& j, Rest&&...) : join(&j) {}

        Child get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        struct End {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
                Join* join = self.promise().join;
                std::exception_ptr error = self.promise().error;
                self.destroy();
                return join->end_child(error);
            }
            void await_resume() noexcept {}
        };
        End final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { error = std::current_exception(); }
    };
};

// The instances' waits. A coroutine suspends here until the tensor it reads is computed.
class Waiting {
   public:
    struct Wait {
        Waiting& queue;
        Context& cx;
        int64_t depth;  // the first at which what it waits for is there
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

    Wait wait(Context& cx, int64_t depth) { return {*this, cx, depth}; }
    bool empty() const { return waiting_.empty(); }
    void clear() {
        waiting_.clear();
        cancelled_ = false;
    }

    // All that wait end by an exception, innermost first. (Destroying the outermost instead would take the stack of all levels,
    // and a forked child has no owner to destroy it.)
    void cancel(Context& cx) {
        cancelled_ = true;
        while (!empty()) resume(cx, int(cx.stages.size()));
    }

    // Resumes all that wait in a phase up to and including `last`; those that wait again meanwhile stay for the next round.
    void resume(Context& cx, int last) {
        std::vector<One> now;
        now.swap(waiting_);
        for (const One& w : now) {
            if (w.stage - cx.stages.data() <= last) {
                cx.counters.waits += 1;
                w.handle.resume();
            } else {
                waiting_.push_back(w);
            }
        }
    }
    // The earliest phase that anything waits in, and below which depth all lies there that is waited for.
    std::pair<int, int64_t> first(const Context& cx) const {
        Stage* stage = waiting_.front().stage;
        for (const One& w : waiting_) stage = std::min(stage, w.stage);
        int64_t depth = 0;
        for (const One& w : waiting_)
            if (w.stage == stage) depth = std::max(depth, w.depth);
        return {int(stage - cx.stages.data()), depth};
    }

   private:
    struct One {
        std::coroutine_handle<> handle;
        Stage* stage;
        int64_t depth;
    };

    void push(const Wait& w, std::coroutine_handle<> handle) { waiting_.push_back({handle, w.stage, w.depth}); }

    std::vector<One> waiting_;
    bool cancelled_ = false;
};

}  // namespace acrobat
