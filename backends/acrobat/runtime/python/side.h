// The part of a session that is about Python.
#pragma once

#include "guard.h"

namespace acrobat {

struct PythonSide {
    TensorReader tensor_reader;
    Guard guard;
    PyObject* instance_error = PyExc_ValueError;
    PyObject* resource_error = PyExc_RuntimeError;
    PyObject* schedule_error = PyExc_AssertionError;
};

}  // namespace acrobat
