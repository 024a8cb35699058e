// The functions of an interpreted `Model`, which find the code in the session's model.
#pragma once

#include "../session.h"
#include "code.h"

namespace acrobat::vm {

void read_instance(Session& s, PyObject* o, void* instance);
void run_instance(Session& s, const void* instance, void* result);
std::coroutine_handle<> start_instance(Session& s, const void* instance);
void finish_instance(void* frame, void* result);
void collect_result(Session& s, std::vector<Outgoing>& out, const void* result);
PyObject* build_result(Session& s, std::vector<Outgoing>& out, const void* result);

}  // namespace acrobat::vm
