// Reading instances and building results: what `reading.h` and `building.h` declare.
#include "exceptions.h"

#include <structmember.h>

#include <bit>
#include <cstring>

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

void Class::set(PyObject* cls, const char* const* field_names, PyObject* keys_of_dict, bool plain) {
    type = reinterpret_cast<PyTypeObject*>(cls);
    Py_INCREF(cls);
    if (PyLong_Check(keys_of_dict)) {
        rank = int(PyLong_AsLong(keys_of_dict));
    } else if (keys_of_dict != Py_None) {
        Py_INCREF(keys_of_dict);
        keys = Ref(keys_of_dict);
    }
    of_times = std::strcmp(type->tp_name, "datetime.datetime") == 0;
    for (; *field_names; ++field_names) {
        Field f{checked(PyUnicode_InternFromString(*field_names)), -1};
        if (keys) {
            fields.push_back(f);
            continue;
        }
        Ref descriptor(PyObject_GetAttr(cls, f.name));
        if (!descriptor)
            PyErr_Clear();
        else if (Py_TYPE(descriptor.get()) == &PyMemberDescr_Type) {
            const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member;
            if (member->type == T_OBJECT_EX) f.offset = member->offset;
        } else if (Py_TYPE(descriptor.get()) == &PyGetSetDescr_Type) {
            exact = true;
        }
        fields.push_back(f);
    }
    for (Py_ssize_t k = 0; keys && k < PyTuple_GET_SIZE(keys.get()); ++k)
        for (size_t i = 0; i < fields.size(); ++i)
            if (PyUnicode_Compare(PyTuple_GET_ITEM(keys.get(), k), fields[i].name) == 0) by_key.push_back(i);
    names = Ref(checked(PyTuple_New(Py_ssize_t(fields.size()))));
    for (size_t i = 0; i < fields.size(); ++i) {
        Py_INCREF(fields[i].name);
        PyTuple_SET_ITEM(names.get(), Py_ssize_t(i), fields[i].name);
    }
    // A dataclass whose constructor only fills its slots is built by filling them.
    bool slots_only = type->tp_dictoffset == 0 && !PyObject_HasAttrString(cls, "__post_init__");
    for (const Field& f : fields) slots_only = slots_only && f.offset >= 0;
    construction = plain ? Construction::by_attributes : keys ? Construction::as_dict : slots_only ? Construction::by_slots : Construction::by_call;
}

bool Class::has_rank(PyObject* o) const {
    if (rank < 0) return true;
    Ref ndim(PyObject_GetAttrString(o, "ndim"));
    if (!ndim) throw PythonError{};
    return PyLong_AsLong(ndim.get()) == rank;
}

bool Class::has_no_zone(PyObject* o) const {
    if (!of_times) return true;
    Ref zone(PyObject_GetAttrString(o, "tzinfo"));
    if (!zone) throw PythonError{};
    if (zone.get() == Py_None) return true;
    throw ReadError{"", "a " + type_name(o) + " with a time zone: instances have times without one, `t.replace(tzinfo=None)`"};
}

bool Class::is(PyObject* o) const {
    if (!keys) return Py_TYPE(o) == type && has_rank(o) && has_no_zone(o);
    if (!PyDict_Check(o) || PyDict_GET_SIZE(o) != PyTuple_GET_SIZE(keys.get())) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
        const int present = PyDict_Contains(o, PyTuple_GET_ITEM(keys.get(), i));
        if (present < 0) throw PythonError{};
        if (!present) return false;
    }
    return true;
}

