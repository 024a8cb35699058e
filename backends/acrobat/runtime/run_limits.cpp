#include "run_limits.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "errors.h"

namespace acrobat {

void RunLimits::measure_stack() {
    // Once for each thread only, because finding the main thread's stack means reading the process's memory map.
    thread_local const char* const limit = [] {
        pthread_attr_t attributes;
        void* lowest = nullptr;
        size_t size = 0;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &lowest, &size);
        pthread_attr_destroy(&attributes);
        return static_cast<const char*>(lowest) + std::min<size_t>(size / 4, size_t{1} << 18);
    }();
    stack_limit_ = limit;
}

void RunLimits::too_deep(const char* what, int64_t calls) const {
    if (calls >= kMostCalls)
        throw ResourceError(std::string(what) + " is nested too deeply, in " + std::to_string(kMostCalls) +
                            " calls: the recursion may not end");
    throw ResourceError(std::string(what) + " is nested too deeply for this thread's stack: the recursion may not end, or "
                                            "the instance may contain itself");
}

}  // namespace acrobat
