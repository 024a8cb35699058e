// Instances are read straight from Python objects, results built as Python objects. Fields of classes with __slots__ are read at
// their offset, tensors through the DLPack exchange functions of their class, so that neither calls back into Python.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "context.h"

namespace acrobat {

// Owns one reference.
class Ref {
   public:
    explicit Ref(PyObject* o = nullptr) : object_(o) {}
    Ref(Ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyObject* release() {
        PyObject* o = object_;
        object_ = nullptr;
        return o;
    }
    explicit operator bool() const { return object_ != nullptr; }

   private:
    PyObject* object_;
};

inline PyObject* checked(PyObject* o) {
    if (!o) throw PythonError{};
    return o;
}

inline std::string type_name(PyObject* o) { return Py_TYPE(o)->tp_name; }

// The exception that is set, which is cleared; null if there is none.
inline PyObject* take_exception() {
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!type) return nullptr;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    Py_DECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

// Sets an exception, with the one it comes from.
inline void set_error(PyObject* type, const std::string& message, PyObject* cause = nullptr) {
    PyErr_SetString(type, message.c_str());
    if (!cause) return;
    PyObject* raised = take_exception();
    Py_INCREF(cause);
    PyException_SetCause(raised, cause);
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(raised);
#else
    Py_INCREF(Py_TYPE(raised));
    PyErr_Restore(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised, PyException_GetTraceback(raised));
#endif
}

// `ValueError: what it says`
inline std::string exception_text(PyObject* exception) {
    Ref text(PyObject_Str(exception));
    const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (!utf8) PyErr_Clear();
    return type_name(exception) + ": " + (utf8 ? utf8 : "?");
}

// What does not fit, and where: the path is put together while the error passes through the readers.
struct ReadError {
    std::string path;
    std::string message;
    Ref cause{};  // the Python exception behind it, if there is one

    void within(const std::string& part) {
        static const std::string more = " ... ";
        if (path.size() < 160)
            path = part + path;
        else if (path.compare(0, more.size(), more) != 0)
            path = more + path;
    }
};

// The objects that are being read, one within the other. An object is compared with those around it (Brent's algorithm: of these only
// the one at the last power of two of the depth), which finds what contains itself within a few turns. Otherwise the turns would
// go on until the stack ends, and each may read as much as the memory holds.
class Path {
   public:
    void begin() {
        const char here = 0;
        near_ = &here - kNear;
        depth_ = 0;
    }

    class Level {
       public:
        Level(Path& path, const Context& cx, PyObject* o) : path_(path) {
            const char here = 0;
            deep_ = &here < path.near_;
            if (deep_) [[unlikely]]
                path.enter(cx, o);
        }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        ~Level() {
            if (deep_) [[unlikely]]
                --path_.depth_;
        }

       private:
        Path& path_;
        bool deep_;
    };

   private:
    static constexpr ptrdiff_t kNear = 8 << 10;  // bytes of stack: objects nested less deeply are not compared

    void enter(const Context& cx, PyObject* o) {
        cx.guard("the instance");
        if (std::has_single_bit(uint64_t(depth_ + 1)))
            mark_[std::bit_width(uint64_t(depth_ + 1)) - 1] = o;
        else if (mark_[std::bit_width(uint64_t(depth_ + 1)) - 1] == o)
            throw ReadError{"", "this " + type_name(o) + " contains itself"};
        ++depth_;
    }

    const char* near_ = nullptr;
    int64_t depth_ = 0;
    PyObject* mark_[64] = {};
};

// A dataclass of the model and where its fields lie.
struct Class {
    PyTypeObject* type = nullptr;
    struct Field {
        PyObject* name;
        Py_ssize_t offset;  // of the slot; -1: an ordinary attribute
    };
    std::vector<Field> fields;
    bool slots_only = false;

    Class() = default;
    Class(Class&& other) noexcept
        : type(std::exchange(other.type, nullptr)), fields(std::move(other.fields)), slots_only(other.slots_only) {}
    ~Class() {
        if (!type) return;
        for (const Field& f : fields) Py_DECREF(f.name);
        Py_DECREF(type);
    }

    void set(PyObject* cls, const std::vector<const char*>& names) {
        type = reinterpret_cast<PyTypeObject*>(cls);
        Py_INCREF(cls);
        for (const char* name : names) {
            Field f{checked(PyUnicode_InternFromString(name)), -1};
            Ref descriptor(PyObject_GetAttr(cls, f.name));
            if (!descriptor)
                PyErr_Clear();
            else if (Py_TYPE(descriptor.get()) == &PyMemberDescr_Type) {
                const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member;
                if (member->type == T_OBJECT_EX) f.offset = member->offset;
            }
            fields.push_back(f);
        }
        // A dataclass whose constructor only fills its slots is built by filling them.
        slots_only = type->tp_dictoffset == 0 && !PyObject_HasAttrString(cls, "__post_init__");
        for (const Field& f : fields) slots_only = slots_only && f.offset >= 0;
    }

