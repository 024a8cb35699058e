// Errors of a run. Each carries what the user can act on; the C boundary turns them into Python exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The device failed, or there is none that can be used.
struct DeviceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A depth rule was violated (checked mode only): a defect of the compiler, never of the model.
struct ScheduleError : std::logic_error {
    using std::logic_error::logic_error;
};

// A Python exception is already set; the boundary only has to return.
struct PythonError {};

// Functions that throw, for inline code: so the code that makes messages is not in each place where it is inlined.
[[noreturn]] void full(const std::string& what, size_t used, size_t more, size_t limit);
[[noreturn]] void too_large();
[[noreturn]] void list_index_out_of_range(int64_t index, int64_t size);
[[noreturn]] void negative_shift();
[[noreturn]] void division_by_zero(const char* what);
[[noreturn]] void empty_list(const char* what);
[[noreturn]] void uneven_rows(int64_t size, int64_t other);

// A value that the message of an error shows, in the encoding that `core/messages.py` decodes.
std::string shown(bool value);
std::string shown(int64_t value);
std::string shown(double value);
[[noreturn]] void raised(const std::string& values);

// Throws an error that the model's source raises. The first value is the number of its text, the others are shown in the text.
// The return type is that of the expression in generated code; the function never returns.
template <class... T>
int64_t fail(T... values) {
    raised((shown(values) + ...));
}

}  // namespace acrobat
