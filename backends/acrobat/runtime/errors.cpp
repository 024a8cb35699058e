#include "errors.h"

#include <cstdio>

namespace acrobat {

void full(const std::string& what, size_t used, size_t more, size_t limit) {
    throw ResourceError(what + " is full: " + std::to_string(used >> 20) + " MiB are in use, " + std::to_string(more >> 20) +
                        " MiB more were needed and its limit is " + std::to_string(limit >> 20) +
                        " MiB; use a smaller mini-batch or raise memory_limit, unless a loop or recursion does not end");
}

void too_large() { throw InstanceError("the result of integer arithmetic does not fit into 64 bits"); }

void list_index_out_of_range(int64_t index, int64_t size) {
    throw InstanceError("list index " + std::to_string(index) + " is out of range: the list has " + std::to_string(size) + " elements");
}

void division_by_zero(const char* what) { throw InstanceError(std::string("integer ") + what + " by zero"); }

void negative_shift() { throw InstanceError("negative shift count"); }

std::string shown(bool value) { return value ? " b1" : " b0"; }
std::string shown(int64_t value) { return " i" + std::to_string(value); }
std::string shown(double value) {
    char text[64];
    std::snprintf(text, sizeof text, " f%a", value);
    return text;
}
void raised(const std::string& values) { throw InstanceError("raised" + values); }

void uneven_rows(int64_t size, int64_t other) {
    throw InstanceError("parts of " + std::to_string(size) + " and of " + std::to_string(other) + " elements do not make one tensor");
}

void empty_list(const char* what) { throw InstanceError(std::string("the ") + what + " of an empty list has no value"); }

}  // namespace acrobat
