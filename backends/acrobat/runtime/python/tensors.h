// Tensors of PyTorch are read through the DLPack exchange functions of their class, which do not call back into Python.
#pragma once

#include <cstdint>
#include <vector>

#include "exceptions.h"

namespace acrobat {

// What to say of a tensor that the exchange does not give.
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

// What `method`, a method of a class of the C API without arguments, gives for `o`: called straight where that is possible (8 ns in
// place of 30). Throws PythonError.
class Asked {
   public:
    // The class holds the method.
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
    // `cls` is torch.Tensor, `plain` a function that tells of a subclass whether its tensors are ordinary ones; held by the caller.
    void set(PyObject* cls, PyObject* plain);

    // Address of a float32 tensor of exactly this shape that the device reads; one of the host that it does not, or one that is not
    // contiguous, not aligned or lazily negated is copied. `kept` holds what has to live until the run ends.
    Tensor read(const Context& cx, std::vector<Ref>& kept, PyObject* o, const int64_t* shape, int ndim) const;

    // The tensor as the exchange gives it, of an object that may be anything. Throws ReadError for one whose class changes what
    // operations do.
    enum class Found { tensor, other, unreadable };
    Found tensor(PyObject* o, dlpack::Tensor& t) const {
        if (!PyObject_TypeCheck(o, cls_)) return Found::other;
        if (Py_TYPE(o) != cls_) [[unlikely]]
            check_subclass(o);
        return look(o, t) ? Found::tensor : Found::unreadable;
    }

    // The exchange gives the memory as it is; a view such as `z.conj().imag` stands for the negative of what is there.
    bool negated(PyObject* o) const { return is_negated_(o).get() == Py_True; }

    // The tensor as the exchange gives it; false if that is not possible.
    bool look(PyObject* o, dlpack::Tensor& t) const {
        if (api_->tensor_from_object(o, &t) == 0) return true;
        PyErr_Clear();
        return false;
    }

    // Where the tensor's first element lies, a third of the price of `look`; 0 if it has no memory.
    uint64_t address(PyObject* o) const;

    // How often the tensor was changed in place; -1 where that is not counted (tensors of inference mode).
    int64_t version(PyObject* o) const;

   private:
    // A subclass with operations of its own may keep its values elsewhere, or mean something else by them.
    void check_subclass(PyObject* o) const;

    PyTypeObject* cls_ = nullptr;
    PyObject* plain_ = nullptr;
    const dlpack::Api* api_ = nullptr;
    Asked is_negated_, data_ptr_;
    getter version_getter_ = nullptr;
    void* version_closure_ = nullptr;
};

// Lets `allocate(type index, counts) -> (address, sequence of tensors)` make the Python tensors, and has the values copied in.
// `counts` is their number, or of tensors whose extents vary the list of how many parts each has.
void fetch(Device& device, PyObject* allocate, std::vector<Outgoing>& types);

}  // namespace acrobat
