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
// A dictionary or set that is empty, and what it takes over. Throws PythonError for a key that is not hashable.
PyObject* new_dict();
PyObject* new_set();
void put_in_dict(PyObject* dict, PyObject* key, PyObject* value);
void put_in_set(PyObject* set, PyObject* element);
// What a number stands for that `read_symbol` has given, or the source.
PyObject* build_symbol(const Session& s, int64_t number);

}  // namespace acrobat
