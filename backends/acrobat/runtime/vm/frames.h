// Call frames and fibers of the interpreter.
//
// Frames come from the pool of coroutine frames, so recursion needs no stack. A fiber is an instance or a forked branch of one.
#pragma once

#include "../session.h"
#include "code.h"

namespace acrobat::vm {

struct Frame {
    Frame* caller;
    const Instruction* at;  // the next instruction
    int32_t to;             // the caller's register for the result
    int32_t calls;          // how many frames are below
    size_t bytes;

    Register* registers() { return reinterpret_cast<Register*>(this + 1); }
};

inline constexpr int32_t kMostCalls = 1 << 17;  // one inside of the other

// A frame for a call of `function` from the frame `below`, or from none. Throws ResourceError if calls are nested too deeply.
// It is part of each call, so it is inline.
inline Frame* enter(Session& s, int32_t function, Frame* below) {
    const Code& code = *s.model.code;
    const Function& f = code.functions[function];
    const int32_t calls = below ? below->calls + 1 : 0;
    if (calls == kMostCalls) [[unlikely]]
        throw ResourceError(std::string(f.name) + " is nested too deeply, in " + std::to_string(kMostCalls) +
                            " calls: the recursion may not end, or the instance may contain itself");
    const size_t bytes = sizeof(Frame) + size_t(f.registers) * sizeof(Register);
    Frame* frame = static_cast<Frame*>(s.frames.take(bytes));
    *frame = {nullptr, code.instructions + f.first, 0, calls, bytes};
    return frame;
}

enum class Pause { ended, waits, forks, maps };

// The state of a fiber that has paused: it goes on in the frame `top`, or it has ended with `result`.
struct Fiber {
    Frame* top;
    Register result{};
};

// Runs a fiber until it ends or pauses, and says which.
Pause run(Session& s, Fiber& fiber);

}  // namespace acrobat::vm
