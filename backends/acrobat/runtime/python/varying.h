// Tensors with extents that vary from instance to instance. The program has such a tensor as a list of its parts (with two
// varying extents, a list of lists). The parts' addresses are computed from the tensor's: no part becomes a Python object.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "../errors.h"
#include "../session.h"

namespace acrobat {

// The type of such a tensor.
struct Varying {
    const int64_t* extents;  // in the order of the lists, outermost first, then those of a part; -1 where they vary
    const int32_t* order;    // the tensor's dimensions in that order
    int32_t ndim, lists;
    const char* expected;    // its shape, for messages
};

// A tensor that was read, of tensors (`Rows`) or of `Numbers`; sizes and strides are in the order of `Varying`.
struct Rows {
    Tensor at;
    const int64_t *sizes, *strides;  // strides in elements
};
struct Numbers {
    const char* at;
    const int64_t *sizes, *strides;  // strides in bytes
    uint8_t code, bits;              // as DLPack has the dtype
};

Rows read_rows(Session& s, PyObject* o, const Varying& v);
// A tensor of ints (`kind` 'i'), bools ('b') or floats ('f') that the host reads as numbers.
Numbers read_numbers(Session& s, PyObject* o, const Varying& v, char kind);

int64_t int_at(const Numbers& n, const char* at);
double float_at(const Numbers& n, const char* at);

inline void take_part(Context&, const Rows&, int, Tensor at, Tensor& part) { part = at; }
inline void take_part(Context&, const Numbers& n, int, const char* at, int64_t& part) { part = int_at(n, at); }
inline void take_part(Context&, const Numbers& n, int, const char* at, bool& part) { part = int_at(n, at) != 0; }
inline void take_part(Context&, const Numbers& n, int, const char* at, double& part) { part = float_at(n, at); }

template <class Source, class At, class T>
void take_part(Context& cx, const Source& from, int level, At at, List<T>& list) {
    list = make_list<T>(cx.host, from.sizes[level]);
    for (int64_t i = 0; i < list.size; ++i) take_part(cx, from, level + 1, at + i * from.strides[level], list.data[i]);
}

// The tensor as a list of type `T`.
template <class T, class Source>
T parts_of(Session& s, const Source& from) {
    T list;
    take_part(s.cx, from, 0, from.at, list);
    return list;
}

// ---- results

// Notes the parts of a result and its extents that vary. Throws InstanceError if lists differ in length and so make no tensor.
inline void note_extent(Outgoing& out, size_t at, int64_t size) {
    int64_t& known = out.sizes[at];
    if (known >= 0 && known != size) uneven_rows(known, size);
    known = size;
}
inline void note_parts(Outgoing& out, size_t, int64_t part) { (out.number ? out.numbers : out.tensors).push_back(part); }
inline void note_parts(Outgoing& out, size_t, bool part) { out.numbers.push_back(part); }
inline void note_parts(Outgoing& out, size_t, double part) { out.numbers.push_back(std::bit_cast<int64_t>(part)); }
template <class T>
void note_parts(Outgoing& out, size_t at, const List<T>& list) {
    note_extent(out, at, list.size);
    for (const T& item : list) note_parts(out, at + 1, item);
}
template <class T>
void collect_varying(Outgoing& out, const List<T>& list) {
    const size_t at = out.begin_varying();
    note_parts(out, at, list);
    out.end_varying(at);
}

}  // namespace acrobat
