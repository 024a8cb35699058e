// Coroutines, for instances that wait (paper: fibers). Only functions that may wait are coroutines. A task starts when it is
// awaited. Independent calls are children, which are all started before any is joined, so that they reach their waits together.
//
// The frames of coroutines come from a pool over the structure arena, so that a chain of 5,000 waiting calls needs no stack.
// Resuming the innermost call is one indirect jump.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "arena.h"

namespace acrobat {

class Frames {
   public:
    explicit Frames(Arena& arena) : arena_(arena) {}

    // Memory for a frame. Throws ResourceError if it runs out or calls are nested too deeply.
    void* take(size_t bytes) {
        const size_t size = (bytes + 63) / 64;
        if (level > kDeepest) [[unlikely]]
            too_deep();
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
        if (size >= free_.size()) [[unlikely]]
            free_.resize(size + 1, nullptr);
        *static_cast<void**>(frame) = free_[size];
        free_[size] = frame;
        forbid(static_cast<void**>(frame) + 1, size * 64 - sizeof(void*));
    }
    // Is called when the arena was reset: forgets the free frames, which lay in it.
    void reset();

    static inline thread_local Frames* current = nullptr;

    int64_t level = 0;  // how many calls lie between the running coroutine and its instance's first

   private:
    // More than any instance needs, but few enough that an endless recursion is found and unwound quickly.
    static constexpr int64_t kDeepest = 1 << 18;

    [[noreturn]] static void too_deep();

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

    // Code that is no coroutine starts a task by its handle, and later takes the result of the task at the handle's address.
    std::coroutine_handle<> release() { return std::exchange(handle_, nullptr); }
    static Task from_address(void* frame) { return Task(std::coroutine_handle<promise_type>::from_address(frame)); }
    T result() {
        if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
        return std::move(handle_.promise().value);
    }

   private:
    std::coroutine_handle<promise_type> handle_;
};

// The children of a fork. The parent starts them and then awaits the join; the last child to end resumes the parent.
class Join {
   public:
    explicit Join(int64_t children) : pending_(children), level_(Frames::current->level) {}

    // Starts a child. If that fails, the parent gets the error when it resumes, for it must wait for children started before.
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

    // Is called when a child has ended. Returns the coroutine that runs next: after the last child the parent, else a no-op.
    std::coroutine_handle<> end_child(std::exception_ptr error) noexcept;

   private:
    int64_t pending_;
    int64_t level_;
    std::coroutine_handle<> parent_ = nullptr;
    std::exception_ptr error_;
};

// A forked child: runs at once until it waits or ends, and frees itself. Its first argument, after a closure, is the Join.
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

}  // namespace acrobat
