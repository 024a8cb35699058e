// Readers and writers of interpreted models. They walk over descriptors of types, where compiled models have a generated
// function for each type; their error messages are the same.
#pragma once

#include "../session.h"
#include "code.h"

namespace acrobat::vm {

// Reads a Python object as a value of the type with this number. Throws ReadError.
Slot read(Session& s, const Types& t, int32_t type, PyObject* o);
// Notes the tensors of a result, in the order `build` takes them.
void collect(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t type, Slot v);
// The result as a Python object: a new reference. Throws PythonError.
PyObject* build(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t type, Slot v);

}  // namespace acrobat::vm
