// Errors of a run. Each carries what the user can act on; the C boundary turns them into Python exceptions.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace acrobat {

// The instance does not fit the model's types, or the model failed on it (an index out of range, an empty sum).
struct InstanceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Memory or recursion ran out; the executable stays usable.
struct ResourceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void full(const std::string& what, size_t used, size_t more, size_t limit) {
    throw ResourceError(what + " is full: " + std::to_string(used >> 20) + " MiB are in use, " + std::to_string(more >> 20) +
                        " MiB more were needed and its limit is " + std::to_string(limit >> 20) +
                        " MiB; use a smaller mini-batch or raise memory_limit, unless a loop or recursion does not end");
}

// A depth rule was violated (checked mode only): a defect of the compiler, never of the model.
struct ScheduleError : std::logic_error {
    using std::logic_error::logic_error;
};

// A Python exception is already set; the boundary only has to return.
struct PythonError {};

}  // namespace acrobat
