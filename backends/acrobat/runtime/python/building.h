// Results are built as Python objects. Each function gives a new reference and throws PythonError.
#pragma once

#include <cstdint>

#include "reading.h"

namespace acrobat {

PyObject* build_int(int64_t value);
PyObject* build_bool(bool value);
PyObject* build_float(double value);
PyObject* build_none();

// A list or tuple whose elements are not there yet, and an element that it takes over.
PyObject* new_list(int64_t size);
PyObject* new_tuple(int64_t size);
void put_in_list(PyObject* list, int64_t index, PyObject* element);
void put_in_tuple(PyObject* tuple, int64_t index, PyObject* element);

}  // namespace acrobat
