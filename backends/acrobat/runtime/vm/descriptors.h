// Readers and writers that walk over descriptors of types, where compiled models have a function for each type; what they refuse, they
// refuse in the same words.
#pragma once

#include "../session.h"
#include "code.h"

namespace acrobat::vm {

// An instance from Python.
Slot read(Session& s, const Types& t, int32_t type, PyObject* o);
// Notes the tensors of a result, in the order `build` takes them.
void collect(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t type, Slot v);
// The result as a Python object: a new reference. Throws PythonError.
PyObject* build(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t type, Slot v);

}  // namespace acrobat::vm