PyObject* Class::make(Ref* values) const {
    if (construction == Construction::by_slots) {
        PyObject* o = checked(type->tp_alloc(type, 0));
        for (size_t i = 0; i < fields.size(); ++i)
            *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + fields[i].offset) = values[i].release();
        return o;
    }
    if (construction == Construction::by_call) {
        std::vector<PyObject*> arguments;
        for (size_t i = 0; i < fields.size(); ++i) arguments.push_back(values[i].get());
        return checked(PyObject_Vectorcall(reinterpret_cast<PyObject*>(type), arguments.data(), 0, names.get()));
    }
    if (construction == Construction::as_dict) {
        Ref o(checked(PyDict_New()));
        for (size_t i : by_key)
            if (PyDict_SetItem(o.get(), fields[i].name, values[i].get())) throw PythonError{};
        return o.release();
    }
    Ref none(checked(PyTuple_New(0)));
    Ref o(checked(PyBaseObject_Type.tp_new(type, none.get(), nullptr)));
    for (size_t i = 0; i < fields.size(); ++i)
        if (PyObject_GenericSetAttr(o.get(), fields[i].name, values[i].get())) throw PythonError{};
    return o.release();
}

PyObject* Class::attribute(PyObject* o, const Field& f, std::vector<Ref>& kept) const {
    if (keys) {  // the key exists: `is` has looked for all of them
        PyObject* value = PyDict_GetItemWithError(o, f.name);
        if (!value) throw PythonError{};
        return value;
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

namespace {

// A dictionary in words, by its first keys, as in `a dict of op, x`.
std::string dict_text(PyObject* o) {
    Ref keys(PyDict_Keys(o));
    std::string text = "a dict";
    for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()) && i < 12; ++i) {
        PyObject* key = PyList_GET_ITEM(keys.get(), i);
        text += (i ? ", " : " of ") + utf8_or(Ref(PyUnicode_Check(key) ? PyObject_Str(key) : PyObject_Repr(key)), "?");
    }
    return text;
}

}  // namespace

