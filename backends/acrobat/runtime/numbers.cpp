#include "numbers.h"

#include <algorithm>
#include <bit>
#include <string>

namespace acrobat {

double div(double a, double b) {
    if (b == 0) throw InstanceError("division by zero");
    return a / b;
}

double div(int64_t a, int64_t b) {
    if (b == 0) throw InstanceError("division by zero");
    constexpr int64_t exact = int64_t{1} << 53;
    if (-exact <= a && a <= exact && -exact <= b && b <= exact) return double(a) / double(b);
    const uint64_t n = a < 0 ? -uint64_t(a) : uint64_t(a), d = b < 0 ? -uint64_t(b) : uint64_t(b);
    if (n == 0) return (a < 0) != (b < 0) ? -0.0 : 0.0;
    // An integer quotient of 55 bits or more. Its last bit notes a lost remainder, so that rounding to a double is right.
    const int shift = std::max(0, 55 + std::countl_zero(n) - std::countl_zero(d));
    const unsigned __int128 shifted = static_cast<unsigned __int128>(n) << shift;
    const uint64_t quotient = uint64_t(shifted / d) | uint64_t(shifted % d != 0);
    const double magnitude = std::ldexp(double(quotient), -shift);
    return (a < 0) != (b < 0) ? -magnitude : magnitude;
}

double mod(double a, double b) {
    if (b == 0) throw InstanceError("float modulo by zero");
    const double r = std::fmod(a, b);
    if (r == 0) return std::copysign(0.0, b);
    return (r < 0) != (b < 0) ? r + b : r;  // a NaN stays one either way
}

double floordiv(double a, double b) {
    if (b == 0) throw InstanceError("float floor division by zero");
    const double r = std::fmod(a, b);
    double quotient = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double floored = std::floor(quotient);
    return quotient - floored > 0.5 ? floored + 1 : floored;
}

double square(double a) {
    volatile double two = 2;
    const double r = std::pow(a, two);
    if (std::isinf(r) && !std::isinf(a)) throw InstanceError("the result of ** is too large for a float");
    return r;
}

namespace math {
namespace {
template <typename... Arguments>
double checked(const char* name, double result, Arguments... a) {
    if ((std::isnan(result) && (!std::isnan(a) && ...)) || (std::isinf(result) && (std::isfinite(a) && ...))) [[unlikely]]
        throw InstanceError(std::string("math.") + name + " has no result for its argument, or one too large for a float");
    return result;
}
}  // namespace

double exp(double a) { return checked("exp", std::exp(a), a); }
double expm1(double a) { return checked("expm1", std::expm1(a), a); }
double log(double a) { return checked("log", std::log(a), a); }
double log1p(double a) { return checked("log1p", std::log1p(a), a); }
double log2(double a) { return checked("log2", std::log2(a), a); }
double log10(double a) { return checked("log10", std::log10(a), a); }
double sqrt(double a) { return checked("sqrt", std::sqrt(a), a); }
double sin(double a) { return checked("sin", std::sin(a), a); }
double cos(double a) { return checked("cos", std::cos(a), a); }
double tan(double a) { return checked("tan", std::tan(a), a); }
double asin(double a) { return checked("asin", std::asin(a), a); }
double acos(double a) { return checked("acos", std::acos(a), a); }
double atan(double a) { return checked("atan", std::atan(a), a); }
double sinh(double a) { return checked("sinh", std::sinh(a), a); }
double cosh(double a) { return checked("cosh", std::cosh(a), a); }
double tanh(double a) { return checked("tanh", std::tanh(a), a); }
double erf(double a) { return checked("erf", std::erf(a), a); }
double erfc(double a) { return checked("erfc", std::erfc(a), a); }
double asinh(double a) { return checked("asinh", std::asinh(a), a); }
double acosh(double a) { return checked("acosh", std::acosh(a), a); }
double atanh(double a) { return checked("atanh", std::atanh(a), a); }
double cbrt(double a) { return checked("cbrt", std::cbrt(a), a); }
double exp2(double a) { return checked("exp2", std::exp2(a), a); }
double pow(double a, double b) { return checked("pow", std::pow(a, b), a, b); }
double atan2(double a, double b) { return std::atan2(a, b); }
double fmod(double a, double b) { return checked("fmod", std::fmod(a, b), a, b); }
double remainder(double a, double b) { return checked("remainder", std::remainder(a, b), a, b); }

// Rounded right but for very rare cases, as Python's: the root of the sum, corrected by what its square lacks. The C library's
// `hypot` differs from it in the last bit. Squares are volatile, so that no fused operation takes their place.
double hypot(double a, double b) {
    a = std::abs(a);
    b = std::abs(b);
    if (std::isinf(a) || std::isinf(b)) return INFINITY;
    if (std::isnan(a) || std::isnan(b)) return NAN;
    if (a < b) std::swap(a, b);
    if (b == 0) return a;
    int exponent;
    a = std::frexp(a, &exponent);
    b = std::ldexp(b, -exponent);
    volatile double a2 = a * a, b2 = b * b;
    const double root = std::sqrt(a2 + b2);
    volatile double root2 = root * root;
    const double rest = ((a2 - root2) + b2) + (std::fma(a, a, -a2) + std::fma(b, b, -b2) - std::fma(root, root, -root2));
    return std::ldexp(root + rest / (2 * root), exponent);
}
}  // namespace math

int64_t to_int(double a) {
    if (!(a >= -0x1p63 && a < 0x1p63)) throw InstanceError("int() of " + std::to_string(a));
    return int64_t(a);
}

int order(int64_t a, double b) {  // -1, 0 or 1; `b` is no NaN
    if (b >= 0x1p63) return -1;
    if (b < -0x1p63) return 1;
    const int64_t integer = int64_t(b);
    if (a != integer) return a < integer ? -1 : 1;
    const double fraction = b - double(integer);
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0;
}

int64_t from_start(int64_t i) {
    if (i < 0)
        throw InstanceError("index " + std::to_string(i) + " is out of range: the index of an embedding does not count from the end");
    return i;
}

}  // namespace acrobat
