// One mini-batch from Python list to Python list: read, record, execute, fetch. The generated code supplies a `Model`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coroutine.h"
#include "python.h"

namespace acrobat {

// What outlives mini-batches.
struct Session {
    Session(int threads, size_t memory_limit, bool checked, bool gather_fusion, bool defer, Executor executor)
        : cx(threads, memory_limit, checked, gather_fusion, defer, executor), frames(cx.host) {}

    Context cx;
    Path path;
    Frames frames;
    Waiting waiting;
    std::vector<Class> classes;
    TensorReader tensor_reader;
    PyObject* instance_error = PyExc_ValueError;
    PyObject* resource_error = PyExc_RuntimeError;
    PyObject* schedule_error = PyExc_AssertionError;
    std::vector<Ref> kept;  // field values that nothing else holds, until the run ends
    bool running = false;
};

namespace detail {

// What goes wrong while recorded work runs concerns no single instance.
constexpr int64_t kAll = -1;

inline void execute(Context& cx, int last, int64_t end = kAllDepths) {
    cx.instance = kAll;
    cx.execute(last, end);
}

// Signals, of which Ctrl-C is one, and exceptions that a handler has raised before.
inline void poll() {
    if (PyErr_Occurred() || PyErr_CheckSignals() != 0) throw PythonError{};
}

// Waiting instances: all run until each has ended or waits, then what they wait for runs and they go on. A phase runs when no
// instance is in an earlier one, so an instance that is ahead waits for the others (paper: phase barrier).
template <class Model, class Instance, class Result>
void run_waiting(Session& s, const std::vector<Instance>& instances, std::vector<Result>& results) {
    Context& cx = s.cx;
    std::vector<Task<Result>> tasks;
    tasks.reserve(instances.size());
    try {
        for (size_t i = 0; i < instances.size(); ++i) {
            cx.instance = int64_t(i);
            cx.stage = &cx.stages[0];
            s.frames.level = 0;
            tasks.push_back(Model::forward(s, instances[i]));
            tasks.back().start();
        }
        while (!s.waiting.empty()) {
            const auto [phase, end] = s.waiting.first(cx);
            execute(cx, phase, end);
            s.waiting.resume(cx, phase);
        }
    } catch (...) {
        const int64_t failed = cx.instance;
        s.waiting.cancel(cx);
        cx.instance = failed;
        throw;
    }
    for (size_t i = 0; i < tasks.size(); ++i) {
        cx.instance = int64_t(i);
        results.push_back(tasks[i].result());
    }
}

template <class Model>
PyObject* run(Session& s, PyObject* list, PyObject* allocate) {
    using Instance = typename Model::Instance;
    using Result = typename Model::Result;
    Context& cx = s.cx;
    const auto began = Clock::now();
    cx.reset(Model::units, Model::unit_count, Model::phases, Model::static_levels);
    s.frames.reset();
    s.waiting.clear();
    cx.poll = poll;
    cx.measure_stack();
    s.path.begin();
    cx.instance = kAll;

    Ref sequence(checked(PySequence_Fast(list, "the mini-batch must be a list of instances")));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.get());
    PyObject** items = PySequence_Fast_ITEMS(sequence.get());
    std::vector<Instance> instances;
    instances.reserve(size_t(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
        cx.instance = i;
        instances.push_back(Model::read(s, items[i]));
    }
    const auto read = Clock::now();

    struct Awake {
        Pool& pool;
        explicit Awake(Pool& p) : pool(p) { pool.begin(); }
        ~Awake() { pool.end(); }
    };
    std::vector<Result> results;
    results.reserve(size_t(count));
    {
        Awake awake(cx.pool);
        Gemm::Alone alone(cx.gemm);
        if constexpr (Model::waits) {
            run_waiting<Model>(s, instances, results);
        } else {
            for (Py_ssize_t i = 0; i < count; ++i) {
                cx.instance = i;
                cx.poll();
                cx.stage = &cx.stages[0];
                results.push_back(Model::forward(s, instances[size_t(i)]));
            }
        }
        execute(cx, Model::phases - 1);
    }
    const auto ran = Clock::now();

    std::vector<Outgoing> outgoing = Model::outgoing();
    for (Py_ssize_t i = 0; i < count; ++i) {
        cx.instance = i;
        Model::collect(s, outgoing, results[size_t(i)]);
    }
    fetch(cx, allocate, outgoing);
    Ref output(checked(PyList_New(count)));
    for (Py_ssize_t i = 0; i < count; ++i) {
        cx.instance = i;
        PyList_SET_ITEM(output.get(), i, checked(Model::build(s, outgoing, results[size_t(i)])));
    }
    const auto fetched = Clock::now();

    Counters& c = cx.counters;
    c.ingest_ms = milliseconds(read - began);
    c.construct_ms = milliseconds(ran - read) - c.kernel_ms - c.schedule_ms - c.copy_ms;
    c.fetch_ms = milliseconds(fetched - ran);
    c.host_bytes = double(cx.host.high_water());
    c.library_calls = double(cx.gemm.take_calls());
    c.tensor_bytes = double(cx.tensors.high_water());
    return output.release();
}

}  // namespace detail

// The boundary: C++ errors become Python exceptions that name the instance; the session stays usable.
template <class Model>
PyObject* run(Session& s, PyObject* list, PyObject* allocate) {
    if (s.running) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this executable is running already: it was called from another thread, a signal handler, or a property of "
                        "an instance; compile a second one for that");
        return nullptr;
    }
    struct Running {
        Session& s;
        Frames* const outer = Frames::current;  // of another model, which a property or a signal handler has interrupted
        explicit Running(Session& session) : s(session) {
            s.running = true;
            Frames::current = &s.frames;
        }
        ~Running() {
            s.kept.clear();
            Frames::current = outer;
            s.running = false;
        }
    } running(s);
    const auto where = [&] { return s.cx.instance < 0 ? "the mini-batch" : "instance " + std::to_string(s.cx.instance); };
    try {
        return detail::run<Model>(s, list, allocate);
    } catch (const PythonError&) {
    } catch (const ReadError& e) {
        set_error(s.instance_error, where() + (e.path.empty() ? "" : ", at " + e.path) + ": " + e.message, e.cause.get());
    } catch (const InstanceError& e) {
        set_error(s.instance_error, where() + ": " + e.what());
    } catch (const ResourceError& e) {
        s.cx.stages.clear();  // the schedule may be what has grown
        set_error(s.resource_error, where() + ": " + e.what());
    } catch (const std::bad_alloc&) {
        s.cx.stages.clear();
        set_error(PyExc_MemoryError, where() + ": the system is out of memory");
    } catch (const std::exception& e) {
        set_error(s.schedule_error, e.what());
    }
    return nullptr;
}

}  // namespace acrobat
