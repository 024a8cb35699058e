#include "varying.h"

#include "../device.h"
#include "exceptions.h"
#include "side.h"

namespace acrobat {

namespace {

constexpr uint8_t kInt = 0, kUnsigned = 1, kFloat = 2, kBool = 6;  // codes of DLPack

// Sizes and strides (in elements) of a tensor in the order of `Varying`, in memory of the wave.
struct Layout {
    int64_t *sizes, *strides;
};

[[noreturn]] void misfit(const Varying& v, const char* of, const std::string& got, bool type = false) {
    throw ReadError{"", std::string("expected a tensor of ") + of + "shape " + v.expected + ", got " + got, Ref(), type};
}

std::string dtype_of(PyObject* o) {
    Ref dtype(PyObject_GetAttrString(o, "dtype"));
    return utf8_or(Ref(dtype ? PyObject_Str(dtype.get()) : nullptr), "another dtype");
}

// The description of the tensor `o`. Throws ReadError, which says `of` what numbers the tensor must be, unless its shape fits `v`.
dlpack::Tensor tensor_of_shape(Session& s, PyObject* o, const Varying& v, const char* of) {
    dlpack::Tensor t{};
    switch (s.python->tensor_reader.tensor(o, t)) {
        case TensorReader::Found::tensor: break;
        case TensorReader::Found::other: mismatch(o, std::string("a tensor of ") + of + "shape " + v.expected);
        case TensorReader::Found::unreadable: misfit(v, of, kUnreadable);
    }
    bool empty = false;
    for (int i = 0; i < t.ndim; ++i) empty = empty || t.shape[i] == 0;
    if (!t.data && !empty) misfit(v, of, kUnreadable);
    bool fits = t.ndim == v.ndim;
    for (int i = 0; fits && i < v.ndim; ++i) fits = v.extents[i] < 0 || v.extents[i] == t.shape[v.order[i]];
    if (!fits) misfit(v, of, "one of shape " + shape_text(t.shape, t.ndim), true);
    return t;
}

Layout layout_of(Session& s, const dlpack::Tensor& t, const Varying& v) {
    Layout layout{s.cx.host.make<int64_t>(size_t(v.ndim)), s.cx.host.make<int64_t>(size_t(v.ndim))};
    for (int i = 0; i < v.ndim; ++i) {
        int64_t packed = 1;
        for (int d = t.ndim - 1; d > v.order[i]; --d) packed *= t.shape[d];
        layout.sizes[i] = t.shape[v.order[i]];
        layout.strides[i] = t.strides ? t.strides[v.order[i]] : packed;
    }
    return layout;
}

int64_t pack(const Layout& layout, int ndim) {
    int64_t count = 1;
    for (int i = ndim - 1; i >= 0; --i) {
        layout.strides[i] = count;
        count *= layout.sizes[i];
    }
    return count;
}

void copy(const float* from, const int64_t* sizes, const int64_t* strides, int ndim, float*& to) {
    if (ndim == 0) {
        *to++ = *from;
        return;
    }
    for (int64_t i = 0; i < sizes[0]; ++i) copy(from + i * strides[0], sizes + 1, strides + 1, ndim - 1, to);
}

// A contiguous copy of a tensor, in which a lazy negation is carried out.
PyObject* plain_copy(Session& s, PyObject* o) {
    Ref resolved(checked(PyObject_CallMethod(o, "resolve_neg", nullptr)));
    Ref own(checked(PyObject_CallMethod(resolved.get(), "clone", nullptr)));
    s.kept.emplace_back(checked(PyObject_CallMethod(own.get(), "contiguous", nullptr)));
    return s.kept.back().get();
}

}  // namespace

Rows read_rows(Session& s, PyObject* o, const Varying& v) {
    dlpack::Tensor t = tensor_of_shape(s, o, v, "");
    if (t.dtype.code != kFloat || t.dtype.bits != 32) misfit(v, "torch.float32 and ", "one of " + dtype_of(o));
    const bool host = t.device.type == 1, there = s.cx.device->reads(t.device.type, t.device.id);
    if (!host && !there) misfit(v, "", "one on another device");
    Layout layout = layout_of(s, t, v);
    bool packed = true;  // whether each part is contiguous
    for (int64_t i = v.ndim - 1, count = 1; i >= v.lists; --i) {
        packed = packed && (layout.sizes[i] == 1 || layout.strides[i] == count);
        count *= layout.sizes[i];
    }
    const char* data = static_cast<const char*>(t.data) + t.byte_offset;
    if (reinterpret_cast<uintptr_t>(data) % alignof(float) || s.python->tensor_reader.negated(o)) {
        o = plain_copy(s, o);
        return read_rows(s, o, v);
    }
    if (there && packed) return {s.cx.address(data), layout.sizes, layout.strides};
    if (!host) {  // the device makes the copy, with the dimensions in the order of `Varying`
        Ref order(checked(PyTuple_New(v.ndim)));
        for (int i = 0; i < v.ndim; ++i) PyTuple_SET_ITEM(order.get(), i, checked(PyLong_FromLong(v.order[i])));
        Ref permuted(checked(PyObject_CallMethod(o, "permute", "O", order.get())));
        PyObject* contiguous = plain_copy(s, permuted.get());
        pack(layout, v.ndim);
        if (!s.python->tensor_reader.look(contiguous, t)) misfit(v, "", kUnreadable);
        return {s.cx.address(static_cast<const char*>(t.data) + t.byte_offset), layout.sizes, layout.strides};
    }
    const Layout from = layout_of(s, t, v);
    const Room room = s.cx.device->room(pack(layout, v.ndim));
    float* to = room.values;
    copy(reinterpret_cast<const float*>(data), from.sizes, from.strides, v.ndim, to);
    return {room.tensor, layout.sizes, layout.strides};
}

Numbers read_numbers(Session& s, PyObject* o, const Varying& v, char kind) {
    const char* of = kind == 'b' ? "bools and " : kind == 'i' ? "ints and " : "floats and ";
    dlpack::Tensor t = tensor_of_shape(s, o, v, of);
    const uint8_t code = t.dtype.code;
    const bool fits = kind == 'b'   ? code == kBool
                      : kind == 'i' ? code == kInt || code == kBool || (code == kUnsigned && t.dtype.bits < 64)
                                    : code == kFloat && t.dtype.bits >= 32;
    if (!fits) misfit(v, of, "one of " + dtype_of(o));
    if (t.device.type != 1) {
        s.kept.emplace_back(checked(PyObject_CallMethod(o, "cpu", nullptr)));
        o = s.kept.back().get();
    }
    if (s.python->tensor_reader.negated(o)) o = plain_copy(s, o);
    if (!s.python->tensor_reader.look(o, t)) misfit(v, of, kUnreadable);
    Layout layout = layout_of(s, t, v);
    for (int i = 0; i < v.ndim; ++i) layout.strides[i] *= t.dtype.bits / 8;
    return {static_cast<const char*>(t.data) + t.byte_offset, layout.sizes, layout.strides, code, t.dtype.bits};
}

namespace {

template <class T>
T at_address(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

}  // namespace

int64_t int_at(const Numbers& n, const char* at) {
    const bool is_signed = n.code == kInt;
    switch (n.bits) {
        case 8: return is_signed ? at_address<int8_t>(at) : at_address<uint8_t>(at);
        case 16: return is_signed ? at_address<int16_t>(at) : at_address<uint16_t>(at);
        case 32: return is_signed ? at_address<int32_t>(at) : int64_t(at_address<uint32_t>(at));
        default: return at_address<int64_t>(at);
    }
}

double float_at(const Numbers& n, const char* at) { return n.bits == 32 ? at_address<float>(at) : at_address<double>(at); }

}  // namespace acrobat
