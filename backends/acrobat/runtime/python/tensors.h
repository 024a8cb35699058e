// Tensors of PyTorch are read through the DLPack exchange functions of their class, which do not call back into Python.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exceptions.h"

namespace acrobat {

// The words of messages for a tensor that the exchange functions refuse.
inline constexpr const char* kUnreadable =
    "one whose memory cannot be read (sparse, quantised, without storage or within a transform of torch.func)";

// ---- DLPack: the tensor structure and the exchange functions, as the DLPack specification (1.2) lays them out.
namespace dlpack {
struct Tensor {
    void* data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};
struct Api {
    struct { uint32_t major, minor; } version;
    void* previous;
    void* allocate;
    void* managed_from_object;
    void* managed_to_object;
    int (*tensor_from_object)(void* object, Tensor* out);
    void* current_stream;
};
}  // namespace dlpack

// The shape as Python prints a tuple.
std::string shape_text(const int64_t* shape, int ndim);

// A method of a Python class, without arguments, that is called for objects. Where it is a C function, it is called directly,
// in 8 ns instead of 30. Throws PythonError.
class Asked {
   public:
    // `cls` must outlive this object: it owns the C function.
    void set(PyObject* cls, const char* name) {
        method_ = Ref(checked(PyObject_GetAttrString(cls, name)));
        direct_ = nullptr;
        if (!PyObject_TypeCheck(method_.get(), &PyMethodDescr_Type)) return;
        const PyMethodDef* def = reinterpret_cast<PyMethodDescrObject*>(method_.get())->d_method;
        if (def->ml_flags == METH_NOARGS) direct_ = def->ml_meth;
    }

    Ref operator()(PyObject* o) const { return Ref(checked(direct_ ? direct_(o, nullptr) : PyObject_CallOneArg(method_.get(), o))); }

   private:
    Ref method_;
    PyCFunction direct_ = nullptr;
};

class TensorReader {
   public:
    // Whether a class is PyTorch's own of tensors.
    bool is_of_class(const PyTypeObject* cls) const { return cls == cls_; }

    // `cls` is torch.Tensor, `plain` says of a subclass whether its tensors are ordinary ones. The caller keeps both alive.
    void set(PyObject* cls, PyObject* plain);

    // The address of a float32 tensor of exactly this shape. The tensor is copied if the device cannot read it in place, or if
    // it is not contiguous, not aligned or lazily negated. `kept` gets what has to live until the run ends. Throws ReadError.
    Tensor read(const Context& cx, std::vector<Ref>& kept, PyObject* o, const int64_t* shape, int ndim) const;

    // Sets `t` to what DLPack gives for an object, which need not be a tensor. Throws ReadError for a tensor whose class
    // changes what operations do.
    enum class Found { tensor, other, unreadable };
    Found tensor(PyObject* o, dlpack::Tensor& t) const {
        if (!PyObject_TypeCheck(o, cls_)) return Found::other;
        if (Py_TYPE(o) != cls_) [[unlikely]]
            check_subclass(o);
        return look(o, t) ? Found::tensor : Found::unreadable;
    }

    // Whether the values are the negatives of what is in the memory that DLPack gives, as for the view `z.conj().imag`.
    bool negated(PyObject* o) const { return is_negated_(o).get() == Py_True; }

    // Sets `t` to what DLPack gives for a tensor; false if it gives nothing.
    bool look(PyObject* o, dlpack::Tensor& t) const {
        if (api_->tensor_from_object(o, &t) == 0) return true;
        PyErr_Clear();
        return false;
    }

    // The address of the tensor's first element, in a third of the time of `look`; 0 if it has no memory.
    uint64_t address(PyObject* o) const;

    // How often the tensor was changed in place; -1 where that is not counted (tensors of inference mode).
    int64_t version(PyObject* o) const;

   private:
    // Throws ReadError for a tensor of a subclass with operations of its own, whose memory need not have the tensor's values.
    void check_subclass(PyObject* o) const;

    PyTypeObject* cls_ = nullptr;
    PyObject* plain_ = nullptr;
    const dlpack::Api* api_ = nullptr;
    Asked is_negated_, data_ptr_;
    getter version_getter_ = nullptr;
    void* version_closure_ = nullptr;
};

// Makes the Python tensors of all results: for each type calls `allocate(type index, counts) -> (address, make)`, requests the copies
// of the values to that address, and when all are requested calls `make() -> sequence of tensors`. `counts` is the number of tensors
// or, where extents vary, the list of how many parts each has.
void fetch(Device& device, PyObject* allocate, std::vector<Outgoing>& types);

}  // namespace acrobat
