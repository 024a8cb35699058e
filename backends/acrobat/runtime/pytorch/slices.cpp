// Makes the tensors of results: slices of one buffer, each an ordinary tensor. This file alone is compiled against PyTorch's own
// headers, once on each machine (`codegen/slices.py`). PyTorch's functions take three times as long for each slice, since they
// compute what all slices have in common anew: the shape, the keys of dispatch, whether there are views and modes.
//
// Tensors of one shape can be made before the buffer is there, while the host waits for a device. Until they get it, Python's
// collector does not know them, so nobody sees a tensor without memory.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ATen/core/TensorBase.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/TensorOptions.h>
#include <torch/csrc/DynamicTypes.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

// As torch/csrc/autograd/python_variable.h declares it, a header that takes 10 s to compile.
PyObject* THPVariable_Wrap(at::TensorBase&& tensor);

namespace {

using Shape = c10::SmallVector<int64_t, 5>;

struct PythonError {};

// A tensor, which may not have its memory yet. The object owns the tensor.
struct Slice {
    PyObject* object;
    c10::TensorImpl* tensor;
};

Slice wrapped(c10::intrusive_ptr<c10::TensorImpl> tensor, const Shape& shape, int64_t offset) {
    tensor->set_storage_offset(offset);
    tensor->set_sizes_contiguous(shape);
    c10::TensorImpl* at = tensor.get();
    PyObject* object = THPVariable_Wrap(at::TensorBase(std::move(tensor)));
    if (!object) throw PythonError{};
    return {object, at};
}

// What tensors of one dtype on one device have in common.
class Kind {
   public:
    Kind(char letter, c10::Device device) : device_(device) {
        const at::ScalarType dtype = letter == 'b' ? at::kBool : letter == 'i' ? at::kLong : at::kFloat;
        dtype_ = c10::scalarTypeToTypeMeta(dtype);
        keys_ = c10::DispatchKeySet(c10::computeDispatchKey(dtype, {}, device));
    }

    // A tensor of a contiguous shape without memory, which will start `offset` elements from the start of it. Throws PythonError.
    Slice without_memory(const Shape& shape, int64_t offset) const { return wrapped(tensor(), shape, offset); }

    // Makes tensors in `buffer`.
    class InBuffer {
       public:
        InBuffer(const Kind& kind, const c10::Storage& buffer) : buffer_(buffer), dtype_(kind.dtype_), keys_(kind.tensor()->key_set()) {}

        PyObject* make(const Shape& shape, int64_t offset) const {
            // `VIEW` takes the keys as they are. It makes no view: each slice has a version counter of its own.
            return wrapped(c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(buffer_), keys_, dtype_), shape, offset)
                .object;
        }

       private:
        const c10::Storage& buffer_;
        caffe2::TypeMeta dtype_;
        c10::DispatchKeySet keys_;
    };

   private:
    // This constructor adds the keys of autograd and a version counter, unless the caller is in inference mode.
    c10::intrusive_ptr<c10::TensorImpl> tensor() const { return c10::make_intrusive<c10::TensorImpl>(keys_, dtype_, device_); }

    c10::Device device_;
    caffe2::TypeMeta dtype_;
    c10::DispatchKeySet keys_;
};

// Makes tensors of one shape.
class Maker {
   public:
    Maker(char letter, c10::Device device, Shape shape) : kind_(letter, device), shape_(std::move(shape)) {
        for (const int64_t extent : shape_) elements_ *= extent;
    }
    Maker(const Maker&) = delete;
    Maker& operator=(const Maker&) = delete;
    ~Maker() { clear(); }

    // Makes one tensor ahead, if there are fewer than the last buffer was cut into. Returns whether it did.
    bool ahead() {
        if (ready_.size() >= expected_) return false;
        look_at_mode();
        const int collects = PyGC_Disable();  // new objects, none of them garbage
        try {
            const Slice slice = kind_.without_memory(shape_, int64_t(ready_.size()) * elements_);
            PyObject_GC_UnTrack(slice.object);
            ready_.push_back(slice);
        } catch (...) {
            PyErr_Clear();
            expected_ = 0;
        }
        if (collects) PyGC_Enable();
        return expected_ != 0;
    }