    // A new object with these field values, whose references it takes over. Throws PythonError.
    PyObject* make(Ref* values) const {
        if (slots_only) {
            PyObject* o = checked(type->tp_alloc(type, 0));
            for (size_t i = 0; i < fields.size(); ++i)
                *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + fields[i].offset) = values[i].release();
            return o;
        }
        std::vector<PyObject*> arguments;
        for (size_t i = 0; i < fields.size(); ++i) arguments.push_back(values[i].get());
        return checked(PyObject_Vectorcall(reinterpret_cast<PyObject*>(type), arguments.data(), arguments.size(), nullptr));
    }

    // Borrowed: the instance holds it, or `kept` if a property has made it.
    PyObject* field(PyObject* o, size_t i, std::vector<Ref>& kept) const {
        const Field& f = fields[i];
        if (f.offset >= 0) {
            PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + f.offset);
            if (value) return value;
        }
        Ref value(PyObject_GetAttr(o, f.name));
        if (!value) {
            if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};  // Ctrl-C and the like
            const bool missing = PyErr_ExceptionMatches(PyExc_AttributeError);
            Ref cause(take_exception());
            const std::string name = std::string("`") + PyUnicode_AsUTF8(f.name) + "`";
            throw ReadError{"", missing ? "a " + type_name(o) + " without its field " + name
                                        : "the field " + name + " of " + type_name(o) + " raised " + exception_text(cause.get()),
                            std::move(cause)};
        }
        if (Py_REFCNT(value.get()) > 1) return value.get();
        kept.push_back(std::move(value));
        return kept.back().get();
    }
};

[[noreturn]] inline void mismatch(PyObject* o, const std::string& wanted, Py_ssize_t elements = -1) {
    throw ReadError{"", "expected " + wanted + ", got " +
                            (o == Py_None    ? "None"
                             : elements >= 0 ? "one of " + std::to_string(elements)
                                             : "a value of type " + type_name(o))};
}

inline int64_t read_int(PyObject* o) {
    if (!PyLong_Check(o)) [[unlikely]] {
        if (PyIndex_Check(o)) {
            Ref index(PyNumber_Index(o));
            if (index) return read_int(index.get());
            PyErr_Clear();
        }
        mismatch(o, "an int");
    }
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) throw ReadError{"", "an int that does not fit into 64 bits"};
    return value;
}
inline bool read_bool(PyObject* o) {
    if (!PyBool_Check(o)) mismatch(o, "a bool");
    return o == Py_True;
}
inline double read_float(PyObject* o) {
    if (!PyFloat_Check(o) && !PyLong_Check(o)) mismatch(o, "a float");
    const double value = PyFloat_AsDouble(o);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        throw ReadError{"", "a number that does not fit into a float"};
    }
    return value;
}

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

