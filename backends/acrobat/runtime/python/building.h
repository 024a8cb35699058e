// Functions that build results as Python objects. Those that return an object return a new reference; all throw PythonError.
#pragma once

#include <cstdint>

#include "reading.h"

namespace acrobat {

PyObject* build_int(int64_t value);
PyObject* build_bool(bool value);
PyObject* build_float(double value);
PyObject* build_none();

// A list or tuple without its elements, which `put_in_list` and `put_in_tuple` add, taking over a reference to each.
PyObject* new_list(int64_t size);
PyObject* new_tuple(int64_t size);
void put_in_list(PyObject* list, int64_t index, PyObject* element);
void put_in_tuple(PyObject* tuple, int64_t index, PyObject* element);
// An empty dictionary or set, and what adds to it, taking over references. Throws PythonError for a key that is not hashable.
PyObject* new_dict();
PyObject* new_set();
void put_in_dict(PyObject* dict, PyObject* key, PyObject* value);
void put_in_set(PyObject* set, PyObject* element);
// The string or member of an Enum that has the number (see `read_symbol`).
PyObject* build_symbol(const Session& s, int64_t number);
// The object of an instance that has the number (see `next_object`): in a result it is that object itself, as in Python.
PyObject* build_object(const Session& s, int64_t number);

}  // namespace acrobat
