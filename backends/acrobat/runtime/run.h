// One mini-batch from Python list to Python list: read, record, execute, fetch. The generated code supplies a `Model`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coroutine.h"
#include "guard.h"
#include "python.h"

namespace acrobat {

// What outlives mini-batches.
struct Session {
    explicit Session(const Settings& settings) : cx(settings), frames(cx.host) {}

    Context cx;
    Path path;
    Frames frames;
    Waiting waiting;
    std::vector<Class> classes;
    TensorReader tensor_reader;
    Guard guard;
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
void run_waiting(Session& s, Py_ssize_t first, const std::vector<Instance>& instances, std::vector<Result>& results) {
    Context& cx = s.cx;
    std::vector<Task<Result>> tasks;
    tasks.reserve(instances.size());
    try {
        for (size_t i = 0; i < instances.size(); ++i) {
            cx.instance = first + int64_t(i);
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
        cx.instance = first + int64_t(i);
        results.push_back(tasks[i].result());
    }
}

template <class Model, class Instance, class Result>
void run_straight(Session& s, Py_ssize_t first, const std::vector<Instance>& instances, std::vector<Result>& results) {
    Context& cx = s.cx;
    for (size_t i = 0; i < instances.size(); ++i) {
        cx.instance = first + int64_t(i);
        cx.poll();
        cx.stage = &cx.stages[0];
        results.push_back(Model::forward(s, instances[i]));
    }
}

// Instances that wait run four times as many together: they fill their kernels also where only a few still go on. (StackRNN is
// slower by an eighth in waves of 64; in one of 1024 DRNN's frames and results, 54 tensors to an instance, leave all caches.)
constexpr int64_t kWaitingWave = 4;

// A wave: instances of a mini-batch that are read, recorded, executed and fetched before the next are looked at, so that what
// an operation writes is still in the cache when another reads it, and memory serves one wave after the other. More of them
// together than fill the kernels gain nothing on a CPU: of 1024 in one wave an instance took 3 (TreeLSTM) to 9 % (MV-RNN)
// longer than of 64. Gives the number of instances that have run by its end.
template <class Model>
Py_ssize_t wave(Session& s, PyObject* instances, Py_ssize_t first, PyObject* output, PyObject* allocate) {
    using Instance = typename Model::Instance;
    using Result = typename Model::Result;
    Context& cx = s.cx;
    const Py_ssize_t count = PyTuple_GET_SIZE(instances);
    Py_ssize_t end = first;
    cx.reset(Model::units, Model::unit_count, Model::phases, Model::static_levels);
    s.frames.reset();
    s.waiting.clear();
    s.path.begin();

    struct Awake {
        Pool& pool;
        explicit Awake(Pool& p) : pool(p) { pool.begin(); }
        ~Awake() { pool.end(); }
    };
    std::vector<Instance> group;
    std::vector<Result> results;
    {
        Awake awake(cx.pool);
        Gemm::Alone alone(cx.gemm);
        do {
            const auto began = Clock::now();
            const Py_ssize_t start = end;
            end += cx.group(count - start, Model::waits ? kWaitingWave : 1);
            group.clear();
            group.reserve(size_t(end - start));
            for (Py_ssize_t i = start; i < end; ++i) {
                cx.instance = i;
                group.push_back(Model::read(s, PyTuple_GET_ITEM(instances, i)));
            }
            const auto read = Clock::now();
            cx.counters.ingest_ms += milliseconds(read - began);
            results.reserve(results.size() + group.size());
            if constexpr (Model::waits)
                run_waiting<Model>(s, start, group, results);
            else
                run_straight<Model>(s, start, group, results);
            cx.counters.construct_ms += milliseconds(Clock::now() - read);
        } while (!Model::waits && end < count && !cx.full());
        const auto began = Clock::now();
        execute(cx, Model::phases - 1);
        cx.counters.construct_ms += milliseconds(Clock::now() - began);
    }

    const auto ran = Clock::now();
    std::vector<Outgoing> outgoing = Model::outgoing();
    for (size_t i = 0; i < results.size(); ++i) {
        cx.instance = first + int64_t(i);
        Model::collect(s, outgoing, results[i]);
    }
    fetch(cx, allocate, outgoing);
    for (size_t i = 0; i < results.size(); ++i) {
        cx.instance = first + int64_t(i);
        PyList_SET_ITEM(output, first + Py_ssize_t(i), checked(Model::build(s, outgoing, results[i])));
    }
    cx.counters.fetch_ms += milliseconds(Clock::now() - ran);
    return end;
}

template <class Model>
PyObject* run(Session& s, PyObject* list, PyObject* allocate) {
    Context& cx = s.cx;
    cx.begin();
    cx.poll = poll;
    cx.measure_stack();
    cx.instance = kAll;
    // A tuple of our own: a property of an instance may change the list.
    Ref sequence(checked(PySequence_Fast(list, "the mini-batch must be a list of instances")));
    Ref instances(checked(PySequence_Tuple(sequence.get())));
    const Py_ssize_t count = PyTuple_GET_SIZE(instances.get());
    Ref output(checked(PyList_New(count)));
    for (Py_ssize_t done = 0; done < count;) done = wave<Model>(s, instances.get(), done, output.get(), allocate);

    Counters& c = cx.counters;
    c.construct_ms -= c.kernel_ms + c.schedule_ms + c.copy_ms;  // all of them are within it
    c.host_bytes = double(cx.host.high_water());
    c.library_calls = double(cx.gemm.take_calls());
    c.tensor_bytes = double(cx.tensors.high_water());
    return output.release();
}

}  // namespace detail

// None in place of results, before anything has run, if the module may have changed and `unguarded` is not set.
// The boundary: C++ errors become Python exceptions that name the instance; the session stays usable.
template <class Model>
PyObject* run(Session& s, PyObject* list, PyObject* allocate, bool unguarded) {
    if (s.running) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this executable is running already: it was called from another thread, a signal handler, or a property of "
                        "an instance; compile a second one for that");
        return nullptr;
    }
    if (!unguarded && !s.guard.holds(s.tensor_reader)) Py_RETURN_NONE;
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
