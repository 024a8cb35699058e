// Makes the tensors of results: slices of one buffer, each an ordinary tensor. This file alone is compiled against PyTorch's own
// headers, once on each machine (`codegen/slices.py`). PyTorch's functions take three times as long for each slice, since they
// compute what all slices have in common anew: the shape, the keys of dispatch, whether there are views and modes.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ATen/core/TensorBase.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/TensorOptions.h>
#include <torch/csrc/DynamicTypes.h>

#include <exception>

// As torch/csrc/autograd/python_variable.h declares it, a header that takes 10 s to compile.
PyObject* THPVariable_Wrap(at::TensorBase&& tensor);

namespace {

using Shape = c10::SmallVector<int64_t, 5>;

struct PythonError {};

at::ScalarType dtype_of(char letter) {
    return letter == 'b' ? at::kBool : letter == 'i' ? at::kLong : at::kFloat;
}

Shape shape_of(PyObject* extents) {
    Shape shape;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(extents); ++i) shape.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(extents, i)));
    return shape;
}

// Appends to `slices` the tensors of a buffer, one after the other.
class Cutter {
   public:
    Cutter(c10::Storage buffer, at::ScalarType dtype)
        : buffer_(std::move(buffer)),
          dtype_(c10::scalarTypeToTypeMeta(dtype)),
          // The constructor without `VIEW` adds the keys of autograd, unless the caller is in inference mode.
          keys_(c10::make_intrusive<c10::TensorImpl>(
                    c10::Storage(buffer_), c10::DispatchKeySet(c10::computeDispatchKey(dtype, {}, buffer_.device())), dtype_)
                    ->key_set()) {}

    // A new reference to the next tensor, of `elements` elements.
    PyObject* next(const Shape& shape, int64_t elements) {
        // `VIEW` takes the keys as they are. It makes no view: each slice has a version counter of its own.
        auto slice = c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(buffer_), keys_, dtype_);
        slice->set_storage_offset(offset_);
        slice->set_sizes_contiguous(shape);
        offset_ += elements;
        PyObject* tensor = THPVariable_Wrap(at::TensorBase(std::move(slice)));
        if (!tensor) throw PythonError{};
        return tensor;
    }

   private:
    c10::Storage buffer_;
    caffe2::TypeMeta dtype_;
    c10::DispatchKeySet keys_;
    int64_t offset_ = 0;
};

void cut(PyObject* slices, PyObject* storage, char letter, PyObject* extents, PyObject* lengths) {
    Cutter cutter(torch::createStorage(storage), dtype_of(letter));
    Shape shape = shape_of(extents);
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    const Py_ssize_t count = PyTuple_GET_SIZE(slices);
    if (lengths == Py_None) {
        for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(slices, i, cutter.next(shape, elements));
        return;
    }
    shape.insert(shape.begin(), 0);
    for (Py_ssize_t i = 0; i < count; ++i) {
        shape[0] = PyLong_AsLongLong(PyList_GET_ITEM(lengths, i));
        PyTuple_SET_ITEM(slices, i, cutter.next(shape, shape[0] * elements));
    }
}

}  // namespace

// `count` tensors that lie one after the other in `storage`, an UntypedStorage, as a tuple. `letter` is the dtype: 'b' for bool,
// 'i' for int64, 'f' for float32. `extents` is their shape, a tuple; with `lengths`, a list of ints, each has its length before that.
extern "C" __attribute__((visibility("default"))) PyObject* acrobat_slices(PyObject* storage, char letter, PyObject* extents,
                                                                           int64_t count, PyObject* lengths) {
    PyObject* slices = PyTuple_New(count);
    if (!slices) return nullptr;
    try {
        cut(slices, storage, letter, extents, lengths);
        return slices;
    } catch (const PythonError&) {
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    Py_DECREF(slices);
    return nullptr;
}
