// Arithmetic of the generated program, with the results that Python gives.
#pragma once

#include <cmath>
#include <cstdint>

#include "errors.h"

namespace acrobat {

// ---- Python's arithmetic on ints; what does not fit into 64 bits is an error, never another number.
inline int64_t add(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_add_overflow(a, b, &r)) [[unlikely]]
        too_large();
    return r;
}
inline int64_t sub(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r)) [[unlikely]]
        too_large();
    return r;
}
inline int64_t mul(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) [[unlikely]]
        too_large();
    return r;
}
inline int64_t neg(int64_t a) { return sub(0, a); }
inline int64_t abs(int64_t a) { return a < 0 ? neg(a) : a; }
inline int64_t shr(int64_t a, int64_t b) {
    if (b < 0) [[unlikely]]
        negative_shift();
    return a >> (b > 63 ? 63 : b);
}
inline int64_t shl(int64_t a, int64_t b) {
    if (b < 0) [[unlikely]]
        negative_shift();
    if (a == 0) return 0;
    const int64_t r = b > 63 ? 0 : int64_t(uint64_t(a) << b);
    if (b > 63 || r >> b != a) [[unlikely]]
        too_large();
    return r;
}
inline int64_t floordiv(int64_t a, int64_t b) {
    if (b == 0) [[unlikely]]
        division_by_zero("division");
    if (b == -1) return neg(a);
    const int64_t q = a / b;
    return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
inline int64_t mod(int64_t a, int64_t b) {
    if (b == 0) [[unlikely]]
        division_by_zero("modulo");
    if (b == -1) return 0;
    const int64_t r = a % b;
    return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);
}

// ---- Python's arithmetic on floats, with Python's results for every pair of operands.
double div(double a, double b);
// The quotient of two ints. It is rounded once, even where the ints themselves are not exact as floats.
double div(int64_t a, int64_t b);
// The remainder has the sign of the divisor, also where it is zero.
double mod(double a, double b);
// As Python computes it: `a` minus the exact remainder is, but for rounding, a multiple of `b`. The floor of a rounded quotient
// could be one too large.
double floordiv(double a, double b);
// `a ** 2` by `pow`, as in Python. A product, which the C++ compiler would make of it, does not always give the same.
double square(double a);
int64_t to_int(double a);

// Python's module `math`. What raises an error there throws an InstanceError: a result that is no number, or infinite, of
// arguments that are numbers.
namespace math {
double exp(double a);
double expm1(double a);
double log(double a);
double log1p(double a);
double log2(double a);
double log10(double a);
double sqrt(double a);
double sin(double a);
double cos(double a);
double tan(double a);
double asin(double a);
double acos(double a);
double atan(double a);
double sinh(double a);
double cosh(double a);
double tanh(double a);
double erf(double a);
double erfc(double a);
double asinh(double a);
double acosh(double a);
double atanh(double a);
double cbrt(double a);
double exp2(double a);
double pow(double a, double b);
double hypot(double a, double b);
double atan2(double a, double b);
double fmod(double a, double b);
double remainder(double a, double b);
}  // namespace math

// The nearest float32: a number that is compared with a tensor is rounded to it.
inline double to_float32(double a) { return double(float(a)); }
inline double to_float32(int64_t a) { return double(float(a)); }

// ---- comparisons of an int with a float, by their exact values: neither is rounded.
int order(int64_t a, double b);  // -1, 0 or 1; `b` is no NaN
inline bool eq(int64_t a, double b) { return !std::isnan(b) && order(a, b) == 0; }
inline bool ne(int64_t a, double b) { return !eq(a, b); }
inline bool lt(int64_t a, double b) { return !std::isnan(b) && order(a, b) < 0; }
inline bool le(int64_t a, double b) { return !std::isnan(b) && order(a, b) <= 0; }
inline bool gt(int64_t a, double b) { return !std::isnan(b) && order(a, b) > 0; }
inline bool ge(int64_t a, double b) { return !std::isnan(b) && order(a, b) >= 0; }
inline bool eq(double a, int64_t b) { return eq(b, a); }
inline bool ne(double a, int64_t b) { return ne(b, a); }
inline bool lt(double a, int64_t b) { return gt(b, a); }
inline bool le(double a, int64_t b) { return ge(b, a); }
inline bool gt(double a, int64_t b) { return lt(b, a); }
inline bool ge(double a, int64_t b) { return le(b, a); }

// The index `i`, which must not count from the end: throws InstanceError if it is negative.
int64_t from_start(int64_t i);

}  // namespace acrobat
