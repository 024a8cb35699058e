// The C interface between Python and compiled models. Each shared object exports these functions, and in addition one function
// for each of its models, which returns the `Model`.
#include "exported.h"
#include "run.h"

namespace acrobat {

namespace {

PyObject* log_of(const Session& s) {
    PyObject* list = PyList_New(0);
    for (const Launched& l : s.device->log) {
        PyObject* entry =
            Py_BuildValue("(iLssL)", l.phase, static_cast<long long>(l.depth), l.kernel, l.symbol, static_cast<long long>(l.rows));
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_XDECREF(entry);
            Py_DECREF(list);
            return nullptr;
        }
        Py_DECREF(entry);
    }
    return list;
}

}  // namespace

}  // namespace acrobat

using namespace acrobat;

ACROBAT_EXPORT Session* acrobat_create(const Model* model, int threads, uint64_t memory_limit, int is_checked, int gather_fusion,
                                       int defer, int64_t wave, int executor, int memory_planning, int64_t second_level,
                                       float* base) {
    Session* s = nullptr;
    guarded([&] {
        s = new Session(*model, {threads, memory_limit, is_checked != 0, gather_fusion != 0, defer != 0, wave,
                                 static_cast<Executor>(executor), second_level, memory_planning != 0});
        s->cx.base = base;
    });
    return s;
}

ACROBAT_EXPORT int acrobat_destroy(Session* s) {
    if (s->running) return 0;
    delete s;
    return 1;
}

ACROBAT_EXPORT void acrobat_add_weight(Session* s, const float* w) { s->cx.weights.push_back(s->cx.address(w)); }

ACROBAT_EXPORT void acrobat_add_packed(Session* s, const float* w) { s->device->packed.push_back(w); }

// Adds the next class of the model; the parameters are those of `Class::set`.
ACROBAT_EXPORT int acrobat_add_class(Session* s, PyObject* cls, PyObject* keys, int plain) {
    return guarded([&] {
        const size_t index = s->classes.size();
        s->classes.emplace_back().set(cls, s->model.fields[index], keys, plain != 0);
    });
}

// `symbols` are the strings and Enum members in the source, `member` is the class Enum, `arrange` and `advice` are those of
// `PythonSide`. Returns the list of all symbols by number, a new reference.
ACROBAT_EXPORT PyObject* acrobat_set_outside(Session* s, PyObject* symbols, PyObject* member, PyObject* arrange, const char* advice) {
    PyObject* values = nullptr;
    guarded([&] {
        s->python->symbols.set(symbols, member);
        s->python->arrange = arrange;
        s->python->advice = advice;
        values = s->python->symbols.values();
        Py_INCREF(values);
    });
    return values;
}

ACROBAT_EXPORT int acrobat_set_python(Session* s, PyObject* tensor, PyObject* plain, PyObject* instance_error, PyObject* resource_error,
                                    PyObject* schedule_error, PyObject* device_error) {
    return guarded([&] {
        s->python->tensor_reader.set(tensor, plain);
        s->python->instance_error = instance_error;
        s->python->resource_error = resource_error;
        s->python->schedule_error = schedule_error;
        s->python->device_error = device_error;
    });
}

// Adds a function that is called with `with` while the host waits for the device; see `Idle`.
ACROBAT_EXPORT void acrobat_add_idle(Session* s, int (*work)(void*), void* with) { s->device->idle.push_back({work, with}); }

ACROBAT_EXPORT int acrobat_watch(Session* s, PyObject* watched, PyObject* missing) {
    return guarded([&] { s->python->guard.set(watched, missing, s->python->tensor_reader); });
}

ACROBAT_EXPORT int acrobat_running(Session* s) { return s->running; }

ACROBAT_EXPORT PyObject* acrobat_run(Session* s, PyObject* instances, PyObject* allocate, int module_checked) {
    return run(*s, instances, allocate, module_checked != 0);
}

ACROBAT_EXPORT const double* acrobat_counters(Session* s) {
    if (guarded(*s->python, [&] { s->device->measure(); })) return nullptr;
    return reinterpret_cast<const double*>(&s->cx.counters);
}

ACROBAT_EXPORT void acrobat_set_logging(Session* s, int on) { s->device->logging = on != 0; }

ACROBAT_EXPORT PyObject* acrobat_log(Session* s) { return log_of(*s); }
