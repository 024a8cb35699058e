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
    PyObject* device_error = PyExc_RuntimeError;
};

// As `guarded`, where the body may find that memory ran out or the device failed.
template <class Body>
int guarded(const PythonSide& python, Body&& body) {
    return guarded([&] {
        try {
            body();
        } catch (const ResourceError& e) {
            set_error(python.resource_error, e.what());
            throw PythonError{};
        } catch (const DeviceError& e) {
            set_error(python.device_error, e.what());
            throw PythonError{};
        }
    });
}

}  // namespace acrobat
