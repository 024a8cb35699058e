// One mini-batch from Python list to Python list: read, record, execute, fetch.
#pragma once

#include "python/side.h"
#include "session.h"

namespace acrobat {

// Runs the instances in `list` and returns the list of their results, a new reference. Unless `module_checked` is set, it returns
// None, before anything has run, if the module may have changed. If a C++ exception is thrown, it returns null with a Python
// exception set that names the instance. The session stays usable.
PyObject* run(Session& s, PyObject* list, PyObject* allocate, bool module_checked);

}  // namespace acrobat
