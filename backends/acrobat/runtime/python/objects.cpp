// Reading instances and building results: what `reading.h` and `building.h` declare.
#include "exceptions.h"

#include <structmember.h>

#include <bit>

#include "building.h"
#include "side.h"
#include "../session.h"

namespace acrobat {

void take_reference(PyObject* o) { Py_INCREF(o); }
void drop_reference(PyObject* o) { Py_DECREF(o); }

void ReadError::within(const std::string& part) {
    static const std::string more = " ... ";
    if (path.size() < 160)
        path = part + path;
    else if (path.compare(0, more.size(), more) != 0)
        path = more + path;
}

void ReadError::within_item(int64_t index) { within("[" + std::to_string(index) + "]"); }

void Path::enter(const Context& cx, PyObject* o) {
    cx.guard("the instance");
    if (std::has_single_bit(uint64_t(depth_ + 1)))
        mark_[std::bit_width(uint64_t(depth_ + 1)) - 1] = o;
    else if (mark_[std::bit_width(uint64_t(depth_ + 1)) - 1] == o)
        throw ReadError{"", "this " + type_name(o) + " contains itself"};
    ++depth_;
}

Class::~Class() {
    if (!type) return;
    for (const Field& f : fields) Py_DECREF(f.name);
    Py_DECREF(type);
}

void Class::set(PyObject* cls, const char* const* names) {
    type = reinterpret_cast<PyTypeObject*>(cls);
    Py_INCREF(cls);
    for (; *names; ++names) {
        Field f{checked(PyUnicode_InternFromString(*names)), -1};
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

PyObject* Class::make(Ref* values) const {
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

PyObject* Class::attribute(PyObject* o, const Field& f, std::vector<Ref>& kept) {
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

void mismatch(PyObject* o, const std::string& wanted, int64_t elements) {
    throw ReadError{"", "expected " + wanted + ", got " +
                            (o == Py_None    ? "None"
                             : elements >= 0 ? "one of " + std::to_string(elements)
                                             : "a value of type " + type_name(o))};
}

int64_t read_int(PyObject* o) {
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
bool read_bool(PyObject* o) {
    if (!PyBool_Check(o)) mismatch(o, "a bool");
    return o == Py_True;
}
double read_float(PyObject* o) {
    if (!PyFloat_Check(o) && !PyLong_Check(o)) mismatch(o, "a float");
    const double value = PyFloat_AsDouble(o);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        throw ReadError{"", "a number that does not fit into a float"};
    }
    return value;
}

bool is_none(PyObject* o) { return o == Py_None; }

Tensor read_tensor(Session& s, PyObject* o, const int64_t* shape, int ndim) {
    return s.python->tensor_reader.read(s.cx, s.kept, o, shape, ndim);
}

Elements read_list(PyObject* o) {
    if (!PyList_Check(o) && !PyTuple_Check(o)) mismatch(o, "a list");
    return {PySequence_Fast_ITEMS(o), PySequence_Fast_GET_SIZE(o)};
}

PyObject* const* read_tuple(PyObject* o, int64_t elements) {
    const Py_ssize_t size = PyTuple_Check(o) ? PyTuple_GET_SIZE(o) : -1;
    if (size != elements) mismatch(o, "a tuple of " + std::to_string(elements) + " elements", size);
    return PySequence_Fast_ITEMS(o);
}

void* known(const Session& s, PyObject* o, int type) {
    const auto found = s.python->known.find({o, type});
    return found == s.python->known.end() ? nullptr : found->second;
}

void remember(Session& s, PyObject* o, int type, void* value) { s.python->known.emplace(std::pair{o, type}, value); }

int case_of(const Session& s, PyObject* o, int first, int count, const char* wanted) {
    const Class* classes = s.classes.data() + first;
    for (int k = 0; k < count; ++k)
        if (Py_TYPE(o) == classes[k].type) return k;
    for (int k = 0; k < count; ++k)
        if (PyObject_TypeCheck(o, classes[k].type)) return k;
    mismatch(o, wanted);
}

PyObject* build_int(int64_t value) { return checked(PyLong_FromLongLong(value)); }
PyObject* build_bool(bool value) { return checked(PyBool_FromLong(value)); }
PyObject* build_float(double value) { return checked(PyFloat_FromDouble(value)); }
PyObject* build_none() { Py_RETURN_NONE; }

PyObject* new_list(int64_t size) { return checked(PyList_New(size)); }
PyObject* new_tuple(int64_t size) { return checked(PyTuple_New(size)); }
void put_in_list(PyObject* list, int64_t index, PyObject* element) { PyList_SET_ITEM(list, index, element); }
void put_in_tuple(PyObject* tuple, int64_t index, PyObject* element) { PyTuple_SET_ITEM(tuple, index, element); }

}  // namespace acrobat
