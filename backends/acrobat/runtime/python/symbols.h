// Numbers for strings and members of Enums: a program only compares these and uses them as keys, for which numbers are enough.
#pragma once

#include "exceptions.h"

namespace acrobat {

class Symbols {
   public:
    // `values` is the list of the strings and Enum members in the source, by number; `member` is the class Enum, which the
    // caller keeps alive. Throws PythonError.
    void set(PyObject* values, PyObject* member) {
        member_ = reinterpret_cast<PyTypeObject*>(member);
        values_ = Ref(checked(PySequence_List(values)));
        numbers_ = Ref(checked(PyDict_New()));
        of_source_ = PyList_GET_SIZE(values_.get());
        for (Py_ssize_t i = 0; i < of_source_; ++i) enter(PyList_GET_ITEM(values_.get(), i), i);
    }

    // Is called when a mini-batch begins: forgets all values that are not in the source.
    void begin() {
        if (!values_ || PyList_GET_SIZE(values_.get()) == of_source_) return;
        for (Py_ssize_t i = of_source_; i < PyList_GET_SIZE(values_.get()); ++i)
            if (PyDict_DelItem(numbers_.get(), PyList_GET_ITEM(values_.get(), i)) < 0) PyErr_Clear();
        if (PyList_SetSlice(values_.get(), of_source_, PyList_GET_SIZE(values_.get()), nullptr) < 0) throw PythonError{};
    }

    // The number of a string or member of an Enum; a new one gets the next number. Throws ReadError for other objects.
    int64_t number(PyObject* o) {
        if (!PyUnicode_Check(o) && !PyObject_TypeCheck(o, member_)) mismatch(o, "a string or a member of an Enum");
        if (PyObject* entry = PyDict_GetItemWithError(numbers_.get(), o)) return PyLong_AsLongLong(entry);
        if (PyErr_Occurred()) throw PythonError{};
        const Py_ssize_t next = PyList_GET_SIZE(values_.get());
        if (PyList_Append(values_.get(), o) < 0) throw PythonError{};
        enter(o, next);
        return next;
    }

    // The value that has a number, a new reference.
    PyObject* value(int64_t number) const {
        PyObject* o = PyList_GetItem(values_.get(), Py_ssize_t(number));
        take_reference(checked(o));
        return o;
    }

    PyObject* values() const { return values_.get(); }

   private:
    void enter(PyObject* o, Py_ssize_t number) {
        Ref index(checked(PyLong_FromSsize_t(number)));
        if (PyDict_SetItem(numbers_.get(), o, index.get()) < 0) throw PythonError{};
    }

    PyTypeObject* member_ = nullptr;
    Ref values_, numbers_;
    Py_ssize_t of_source_ = 0;
};

}  // namespace acrobat
