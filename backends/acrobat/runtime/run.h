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
    Session(int threads, size_t memory_limit, bool checked, bool gather_fusion, Executor executor)
        : cx(threads, memory_limit, checked, gather_fusion, executor), frames(cx.host) {}

    Context cx;
    Frames frames;
    Waiting waiting;
    std::vector<Class> classes;
    TensorReader tensor_reader;
    PyObject* instance_error = PyExc_ValueError;
    PyObject* resource_error = PyExc_RuntimeError;
    PyObject* schedule_error = PyExc_AssertionError;
};

namespace detail {

// Waiting instances: all run until each has ended or waits, then what is recorded runs and they go on. A phase runs when no
// instance is in an earlier one, so an instance that is ahead waits for the others (paper: phase barrier).
template <class Model, class Instance, class Result>
void run_waiting(Session& s, const std::vector<Instance>& instances, std::vector<Result>& results) {
    Context& cx = s.cx;
    std::vector<Task<Result>> tasks;
    tasks.reserve(instances.size());
    for (size_t i = 0; i < instances.size(); ++i) {
        cx.instance = int64_t(i);
        cx.stage = &cx.stages[0];
        tasks.push_back(Model::forward(s, instances[i]));
        tasks.back().start();
    }
    while (!s.waiting.empty()) {
        const int phase = s.waiting.first_phase(cx);
        cx.execute(phase);
        s.waiting.resume(cx, phase);
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
    Frames::current = &s.frames;
    cx.measure_stack();

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
                cx.stage = &cx.stages[0];
                results.push_back(Model::forward(s, instances[size_t(i)]));
            }
        }
        cx.execute(Model::phases - 1);
    }
    const auto ran = Clock::now();

    std::vector<Outgoing> outgoing = Model::outgoing();
    for (const Result& r : results) Model::collect(outgoing, r);
    fetch(cx, allocate, outgoing);
    Ref output(checked(PyList_New(count)));
    for (Py_ssize_t i = 0; i < count; ++i) PyList_SET_ITEM(output.get(), i, checked(Model::build(s, outgoing, results[size_t(i)])));
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
    const auto where = [&] { return "instance " + std::to_string(s.cx.instance); };
    try {
        return detail::run<Model>(s, list, allocate);
    } catch (const PythonError&) {
    } catch (const ReadError& e) {
        PyErr_SetString(s.instance_error, (where() + (e.path.empty() ? "" : ", at " + e.path) + ": " + e.message).c_str());
    } catch (const InstanceError& e) {
        PyErr_SetString(s.instance_error, (where() + ": " + e.what()).c_str());
    } catch (const ResourceError& e) {
        PyErr_SetString(s.resource_error, (where() + ": " + e.what()).c_str());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, (where() + ": the system is out of memory").c_str());
    } catch (const std::exception& e) {
        PyErr_SetString(s.schedule_error, e.what());
    }
    return nullptr;
}

}  // namespace acrobat
