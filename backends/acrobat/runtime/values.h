// Values of the generated program: tensors by address, lists, and the depth that goes with them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>

#include "arena.h"
#include "errors.h"

namespace acrobat {

// Address of a tensor: offset in 4-byte elements from the one base pointer. It is known when the operation is recorded,
// before the values are.
using Tensor = int64_t;

// A list is a view of shared storage. `append` to a view that ends where the storage is filled writes in place, any other
// copies: lists behave as values, and a loop of appends costs O(1) each.
template <class T>
struct List {
    struct Storage {
        int64_t filled;
        int64_t capacity;
    };
    T* data = nullptr;
    int64_t size = 0;
    Storage* storage = nullptr;

    T& operator[](int64_t i) { return data[i]; }
    const T& operator[](int64_t i) const { return data[i]; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
};

template <class T>
List<T> make_list(Arena& arena, int64_t size, int64_t capacity = 0) {
    capacity = capacity > size ? capacity : size;
    List<T> list;
    list.storage = arena.make<typename List<T>::Storage>(1);
    *list.storage = {size, capacity};
    list.data = arena.make<T>(size_t(capacity));
    list.size = size;
    return list;
}

template <class T>
List<T> append(Arena& arena, const List<T>& list, const T& item) {
    if (list.storage && list.storage->filled == list.size && list.size < list.storage->capacity) {
        List<T> longer = list;
        longer.data[longer.size++] = item;
        longer.storage->filled = longer.size;
        return longer;
    }
    List<T> longer = make_list<T>(arena, list.size, list.size < 4 ? 8 : 2 * list.size);
    if (list.size) std::memcpy(static_cast<void*>(longer.data), list.data, size_t(list.size) * sizeof(T));
    longer.data[longer.size++] = item;
    longer.storage->filled = longer.size;
    return longer;
}

template <class T>
const T& get(const List<T>& list, int64_t index) {
    const int64_t at = index < 0 ? index + list.size : index;
    if (at < 0 || at >= list.size)
        throw InstanceError("list index " + std::to_string(index) + " is out of range: the list has " + std::to_string(list.size) +
                            " elements");
    return list.data[at];
}

// xs[start:stop:step] with Python's rules for negative and overlong bounds (step 1).
template <class T>
List<T> slice(const List<T>& list, int64_t start, int64_t stop) {
    const auto clamp = [&](int64_t i) {
        i = i < 0 ? i + list.size : i;
        return i < 0 ? 0 : i > list.size ? list.size : i;
    };
    List<T> part;
    start = clamp(start);
    stop = clamp(stop);
    part.data = list.data + start;
    part.size = stop > start ? stop - start : 0;
    return part;
}

template <class T>
List<T> reverse(Arena& arena, const List<T>& list) {
    List<T> out = make_list<T>(arena, list.size);
    for (int64_t i = 0; i < list.size; ++i) out.data[i] = list.data[list.size - 1 - i];
    return out;
}

template <class T>
List<T> concat(Arena& arena, const List<T>& a, const List<T>& b) {
    List<T> out = make_list<T>(arena, a.size + b.size);
    for (int64_t i = 0; i < a.size; ++i) out.data[i] = a.data[i];
    for (int64_t i = 0; i < b.size; ++i) out.data[a.size + i] = b.data[i];
    return out;
}

inline List<int64_t> range(Arena& arena, int64_t start, int64_t stop, int64_t step) {
    if (step == 0) throw InstanceError("range() with step 0");
    // In unsigned numbers, where the distance between any two ints fits.
    const uint64_t distance = step > 0 ? uint64_t(stop) - uint64_t(start) : uint64_t(start) - uint64_t(stop);
    const uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
    const int64_t count = (step > 0 ? stop > start : start > stop) ? int64_t((distance - 1) / stride + 1) : 0;
    List<int64_t> out = make_list<int64_t>(arena, count);
    for (int64_t i = 0; i < count; ++i) out.data[i] = start + i * step;
    return out;
}

template <class... T>
List<std::tuple<T...>> zip(Arena& arena, const List<T>&... lists) {
    const int64_t size = std::min({lists.size...});
    auto out = make_list<std::tuple<T...>>(arena, size);
    for (int64_t i = 0; i < size; ++i) out.data[i] = std::tuple<T...>(lists.data[i]...);
    return out;
}

template <class T>
List<std::tuple<int64_t, T>> enumerate(Arena& arena, const List<T>& list) {
    auto out = make_list<std::tuple<int64_t, T>>(arena, list.size);
    for (int64_t i = 0; i < list.size; ++i) out.data[i] = {i, list.data[i]};
    return out;
}

// ---- Python's arithmetic on ints; what does not fit into 64 bits is an error, never another number.
[[noreturn]] inline void too_large() { throw InstanceError("the result of integer arithmetic does not fit into 64 bits"); }

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
    if (b < 0) throw InstanceError("negative shift count");
    return a >> std::min<int64_t>(b, 63);
}
inline int64_t shl(int64_t a, int64_t b) {
    if (b < 0) throw InstanceError("negative shift count");
    if (a == 0) return 0;
    const int64_t r = b > 62 ? 0 : int64_t(uint64_t(a) << b);
    if (b > 62 || r >> b != a) [[unlikely]]
        too_large();
    return r;
}
inline int64_t floordiv(int64_t a, int64_t b) {
    if (b == 0) throw InstanceError("integer division by zero");
    if (b == -1) return neg(a);
    const int64_t q = a / b;
    return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
inline int64_t mod(int64_t a, int64_t b) {
    if (b == 0) throw InstanceError("integer modulo by zero");
    if (b == -1) return 0;
    const int64_t r = a % b;
    return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);
}

// ---- and on floats, with Python's results for every pair of operands.
inline double div(double a, double b) {
    if (b == 0) throw InstanceError("division by zero");
    return a / b;
}
// Of two ints, which need not be floats themselves: the quotient is rounded once.
inline double div(int64_t a, int64_t b) {
    if (b == 0) throw InstanceError("division by zero");
    constexpr int64_t exact = int64_t{1} << 53;
    if (-exact <= a && a <= exact && -exact <= b && b <= exact) return double(a) / double(b);
    const uint64_t n = a < 0 ? -uint64_t(a) : uint64_t(a), d = b < 0 ? -uint64_t(b) : uint64_t(b);
    if (n == 0) return (a < 0) != (b < 0) ? -0.0 : 0.0;
    // An integer quotient of 55 bits or more; a lost remainder is kept in its last bit, below what a double can hold.
    const int shift = std::max(0, 55 + std::countl_zero(n) - std::countl_zero(d));
    const unsigned __int128 shifted = static_cast<unsigned __int128>(n) << shift;
    const uint64_t quotient = uint64_t(shifted / d) | uint64_t(shifted % d != 0);
    const double magnitude = std::ldexp(double(quotient), -shift);
    return (a < 0) != (b < 0) ? -magnitude : magnitude;
}
// The remainder has the sign of the divisor, also where it is zero.
inline double mod(double a, double b) {
    if (b == 0) throw InstanceError("float modulo by zero");
    const double r = std::fmod(a, b);
    if (r == 0) return std::copysign(0.0, b);
    return (r < 0) != (b < 0) ? r + b : r;  // a NaN has no sign here: it stays one
}
// Not the floor of a rounded quotient: what is left after the exact remainder is taken off is a multiple of the divisor, but
// for rounding.
inline double floordiv(double a, double b) {
    if (b == 0) throw InstanceError("float floor division by zero");
    const double r = std::fmod(a, b);
    double quotient = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double whole = std::floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}
// `a ** 2`. A product is not always what `pow` gives, which Python calls; the compiler would make one of it.
inline double square(double a) {
    volatile double two = 2;
    const double r = std::pow(a, two);
    if (std::isinf(r) && !std::isinf(a)) throw InstanceError("the result of ** is too large for a float");
    return r;
}
inline int64_t to_int(double a) {
    if (!(a >= -0x1p63 && a < 0x1p63)) throw InstanceError("int() of " + std::to_string(a));
    return int64_t(a);
}
// The nearest float32, which is what a number becomes that is compared with a tensor.
inline double to_float32(double a) { return double(float(a)); }
inline double to_float32(int64_t a) { return double(float(a)); }

// ---- an int compared with a float: by their values, of which neither is rounded.
inline int order(int64_t a, double b) {  // -1, 0 or 1; `b` is no NaN
    if (b >= 0x1p63) return -1;
    if (b < -0x1p63) return 1;
    const int64_t whole = int64_t(b);
    if (a != whole) return a < whole ? -1 : 1;
    const double rest = b - double(whole);
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}
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

// An index that may not count from the end.
inline int64_t from_start(int64_t i) {
    if (i < 0)
        throw InstanceError("index " + std::to_string(i) + " is out of range: the index of an embedding does not count from the end");
    return i;
}

}  // namespace acrobat
