// Values whose types are data: every value takes one slot, and descriptors say what it holds. Readers and writers walk over
// the descriptors where compiled models have a function for each type; what they refuse, they refuse in the same words.
#pragma once

#include <bit>

#include "run.h"

namespace acrobat::vm {

// A scalar itself (a float by its bits), a tensor's address, or the address of
//   a list:             an `Items`
//   a tuple:            its components' slots
//   a case of a union:  a slot with the number of the case, then its fields' slots.
using Slot = int64_t;
using Items = List<Slot>;

inline Slot* slots(Slot v) { return reinterpret_cast<Slot*>(v); }
inline Items& items(Slot v) { return *reinterpret_cast<Items*>(v); }
inline Slot slot(const void* p) { return reinterpret_cast<Slot>(p); }
inline Slot slot(double v) { return std::bit_cast<Slot>(v); }
inline double real(Slot v) { return std::bit_cast<double>(v); }
inline Slot boxed(Arena& arena, const Items& list) {
    Items* box = arena.make<Items>(1);
    *box = list;
    return slot(box);
}

enum class Kind : int32_t { Int, Bool, Float, Tensor, List, Tuple, Optional, Union };

struct Type {
    Kind kind;
    bool tensors;        // whether values hold any
    int32_t first;       // tensor: of its extents; list, optional: the item's type; tuple: of its parts; union: of its cases
    int32_t count;       // how many those are
    int32_t index;       // tensor: its `Outgoing`; optional: the number of the full case
    const char* wanted;  // union: what to say is expected
};
struct Part {
    int32_t type;
    const char* path;  // of a field: with the dot; of a tuple's component: null
};
struct Case {
    int32_t cls;  // in `Session::classes`
    int32_t first, count;  // its parts
};
struct Types {
    const Type* types;
    const Part* parts;
    const Case* cases;
    const int64_t* extents;
};

// ---- from Python

inline Slot read(Session& s, const Types& t, int32_t type, PyObject* o);

namespace detail {

inline Slot read_list(Session& s, const Types& t, const Type& type, PyObject* o) {
    if (!PyList_Check(o) && !PyTuple_Check(o)) mismatch(o, "a list");
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(o);
    PyObject** objects = PySequence_Fast_ITEMS(o);
    const Items list = make_list<Slot>(s.cx.host, size);
    Py_ssize_t i = 0;
    try {
        for (; i < size; ++i) list.data[i] = read(s, t, type.first, objects[i]);
    } catch (ReadError& e) {
        e.within("[" + std::to_string(i) + "]");
        throw;
    }
    return boxed(s.cx.host, list);
}

inline Slot read_tuple(Session& s, const Types& t, const Type& type, PyObject* o) {
    const Py_ssize_t elements = PyTuple_Check(o) ? PyTuple_GET_SIZE(o) : -1;
    if (elements != type.count) mismatch(o, "a tuple of " + std::to_string(type.count) + " elements", elements);
    Slot* tuple = s.cx.host.make<Slot>(size_t(type.count));
    int32_t i = 0;
    try {
        for (; i < type.count; ++i) tuple[i] = read(s, t, t.parts[type.first + i].type, PyTuple_GET_ITEM(o, i));
    } catch (ReadError& e) {
        e.within("[" + std::to_string(i) + "]");
        throw;
    }
    return slot(tuple);
}

inline Slot read_optional(Session& s, const Types& t, const Type& type, PyObject* o) {
    Slot* value = s.cx.host.make<Slot>(2);
    value[0] = o == Py_None ? 1 - type.index : type.index;
    if (o != Py_None) value[1] = read(s, t, type.first, o);
    return slot(value);
}

inline Slot read_case(Session& s, const Types& t, const Type& type, int32_t number, PyObject* o) {
    const Case& c = t.cases[type.first + number];
    const Class& cls = s.classes[size_t(c.cls)];
    Slot* value = s.cx.host.make<Slot>(size_t(1 + c.count));
    value[0] = number;
    int32_t i = 0;
    try {
        for (; i < c.count; ++i) value[1 + i] = read(s, t, t.parts[c.first + i].type, cls.field(o, size_t(i), s.kept));
    } catch (ReadError& e) {
        e.within(t.parts[c.first + i].path);
        throw;
    }
    return slot(value);
}

inline Slot read_union(Session& s, const Types& t, const Type& type, PyObject* o) {
    const Path::Level level(s.path, s.cx, o);
    const auto cls = [&](int32_t number) { return s.classes[size_t(t.cases[type.first + number].cls)].type; };
    for (int32_t k = 0; k < type.count; ++k)
        if (Py_TYPE(o) == cls(k)) return read_case(s, t, type, k, o);
    // A subclass is read as the dataclass it extends, after all exact matches failed.
    for (int32_t k = 0; k < type.count; ++k)
        if (PyObject_TypeCheck(o, cls(k))) return read_case(s, t, type, k, o);
    mismatch(o, type.wanted);
}

}  // namespace detail

inline Slot read(Session& s, const Types& t, int32_t number, PyObject* o) {
    const Type& type = t.types[number];
    switch (type.kind) {
        case Kind::Int: return read_int(o);
        case Kind::Bool: return read_bool(o);
        case Kind::Float: return slot(read_float(o));
        case Kind::Tensor: return s.tensor_reader.read(s.cx, o, t.extents + type.first, type.count);
        case Kind::List: return detail::read_list(s, t, type, o);
        case Kind::Tuple: return detail::read_tuple(s, t, type, o);
        case Kind::Optional: return detail::read_optional(s, t, type, o);
        case Kind::Union: return detail::read_union(s, t, type, o);
    }
    __builtin_unreachable();
}

// ---- to Python

// Notes the tensors of a value, in the order `build` takes them.
inline void collect(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t number, Slot v) {
    const Type& type = t.types[number];
    if (!type.tensors) return;
    switch (type.kind) {
        case Kind::Tensor: out[size_t(type.index)].tensors.push_back(v); break;
        case Kind::List:
            for (const Slot item : items(v)) collect(s, out, t, type.first, item);
            break;
        case Kind::Tuple:
            for (int32_t i = 0; i < type.count; ++i) collect(s, out, t, t.parts[type.first + i].type, slots(v)[i]);
            break;
        case Kind::Optional:
            if (slots(v)[0] == type.index) collect(s, out, t, type.first, slots(v)[1]);
            break;
        case Kind::Union: {
            s.cx.guard("the result");
            const Case& c = t.cases[type.first + slots(v)[0]];
            for (int32_t i = 0; i < c.count; ++i) collect(s, out, t, t.parts[c.first + i].type, slots(v)[1 + i]);
            break;
        }
        default: break;
    }
}

// A new reference. Throws PythonError.
inline PyObject* build(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t number, Slot v) {
    const Type& type = t.types[number];
    switch (type.kind) {
        case Kind::Int: return checked(PyLong_FromLongLong(v));
        case Kind::Bool: return checked(PyBool_FromLong(v != 0));
        case Kind::Float: return checked(PyFloat_FromDouble(real(v)));
        case Kind::Tensor: return out[size_t(type.index)].take();
        case Kind::List: {
            const Items& from = items(v);
            Ref list(checked(PyList_New(from.size)));
            for (int64_t i = 0; i < from.size; ++i) PyList_SET_ITEM(list.get(), i, build(s, out, t, type.first, from.data[i]));
            return list.release();
        }
        case Kind::Tuple: {
            Ref tuple(checked(PyTuple_New(type.count)));
            for (int32_t i = 0; i < type.count; ++i)
                PyTuple_SET_ITEM(tuple.get(), i, build(s, out, t, t.parts[type.first + i].type, slots(v)[i]));
            return tuple.release();
        }
        case Kind::Optional: {
            s.cx.guard("the result");
            if (slots(v)[0] != type.index) Py_RETURN_NONE;
            return build(s, out, t, type.first, slots(v)[1]);
        }
        case Kind::Union: {
            s.cx.guard("the result");
            const Case& c = t.cases[type.first + slots(v)[0]];
            std::vector<Ref> values;
            values.reserve(size_t(c.count));
            for (int32_t i = 0; i < c.count; ++i)
                values.emplace_back(build(s, out, t, t.parts[c.first + i].type, slots(v)[1 + i]));
            return s.classes[size_t(c.cls)].make(values.data());
        }
    }
    __builtin_unreachable();
}

}  // namespace acrobat::vm
