// The part of a session that is about Python.
#pragma once

#include <map>
#include <utility>

#include "guard.h"

namespace acrobat {

struct PythonSide {
    TensorReader tensor_reader;
    Guard guard;
    std::map<std::pair<PyObject*, int>, void*> known;  // objects of the instance that is being read, by type of the program
    PyObject* instance_error = PyExc_ValueError;
    PyObject* resource_error = PyExc_RuntimeError;
    PyObject* schedule_error = PyExc_AssertionError;
};

}  // namespace acrobat