inline std::string shape_text(const int64_t* shape, int ndim) {
    std::string text = "(";
    for (int i = 0; i < ndim; ++i) text += std::to_string(shape[i]) + (ndim == 1 || i + 1 < ndim ? "," : "") + (i + 1 < ndim ? " " : "");
    return text + ")";
}

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
    void set(PyObject* cls, PyObject* plain) {
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

    // Address of a float32 CPU tensor of exactly this shape; one that is not contiguous, not aligned or lazily negated is copied.
    Tensor read(Context& cx, PyObject* o, const int64_t* shape, int ndim) const {
        if (!PyObject_TypeCheck(o, cls_)) mismatch(o, "a Tensor of shape " + shape_text(shape, ndim));
        if (Py_TYPE(o) != cls_) [[unlikely]]
            check_subclass(o);
        dlpack::Tensor t{};
        const auto unreadable = [&] {
            throw ReadError{"", "expected a float32 CPU tensor of shape " + shape_text(shape, ndim) +
                                    ", got one whose memory cannot be read (sparse, quantised, without storage or within a "
                                    "transform of torch.func)"};
        };
        if (api_->tensor_from_object(o, &t) != 0) {
            PyErr_Clear();
            unreadable();
        }
        const auto is = [&](bool fits) {
            if (!fits)
                throw ReadError{"", "expected a float32 CPU tensor of shape " + shape_text(shape, ndim) + ", got one of shape " +
                                        shape_text(t.shape, t.ndim) + (t.device.type != 1 ? " on another device" : "") +
                                        (t.dtype.code != 2 || t.dtype.bits != 32 ? " and another dtype" : "")};
        };
        is(t.device.type == 1 && t.dtype.code == 2 && t.dtype.bits == 32 && t.dtype.lanes == 1 && t.ndim == ndim);
        int64_t count = 1;
        bool contiguous = true;
        for (int i = ndim - 1; i >= 0; --i) {
            is(t.shape[i] == shape[i]);
            if (t.strides && shape[i] != 1 && t.strides[i] != count) contiguous = false;
            count *= shape[i];
        }
        if (!t.data && count) unreadable();
        // The exchange gives the memory as it is; a view such as `z.conj().imag` stands for the negative of what is there.
        const bool negated = is_negated_(o).get() == Py_True;
        const float* data = reinterpret_cast<const float*>(static_cast<const char*>(t.data) + t.byte_offset);
        const bool aligned = reinterpret_cast<uintptr_t>(data) % alignof(float) == 0;  // bytes taken as floats need not be
        if (contiguous && aligned && !negated) return cx.address(data);
        float* copy = static_cast<float*>(cx.host.take(size_t(count) * 4));
        for (int64_t i = 0; i < count; ++i) {
            int64_t at = contiguous ? i : 0;
            if (!contiguous)
                for (int64_t d = ndim - 1, rest = i; d >= 0; --d) at += rest % shape[d] * t.strides[d], rest /= shape[d];
            std::memcpy(copy + i, reinterpret_cast<const char*>(data) + at * 4, 4);
            if (negated) copy[i] = -copy[i];
        }
        return cx.address(copy);
    }

    // The tensor as the exchange gives it; false if that is not possible.
    bool look(PyObject* o, dlpack::Tensor& t) const {
        if (api_->tensor_from_object(o, &t) == 0) return true;
        PyErr_Clear();
        return false;
    }

    // Where the tensor's first element lies, a third of the price of `look`; 0 if it has no memory.
    uint64_t address(PyObject* o) const {
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

    // How often the tensor was changed in place; -1 where that is not counted (tensors of inference mode).
    int64_t version(PyObject* o) const {
        Ref version(version_getter_ ? version_getter_(o, version_closure_) : PyObject_GetAttrString(o, "_version"));
        const int64_t value = version ? PyLong_AsLongLong(version.get()) : -1;
        if (PyErr_Occurred()) PyErr_Clear();
        return value;
    }

   private:
    // A subclass with operations of its own may keep its values elsewhere, or mean something else by them.
    void check_subclass(PyObject* o) const {
        Ref plain(checked(PyObject_CallOneArg(plain_, reinterpret_cast<PyObject*>(Py_TYPE(o)))));
        if (plain.get() != Py_True)
            throw ReadError{"", "a tensor of the class " + type_name(o) +
                                    ", which changes what operations do; give it as an ordinary torch.Tensor"};
    }

    PyTypeObject* cls_ = nullptr;
    PyObject* plain_ = nullptr;
    const dlpack::Api* api_ = nullptr;
    Asked is_negated_, data_ptr_;
    getter version_getter_ = nullptr;
    void* version_closure_ = nullptr;
};

// ---- results
// All result tensors of one type, gathered into one buffer that Python allocates and splits.
struct Outgoing {
    int64_t elements;  // 4-byte elements of one tensor
    std::vector<Tensor> tensors;
    std::vector<PyObject*> objects;  // borrowed from `holder`
    Ref holder;
    size_t next = 0;

    PyObject* take() {
        PyObject* o = objects[next++];
        Py_INCREF(o);
        return o;
    }
};

// Lets `allocate(type index, count) -> (address, list of count tensors)` make the Python tensors, and copies the values in.
inline void fetch(const Context& cx, PyObject* allocate, std::vector<Outgoing>& types) {
    for (size_t i = 0; i < types.size(); ++i) {
        Outgoing& out = types[i];
        if (out.tensors.empty()) continue;
        Ref made(PyObject_CallFunction(allocate, "nn", Py_ssize_t(i), Py_ssize_t(out.tensors.size())));
        if (!made) throw PythonError{};
        char* to = static_cast<char*>(PyLong_AsVoidPtr(PyTuple_GET_ITEM(made.get(), 0)));
        if (!to && PyErr_Occurred()) throw PythonError{};
        const size_t bytes = size_t(out.elements) * 4;
        for (const Tensor t : out.tensors) {
            std::memcpy(to, cx.pointer(t), bytes);
            to += bytes;
        }
        out.holder = Ref(checked(PySequence_Fast(PyTuple_GET_ITEM(made.get(), 1), "allocate must give a sequence of tensors")));
        PyObject** items = PySequence_Fast_ITEMS(out.holder.get());
        out.objects.assign(items, items + PySequence_Fast_GET_SIZE(out.holder.get()));
    }
}

}  // namespace acrobat
