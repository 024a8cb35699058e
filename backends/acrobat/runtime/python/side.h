// The part of a session that is about Python.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "guard.h"
#include "symbols.h"

namespace acrobat {

struct PythonSide {
    TensorReader tensor_reader;
    Guard guard;
    Symbols symbols;
    PyObject* arrange = nullptr;  // (type index, tensor, extents that vary) -> the tensor in the order of its dimensions
    std::map<std::pair<PyObject*, int>, void*> values_of_objects;  // by object of the instance being read, and type
    std::vector<PyObject*> numbered;  // the objects of this wave's instances that have a number (`next_object`), borrowed
    PyObject* instance_error = PyExc_ValueError;
    PyObject* resource_error = PyExc_RuntimeError;
    PyObject* schedule_error = PyExc_AssertionError;
    PyObject* device_error = PyExc_RuntimeError;
    std::string advice;  // what to do about an instance that does not fit

    void begin_wave() { numbered.clear(); }
    void begin_instance() { values_of_objects.clear(); }
};

// As `guarded` of exceptions.h, for a body that may throw ResourceError or DeviceError.
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
