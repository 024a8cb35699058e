// Python's exceptions and references, for the parts of the runtime that know Python.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "reading.h"

namespace acrobat {

inline PyObject* checked(PyObject* o) {
    if (!o) throw PythonError{};
    return o;
}

inline std::string type_name(PyObject* o) { return Py_TYPE(o)->tp_name; }

// The exception that is set, which is cleared; null if there is none.
PyObject* take_exception();
// Sets an exception, with the one it comes from.
void set_error(PyObject* type, const std::string& message, PyObject* cause = nullptr);
// `ValueError: what it says`
std::string exception_text(PyObject* exception);

// Runs the body of a function that Python calls: 0, or -1 where a Python exception is set.
template <class Body>
int guarded(Body&& body) {
    try {
        body();
        return 0;
    } catch (const PythonError&) {
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return -1;
}

}  // namespace acrobat