    // Appends the `count` tensors of a buffer to a tuple of nulls. What was made ahead and is not needed is dropped.
    void cut(const c10::Storage& buffer, PyObject* tuple, Py_ssize_t count) {
        look_at_mode();
        const Py_ssize_t prepared = std::min(count, Py_ssize_t(ready_.size()));
        for (Py_ssize_t i = 0; i < prepared; ++i) {
            const Slice slice = std::exchange(ready_[size_t(i)], {nullptr, nullptr});
            slice.tensor->set_storage_keep_dtype(buffer);
            PyObject_GC_Track(slice.object);
            PyTuple_SET_ITEM(tuple, i, slice.object);
        }
        const Kind::InBuffer rest(kind_, buffer);
        for (Py_ssize_t i = prepared; i < count; ++i) PyTuple_SET_ITEM(tuple, i, rest.make(shape_, i * elements_));
        clear();
        expected_ = std::min(size_t(count), kMost);
    }

    void clear() {
        for (const Slice& slice : ready_) Py_XDECREF(slice.object);
        ready_.clear();
    }

    size_t ready() const { return ready_.size(); }

   private:
    static constexpr size_t kMost = 1 << 14;  // tensors without memory, some 300 bytes each

    // Drops what was made in the other mode: whether it is inference mode is part of a tensor.
    void look_at_mode() {
        if (inference_ != c10::InferenceMode::is_enabled()) clear();
        inference_ = c10::InferenceMode::is_enabled();
    }

    Kind kind_;
    Shape shape_;
    int64_t elements_ = 1;
    bool inference_ = false;
    size_t expected_ = 0;
    std::vector<Slice> ready_;  // the first tensors of the next buffer
};

Shape shape_of(PyObject* extents) {
    Shape shape;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(extents); ++i) shape.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(extents, i)));
    return shape;
}

// A tuple of `count` objects that `fill` puts in; null with a Python exception set if it throws.
template <class Fill>
PyObject* tuple_of(Py_ssize_t count, Fill&& fill) {
    PyObject* tuple = PyTuple_New(count);
    if (!tuple) return nullptr;
    try {
        fill(tuple);
        return tuple;
    } catch (const PythonError&) {
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    Py_DECREF(tuple);
    return nullptr;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// `letter` is the dtype: 'b' for bool, 'i' for int64, 'f' for float32; `extents` the shape, a tuple.
EXPORT Maker* acrobat_maker(char letter, const char* device, PyObject* extents) {
    return new Maker(letter, c10::Device(device), shape_of(extents));
}
EXPORT void acrobat_maker_destroy(Maker* maker) { delete maker; }
EXPORT void acrobat_maker_clear(Maker* maker) { maker->clear(); }
EXPORT int64_t acrobat_maker_ready(Maker* maker) { return int64_t(maker->ready()); }
EXPORT int acrobat_maker_ahead(void* maker) { return static_cast<Maker*>(maker)->ahead(); }

// The `count` tensors that lie one after the other in `storage`, an UntypedStorage, as a tuple.
EXPORT PyObject* acrobat_maker_cut(Maker* maker, PyObject* storage, int64_t count) {
    return tuple_of(count, [&](PyObject* tuple) { maker->cut(torch::createStorage(storage), tuple, count); });
}

// As many tensors as there are `lengths`, a list of ints; each has the shape of its length followed by `extents`.
EXPORT PyObject* acrobat_slices(char letter, PyObject* storage, PyObject* extents, PyObject* lengths) {
    const Py_ssize_t count = PyList_GET_SIZE(lengths);
    return tuple_of(count, [&](PyObject* tuple) {
        const c10::Storage buffer = torch::createStorage(storage);
        const Kind kind(letter, buffer.device());
        const Kind::InBuffer tensors(kind, buffer);
        Shape shape = shape_of(extents);
        int64_t part = 1, offset = 0;
        for (const int64_t extent : shape) part *= extent;
        shape.insert(shape.begin(), 0);
        for (Py_ssize_t i = 0; i < count; ++i) {
            shape[0] = PyLong_AsLongLong(PyList_GET_ITEM(lengths, i));
            PyTuple_SET_ITEM(tuple, i, tensors.make(shape, offset));
            offset += shape[0] * part;
        }
    });
}
