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

// Clears the exception that is set and returns it, a new reference; null if there is none.
PyObject* take_exception();
// Sets an exception, with `cause` as its cause.
void set_error(PyObject* type, const std::string& message, PyObject* cause = nullptr);
// The text of a string, which may be null with an exception set: that is cleared, and the text is `otherwise`.
std::string utf8_or(const Ref& string, const char* otherwise);
// The class and message of an exception, as in `ValueError: the message`.
std::string exception_text(PyObject* exception);

// Runs the body of a function that Python calls. Returns 0, or -1 with a Python exception set if the body throws.
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
