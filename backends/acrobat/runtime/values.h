// Values of the generated program: tensors by address, and lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <tuple>

#include "arena.h"
#include "errors.h"

namespace acrobat {

// The address of a tensor: its offset, in 4-byte elements, from the one base pointer. It is known when the operation that
// computes the tensor is recorded, before there are values.
using Tensor = int64_t;

// A list is a view of storage that several lists may share. `append` writes in place if the view ends where the filled storage
// ends, else it copies. So lists behave as values, and a loop of appends costs O(1) each.
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

// The list of the constants at `data`, which nothing writes to: lists without a storage are copied before they grow.
template <class T>
List<T> constant_list(const T* data, int64_t size) {
    return {const_cast<T*>(data), size, nullptr};
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
    if (at < 0 || at >= list.size) [[unlikely]]
        list_index_out_of_range(index, list.size);
    return list.data[at];
}

// list[start:stop], with Python's rules for negative bounds and bounds beyond the end.
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

// Whether one key is below another. NaN is above all numbers, as in PyTorch.
template <class K>
bool below(K a, K b) {
    return a == a && (a < b || b != b);
}

// The indices of the items in the order of their keys, from the highest on if `descending`. Items with equal keys stay in
// order.
template <class T, class Key = std::identity>
List<int64_t> order(Arena& arena, const List<T>& list, bool descending, Key key = {}) {
    List<int64_t> places = make_list<int64_t>(arena, list.size);
    std::iota(places.begin(), places.end(), int64_t(0));
    const auto below = [&](int64_t i, int64_t j) { return acrobat::below(key(list.data[i]), key(list.data[j])); };
    if (descending)
        std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) { return below(j, i); });
    else
        std::stable_sort(places.begin(), places.end(), below);
    return places;
}

// The first `count` indices, or all if there are fewer, of `order(arena, list, true, key)`. The other items are not sorted.
template <class T, class Key = std::identity>
List<int64_t> top(Arena& arena, const List<T>& list, int64_t count, Key key = {}) {
    const List<int64_t> places = make_list<int64_t>(arena, std::clamp(count, int64_t(0), list.size));
    const auto before = [&](int64_t i, int64_t j) {
        const auto a = key(list.data[i]), b = key(list.data[j]);
        return below(b, a) || (i < j && !below(a, b));
    };
    if (!places.size) return places;
    std::iota(places.begin(), places.end(), int64_t(0));
    std::make_heap(places.begin(), places.end(), before);  // the last of the places so far is at the front
    for (int64_t i = places.size; i < list.size; ++i) {
        if (!below(key(list.data[*places.begin()]), key(list.data[i]))) continue;
        std::pop_heap(places.begin(), places.end(), before);
        places.end()[-1] = i;
        std::push_heap(places.begin(), places.end(), before);
    }
    std::sort_heap(places.begin(), places.end(), before);
    return places;
}

// The values of a vector as a list.
inline List<double> read_floats(Arena& arena, const float* values, int64_t count) {
    const List<double> list = make_list<double>(arena, count);
    std::copy_n(values, count, list.begin());
    return list;
}
inline List<int64_t> read_ints(Arena& arena, const float* values, int64_t count) {
    const List<int64_t> list = make_list<int64_t>(arena, count);
    if (count) std::memcpy(list.data, values, size_t(count) * sizeof(int64_t));
    return list;
}

template <class T>
List<T> concat(Arena& arena, const List<T>& a, const List<T>& b) {
    List<T> out = make_list<T>(arena, a.size + b.size);
    for (int64_t i = 0; i < a.size; ++i) out.data[i] = a.data[i];
    for (int64_t i = 0; i < b.size; ++i) out.data[a.size + i] = b.data[i];
    return out;
}

// Python's `range(start, stop, step)`.
List<int64_t> range(Arena& arena, int64_t start, int64_t stop, int64_t step);

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

}  // namespace acrobat
