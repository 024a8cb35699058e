// Wall-clock time within the runtime.
#pragma once

#include <chrono>

namespace acrobat {

using Clock = std::chrono::steady_clock;

inline double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace acrobat
