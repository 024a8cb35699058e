// What ends a program that would not end by itself: the user's interruption, and the limits of recursion.
#pragma once

#include <cstdint>

namespace acrobat {

class RunLimits {
   public:
    // Called now and then; throws if the user wants the run to end.
    void (*poll)() = [] {};
    // In whatever may go on for ever without recording work.
    void tick() const {
        if ((++ticks_ & 0xff) == 0) [[unlikely]]
            poll();
    }

    // Finds the end of this thread's stack.
    void measure_stack();
    // `calls`: how many are below, each from within the one before. They need no stack where the compiler makes loops of them.
    // Throws ResourceError.
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
