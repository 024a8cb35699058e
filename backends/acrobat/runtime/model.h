// All that the code of a compiled model includes.
#pragma once

#include <new>

#include "exported.h"
#include "numbers.h"
#include "python/building.h"
#include "python/varying.h"
#include "session.h"

namespace acrobat {

// The functions of `Model` for a generated program `P`, which has the types Instance and Result and the static functions
// read(s, o), forward(s, instance), collect(s, out, result) and build(s, out, result).
template <class P>
struct Functions {
    using Instance = typename P::Instance;
    using Result = typename P::Result;

    static void read(Session& s, PyObject* o, void* instance) { new (instance) Instance(P::read(s, o)); }
    static void forward(Session& s, const void* instance, void* result) {
        if constexpr (!P::waits) new (result) Result(P::forward(s, *static_cast<const Instance*>(instance)));
    }
    static std::coroutine_handle<> start(Session& s, const void* instance) {
        if constexpr (P::waits) return P::forward(s, *static_cast<const Instance*>(instance)).release();
        return {};
    }
    static void finish(void* frame, void* result) {
        if constexpr (P::waits) {
            Task<Result> task = Task<Result>::from_address(frame);
            new (result) Result(task.result());
        }
    }
    static void collect(Session& s, std::vector<Outgoing>& out, const void* result) {
        P::collect(s, out, *static_cast<const Result*>(result));
    }
    static PyObject* build(Session& s, std::vector<Outgoing>& out, const void* result) {
        return P::build(s, out, *static_cast<const Result*>(result));
    }
};

}  // namespace acrobat
