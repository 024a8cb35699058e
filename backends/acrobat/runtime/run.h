// One mini-batch from Python list to Python list: read, record, execute, fetch.
#pragma once

#include "python/side.h"
#include "session.h"

namespace acrobat {

// The results of the instances in `list`, a new reference. None in their place, before anything has run, if the module may have
// changed and `unguarded` is not set. C++ errors become Python exceptions that name the instance (null is then given); the session
// stays usable.
PyObject* run(Session& s, PyObject* list, PyObject* allocate, bool unguarded);

}  // namespace acrobat
