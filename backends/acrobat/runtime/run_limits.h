// Ends programs that would not end by themselves: interruptions by the user, and limits of recursion.
#pragma once

#include <cstdint>

namespace acrobat {

class RunLimits {
   public:
    // Is called from time to time during a run; throws if the user has interrupted it.
    void (*poll)() = [] {};
    // Has to be called by code that may go on for ever without recording work. Every 256th call polls.
    void tick() const {
        if ((++ticks_ & 0xff) == 0) [[unlikely]]
            poll();
    }

    // Finds the end of this thread's stack.
    void measure_stack();
    // Throws ResourceError, which names `what`, if the stack is nearly full or `calls`, the number of nested calls so far, is
    // too large. (Recursion of which the C++ compiler makes a loop needs no stack.)
    void guard(const char* what, int64_t calls = 0) const {
        tick();
        char here;
        if (&here < stack_limit_ || calls >= kMostCalls) [[unlikely]]
            too_deep(what, calls);
    }

   private:
    static constexpr int64_t kMostCalls = 1 << 24;

    [[noreturn]] void too_deep(const char* what, int64_t calls) const;

    const char* stack_limit_ = nullptr;
    mutable uint32_t ticks_ = 0;
};

}  // namespace acrobat
