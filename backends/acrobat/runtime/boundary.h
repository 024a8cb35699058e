// The one door between Python and a compiled model: a narrow C interface, instantiated by the generated code for its `Model`.
// The functions' names begin with `door`, so that one shared object may hold several models.
#pragma once

#include "run.h"

namespace acrobat {

inline PyObject* log_of(const Session& s) {
    PyObject* list = PyList_New(0);
    for (const Launched& l : s.cx.log) {
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

template <class Body>
int guarded(Body&& body) {
    try {
        body();
        return 0;
    } catch (const PythonError&) {
        return -1;
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
        return -1;
    }
}

}  // namespace acrobat

#define ACROBAT_DOOR extern "C" __attribute__((visibility("default")))

#define ACROBAT_EXPORT(Model, door)                                                                                              \
    ACROBAT_DOOR void* door##_create(int threads, uint64_t memory_limit, int checked, int gather_fusion, int defer,         \
                                      int64_t wave, int executor, float* base) {                                           \
        acrobat::Session* s = nullptr;                                                                                     \
        acrobat::guarded([&] {                                                                                             \
            s = new acrobat::Session({threads, memory_limit, checked != 0, gather_fusion != 0, defer != 0, wave,           \
                                      static_cast<acrobat::Executor>(executor)});                                          \
            s->cx.base = base;                                                                                             \
        });                                                                                                                \
        return s;                                                                                                          \
    }                                                                                                                      \
    ACROBAT_DOOR int door##_destroy(void* session) {                                                                       \
        auto* s = static_cast<acrobat::Session*>(session);                                                                 \
        if (s->running) return 0;                                                                                          \
        delete s;                                                                                                          \
        return 1;                                                                                                          \
    }                                                                                                                      \
    ACROBAT_DOOR void door##_set_gemm(void* s, void* sgemm, int wide, void* get_threads, void* set_threads) {             \
        static_cast<acrobat::Session*>(s)->cx.gemm.set(sgemm, wide != 0, get_threads, set_threads);                        \
    }                                                                                                                      \
    ACROBAT_DOOR void door##_add_weight(void* s, const float* w) {                                                        \
        auto& cx = static_cast<acrobat::Session*>(s)->cx;                                                                  \
        cx.weights.push_back(cx.address(w));                                                                               \
    }                                                                                                                      \
    ACROBAT_DOOR void door##_add_packed(void* s, const float* w) {                                                         \
        static_cast<acrobat::Session*>(s)->cx.packed.push_back(w);                                                         \
    }                                                                                                                      \
    ACROBAT_DOOR int door##_add_class(void* session, PyObject* cls) {                                                      \
        return acrobat::guarded([&] {                                                                                      \
            auto& classes = static_cast<acrobat::Session*>(session)->classes;                                              \
            classes.emplace_back().set(cls, Model::fields(classes.size() - 1));                                            \
        });                                                                                                                \
    }                                                                                                                      \
    ACROBAT_DOOR int door##_set_python(void* session, PyObject* tensor, PyObject* plain, PyObject* instance_error,        \
                                        PyObject* resource_error, PyObject* schedule_error) {                              \
        return acrobat::guarded([&] {                                                                                      \
            auto& s = *static_cast<acrobat::Session*>(session);                                                            \
            s.tensor_reader.set(tensor, plain);                                                                            \
            s.instance_error = instance_error;                                                                             \
            s.resource_error = resource_error;                                                                             \
            s.schedule_error = schedule_error;                                                                             \
        });                                                                                                                \
    }                                                                                                                      \
    ACROBAT_DOOR int door##_watch(void* session, PyObject* watched, PyObject* missing) {                                   \
        return acrobat::guarded([&] {                                                                                      \
            auto& s = *static_cast<acrobat::Session*>(session);                                                            \
            s.guard.set(watched, missing, s.tensor_reader);                                                                \
        });                                                                                                                \
    }                                                                                                                      \
    ACROBAT_DOOR int door##_holds(void* session) {                                                                         \
        auto& s = *static_cast<acrobat::Session*>(session);                                                                \
        return s.guard.holds(s.tensor_reader);                                                                             \
    }                                                                                                                      \
    ACROBAT_DOOR int door##_running(void* session) { return static_cast<acrobat::Session*>(session)->running; }            \
    ACROBAT_DOOR PyObject* door##_run(void* s, PyObject* instances, PyObject* allocate, int unguarded) {                   \
        return acrobat::run<Model>(*static_cast<acrobat::Session*>(s), instances, allocate, unguarded != 0);               \
    }                                                                                                                      \
    ACROBAT_DOOR const double* door##_counters(void* s) {                                                                  \
        return reinterpret_cast<const double*>(&static_cast<acrobat::Session*>(s)->cx.counters);                           \
    }                                                                                                                      \
    ACROBAT_DOOR void door##_set_logging(void* s, int on) { static_cast<acrobat::Session*>(s)->cx.logging = on != 0; }     \
    ACROBAT_DOOR PyObject* door##_log(void* s) { return acrobat::log_of(*static_cast<acrobat::Session*>(s)); }