void mismatch(PyObject* o, const std::string& expected, int64_t elements) {
    throw ReadError{"", "expected " + expected + ", got " +
                            (o == Py_None    ? "None"
                             : elements >= 0 ? "one of " + std::to_string(elements)
                             : PyDict_Check(o) ? dict_text(o)
                                             : "a value of type " + type_name(o)),
                    Ref(), true};
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

Elements read_varying_tuple(PyObject* o) {
    if (!PyTuple_Check(o)) mismatch(o, "a tuple");
    return {PySequence_Fast_ITEMS(o), PyTuple_GET_SIZE(o)};
}

PyObject* const* read_tuple(PyObject* o, int64_t elements) {
    const Py_ssize_t size = PyTuple_Check(o) ? PyTuple_GET_SIZE(o) : -1;
    if (size != elements) mismatch(o, "a tuple of " + std::to_string(elements) + " elements", size);
    return PySequence_Fast_ITEMS(o);
}

void* known(const Session& s, PyObject* o, int type) {
    const auto entry = s.python->values_of_objects.find({o, type});
    return entry == s.python->values_of_objects.end() ? nullptr : entry->second;
}

void remember(Session& s, PyObject* o, int type, void* value) { s.python->values_of_objects.emplace(std::pair{o, type}, value); }

// Whether objects of derived classes are taken for those of a class: of Python's own and PyTorch's, such as the dictionary that a
// Counter is, but not of dates. (`object` stands for all objects beside values of other types.) A class of the model has methods
// that others override.
static bool takes_derived(const Session& s, const Class& cls) {
    return !cls.keys && !cls.exact && (!(cls.type->tp_flags & Py_TPFLAGS_HEAPTYPE) || s.python->tensor_reader.is_of_class(cls.type));
}

int case_of(const Session& s, PyObject* o, int first, int count, const char* expected) {
    const Class* classes = s.classes.data() + first;
    for (int k = 0; k < count; ++k)
        if (classes[k].is(o)) return k;
    for (int k = 0; k < count; ++k)
        if (takes_derived(s, classes[k]) && PyObject_TypeCheck(o, classes[k].type) && classes[k].has_rank(o)) return k;
    mismatch(o, expected);
}

// The elements of a list that is kept until the run ends.
static Elements kept_list(Session& s, PyObject* list) {
    s.kept.emplace_back(checked(list));
    return {PySequence_Fast_ITEMS(list), PyList_GET_SIZE(list)};
}

// What a path says of an object: its `repr`.
static std::string shown(PyObject* o) { return utf8_or(Ref(PyObject_Repr(o)), "?"); }

Elements read_set(Session& s, PyObject* o) {
    if (!PyAnySet_Check(o)) mismatch(o, "a set");
    return kept_list(s, PySequence_List(o));
}
std::string place_in_set(PyObject* element) { return "{" + shown(element) + "}"; }

// What makes a dictionary's values for missing keys: the name of a class, or a function's with its line.
static std::string made_for_missing(PyObject* o) {
    Ref factory(PyObject_GetAttrString(o, "default_factory"));
    if (!factory) {
        PyErr_Clear();
        return type_name(o) + "()";
    }
    if (PyType_Check(factory.get())) return reinterpret_cast<PyTypeObject*>(factory.get())->tp_name;
    if (!PyFunction_Check(factory.get())) return "";
    const auto* function = reinterpret_cast<PyFunctionObject*>(factory.get());
    const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
    const auto text = [](PyObject* name) { return PyUnicode_Check(name) ? utf8_or(Ref(Py_NewRef(name)), "") : std::string(); };
    return text(function->func_module) + "." + text(function->func_qualname) + ":" + std::to_string(code->co_firstlineno);
}

Elements read_dict(Session& s, PyObject* o, const std::string& missing) {
    if (!PyDict_Check(o)) mismatch(o, "a dict");
    if (!missing.empty() && made_for_missing(o) != missing)
        mismatch(o, missing == "Counter()" ? "a Counter" : "a defaultdict(" + missing + ")");
    return kept_list(s, PyDict_Items(o));
}
PyObject* key_of(PyObject* pair) { return PyTuple_GET_ITEM(pair, 0); }
PyObject* value_of(PyObject* pair) { return PyTuple_GET_ITEM(pair, 1); }
std::string place_of(PyObject* pair) { return "[" + shown(key_of(pair)) + "]"; }

int64_t read_symbol(Session& s, PyObject* o) { return s.python->symbols.number(o); }
int64_t next_object(Session& s, PyObject* o) {
    s.python->numbered.push_back(o);
    return int64_t(s.python->numbered.size());
}
PyObject* build_object(const Session& s, int64_t number) {
    PyObject* o = s.python->numbered[size_t(number - 1)];
    take_reference(o);
    return o;
}

PyObject* take_varying(Session& s, Outgoing& out) {
    const size_t number = out.next;
    Ref tensor(out.take());
    if (!out.arranged) return tensor.release();
    Ref sizes(checked(PyTuple_New(out.lists)));
    for (int32_t i = 0; i < out.lists; ++i)
        PyTuple_SET_ITEM(sizes.get(), i, checked(PyLong_FromLongLong(out.sizes[number * size_t(out.lists) + size_t(i)])));
    return checked(PyObject_CallFunction(s.python->arrange, "nOO", Py_ssize_t(out.index), tensor.get(), sizes.get()));
}

PyObject* build_int(int64_t value) { return checked(PyLong_FromLongLong(value)); }
PyObject* build_bool(bool value) { return checked(PyBool_FromLong(value)); }
PyObject* build_float(double value) { return checked(PyFloat_FromDouble(value)); }
PyObject* build_none() { Py_RETURN_NONE; }

PyObject* new_list(int64_t size) { return checked(PyList_New(size)); }
PyObject* new_tuple(int64_t size) { return checked(PyTuple_New(size)); }
void put_in_list(PyObject* list, int64_t index, PyObject* element) { PyList_SET_ITEM(list, index, element); }
void put_in_tuple(PyObject* tuple, int64_t index, PyObject* element) { PyTuple_SET_ITEM(tuple, index, element); }
PyObject* new_dict() { return checked(PyDict_New()); }
PyObject* new_set() { return checked(PySet_New(nullptr)); }
void put_in_dict(PyObject* dict, PyObject* key, PyObject* value) {
    const Ref held_key(key), held_value(value);
    if (PyDict_SetItem(dict, key, value) < 0) throw PythonError{};
}
void put_in_set(PyObject* set, PyObject* element) {
    const Ref held(element);
    if (PySet_Add(set, element) < 0) throw PythonError{};
}
PyObject* build_symbol(const Session& s, int64_t number) { return s.python->symbols.value(number); }

}  // namespace acrobat
