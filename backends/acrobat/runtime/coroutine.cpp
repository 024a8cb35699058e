#include "coroutine.h"

#include <string>

#include "errors.h"

namespace acrobat {

void Frames::reset() {
    free_.assign(free_.size(), nullptr);
    level = 0;
}

void Frames::too_deep() {
    throw ResourceError("calls that wait are nested more than " + std::to_string(kDeepest) + " deep: the recursion may not end");
}

std::coroutine_handle<> Join::end_child(std::exception_ptr error) noexcept {
    if (error && !error_) error_ = error;
    return --pending_ == 0 && parent_ ? parent_ : std::noop_coroutine();
}

}  // namespace acrobat
