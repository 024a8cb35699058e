#include "tensors.h"

#include <bit>
#include <cstring>

#include "../device.h"

namespace acrobat {

std::string shape_text(const int64_t* shape, int ndim) {
    std::string text = "(";
    for (int i = 0; i < ndim; ++i) text += std::to_string(shape[i]) + (ndim == 1 || i + 1 < ndim ? "," : "") + (i + 1 < ndim ? " " : "");
    return text + ")";
}

void TensorReader::set(PyObject* cls, PyObject* plain) {
    cls_ = reinterpret_cast<PyTypeObject*>(cls);
    plain_ = plain;
    Ref capsule(PyObject_GetAttrString(cls, "__dlpack_c_exchange_api__"));
    if (!capsule) throw PythonError{};
    api_ = static_cast<const dlpack::Api*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
    if (!api_) throw PythonError{};
    is_negated_.set(cls, "is_neg");
    data_ptr_.set(cls, "data_ptr");
    Ref version(checked(PyObject_GetAttrString(cls, "_version")));
    if (Py_TYPE(version.get()) == &PyGetSetDescr_Type) {  // lives as long as the class
        const PyGetSetDef* getset = reinterpret_cast<PyGetSetDescrObject*>(version.get())->d_getset;
        version_getter_ = getset->get;
        version_closure_ = getset->closure;
    }
}

Tensor TensorReader::read(const Context& cx, std::vector<Ref>& kept, PyObject* o, const int64_t* shape, int ndim) const {
    dlpack::Tensor t{};
    const Found found = tensor(o, t);
    if (found == Found::other) mismatch(o, "a Tensor of shape " + shape_text(shape, ndim));
    const auto expected = [&] { return "expected a float32 " + std::string(cx.device->tensors()) + " tensor of shape " + shape_text(shape, ndim); };
    const auto unreadable = [&] { throw ReadError{"", expected() + ", got " + kUnreadable}; };
    if (found == Found::unreadable) unreadable();
    const bool on_device = cx.device->reads(t.device.type, t.device.id), host = t.device.type == 1, placed = on_device || host;
    const auto is = [&](bool fits) {
        if (!fits)
            throw ReadError{"", expected() + ", got one of shape " +
                                    shape_text(t.shape, t.ndim) + (placed ? "" : " on another device (give it by .to() or .cpu())") +
                                    (t.dtype.code != 2 || t.dtype.bits != 32 ? " and another dtype" : ""),
                            Ref(), placed && t.dtype.code == 2 && t.dtype.bits == 32};
    };
    is(placed && t.dtype.code == 2 && t.dtype.bits == 32 && t.dtype.lanes == 1 && t.ndim == ndim);
    int64_t count = 1;
    bool contiguous = true;
    for (int i = ndim - 1; i >= 0; --i) {
        is(t.shape[i] == shape[i]);
        if (t.strides && shape[i] != 1 && t.strides[i] != count) contiguous = false;
        count *= shape[i];
    }
    if (!t.data && count) unreadable();
    const bool negated = this->negated(o);
    const float* data = reinterpret_cast<const float*>(static_cast<const char*>(t.data) + t.byte_offset);
    const bool aligned = reinterpret_cast<uintptr_t>(data) % alignof(float) == 0;  // a view of bytes as floats may not be
    if (on_device && contiguous && aligned && !negated) return cx.address(data);
    if (!host) {  // the device makes the copy
        Ref resolved(checked(PyObject_CallMethod(o, "resolve_neg", nullptr)));
        kept.emplace_back(checked(PyObject_CallMethod(resolved.get(), "clone", nullptr)));
        kept.emplace_back(checked(PyObject_CallMethod(kept.back().get(), "contiguous", nullptr)));
        return read(cx, kept, kept.back().get(), shape, ndim);
    }
    const Room copy = cx.device->room(count);
    if (contiguous) {
        std::memcpy(copy.values, data, size_t(count) * 4);
    } else {
        for (int64_t i = 0; i < count; ++i) {
            int64_t at = 0;
            for (int64_t d = ndim - 1, rest = i; d >= 0; --d) at += rest % shape[d] * t.strides[d], rest /= shape[d];
            std::memcpy(copy.values + i, reinterpret_cast<const char*>(data) + at * 4, 4);
        }
    }
    if (negated)
        for (int64_t i = 0; i < count; ++i) copy.values[i] = -copy.values[i];
    return copy.tensor;
}

uint64_t TensorReader::address(PyObject* o) const {
    try {
        Ref address = data_ptr_(o);
        const uint64_t value = PyLong_AsUnsignedLongLong(address.get());
        if (PyErr_Occurred()) PyErr_Clear();
        return value;
    } catch (const PythonError&) {
        PyErr_Clear();
        return 0;
    }
}

int64_t TensorReader::version(PyObject* o) const {
    Ref version(version_getter_ ? version_getter_(o, version_closure_) : PyObject_GetAttrString(o, "_version"));
    const int64_t value = version ? PyLong_AsLongLong(version.get()) : -1;
    if (PyErr_Occurred()) PyErr_Clear();
    return value;
}

void TensorReader::check_subclass(PyObject* o) const {
    Ref plain(checked(PyObject_CallOneArg(plain_, reinterpret_cast<PyObject*>(Py_TYPE(o)))));
    if (plain.get() != Py_True)
        throw ReadError{"", "a tensor of the class " + type_name(o) +
                                ", which changes what operations do; give it as an ordinary torch.Tensor"};
}

namespace {

// The argument `counts` of `allocate`: how many tensors there are or, where extents vary, how many parts each has.
Ref counts_of(const Outgoing& out) {
    if (!out.lists) return Ref(checked(PyLong_FromSize_t(out.tensors.size())));
    Ref counts(checked(PyList_New(Py_ssize_t(out.lengths.size()))));
    for (size_t i = 0; i < out.lengths.size(); ++i)
        PyList_SET_ITEM(counts.get(), Py_ssize_t(i), checked(PyLong_FromLongLong(out.lengths[i])));
    return counts;
}

// Writes numbers of the host as PyTorch's tensors have them: bool, float32 or int64.
void write_numbers(const Outgoing& out, char* to) {
    for (const int64_t bits : out.numbers) {
        const float real = float(std::bit_cast<double>(bits));
        const char small = char(bits);
        switch (out.number) {
            case 'b': *to++ = small; break;
            case 'f': std::memcpy(to, &real, sizeof(real)), to += sizeof(real); break;
            default: std::memcpy(to, &bits, sizeof(bits)), to += sizeof(bits);
        }
    }
}

}  // namespace

void fetch(Device& device, PyObject* allocate, std::vector<Outgoing>& types) {
    std::vector<Ref> buffers(types.size());
    for (size_t i = 0; i < types.size(); ++i) {
        Outgoing& out = types[i];
        if (out.tensors.empty() && out.lengths.empty()) continue;
        buffers[i] = Ref(checked(PyObject_CallFunction(allocate, "nO", Py_ssize_t(i), counts_of(out).get())));
        char* to = static_cast<char*>(PyLong_AsVoidPtr(PyTuple_GET_ITEM(buffers[i].get(), 0)));
        if (!to && PyErr_Occurred()) throw PythonError{};
        if (out.number)
            write_numbers(out, to);
        else if (!out.tensors.empty())
            device.deliver(out.tensors, out.elements, to);
    }
    device.finish();
    // A device that goes on by itself computes while the tensors are made, which takes longer than many a launch.
    for (size_t i = 0; i < types.size(); ++i) {
        if (!buffers[i]) continue;
        Outgoing& out = types[i];
        Ref tensors(checked(PyObject_CallNoArgs(PyTuple_GET_ITEM(buffers[i].get(), 1))));
        out.holder = Ref(checked(PySequence_Fast(tensors.get(), "allocate must give what makes a sequence of tensors")));
        PyObject** items = PySequence_Fast_ITEMS(out.holder.get());
        out.objects.assign(items, items + PySequence_Fast_GET_SIZE(out.holder.get()));
    }
}

}  // namespace acrobat
