#include "run.h"

#include <algorithm>
#include <string>

#include "clock.h"
#include "execution.h"
#include "waves.h"

namespace acrobat {

Session::Session(const Model& m, const Settings& settings)
    : model(m),
      cx(settings),
      device(m.device(cx, settings)),
      frames(cx.host),
      policy(new Policy),
      python(new PythonSide),
      defer(settings.defer),
      wave(settings.wave),
      second_level(settings.second_level) {
    cx.device = device.get();
}

Session::~Session() = default;

namespace {

// The value of `Context::instance` while recorded work runs: errors then belong to no single instance.
constexpr int64_t kAll = -1;

// Throws if a signal handler raises a Python exception, as for Ctrl-C, or if one is set already.
void poll() {
    if (PyErr_Occurred() || PyErr_CheckSignals() != 0) throw PythonError{};
}

// An array of `count` values of the program, of `size` bytes each, in memory of the wave.
class Values {
   public:
    Values(Arena& arena, size_t size, size_t count) : size_(size), at_(static_cast<char*>(arena.take(size * count))) {}
    void* operator[](size_t i) const { return at_ + i * size_; }

   private:
    size_t size_;
    char* at_;
};

// While it lives, Python does not look for cycles of garbage. Results are many new objects and none of them is garbage, so Python
// would look through all of them again and again while they are made.
class NoCollection {
   public:
    NoCollection() = default;
    NoCollection(const NoCollection&) = delete;
    NoCollection& operator=(const NoCollection&) = delete;
    ~NoCollection() {
        if (enabled_) PyGC_Enable();
    }

   private:
    const bool enabled_ = PyGC_Disable() != 0;
};

class Wave {
   public:
    Wave(Session& s, PyObject* instances, Py_ssize_t first, PyObject* output, PyObject* allocate)
        : s_(s),
          cx_(s.cx),
          waves_(s.wave, s.second_level),
          execution_(s.cx, *s.device, *s.policy, s.model.units, s.model.unit_count, s.defer),
          instances_(instances),
          first_(first),
          output_(output),
          allocate_(allocate) {}

    // Runs the wave. Returns the index of the first instance after it.
    Py_ssize_t run() {
        cx_.reset(s_.model.units, s_.model.unit_count, s_.model.phases, s_.model.static_levels);
        s_.device->begin();
        s_.frames.reset();
        s_.waiting.clear();
        s_.path.begin();
        s_.python->begin_wave();
        const Py_ssize_t end = record_and_execute();
        fetch_results();
        cx_.counters.host_bytes = std::max(cx_.counters.host_bytes, double(cx_.host.high_water()));
        cx_.counters.tensor_bytes = std::max(cx_.counters.tensor_bytes, double(cx_.tensors.high_water()));
        return end;
    }

   private:
    Py_ssize_t record_and_execute() {
        struct Awake {
            Device& device;
            explicit Awake(Device& d) : device(d) { device.wake(); }
            ~Awake() { device.rest(); }
        } awake(*s_.device);
        const Py_ssize_t count = PyTuple_GET_SIZE(instances_);
        Counters& counters = cx_.counters;
        const double others = counters.blocked_ms + counters.schedule_ms;
        Py_ssize_t end = first_;
        do {
            const auto began = Clock::now();
            const Py_ssize_t start = end;
            end += waves_.next_size(count - start, s_.model.waits ? Waves::kWaiting : 1);
            const size_t size = size_t(end - start);
            const Values group(cx_.host, s_.model.instance_size, size);
            for (Py_ssize_t i = start; i < end; ++i) {
                cx_.instance = i;
                s_.python->begin_instance();
                s_.model.read(s_, PyTuple_GET_ITEM(instances_, i), group[size_t(i - start)]);
            }
            const auto read = Clock::now();
            cx_.counters.ingest_ms += milliseconds(read - began);
            const Values results(cx_.host, s_.model.result_size, size);
            if (s_.model.waits)
                run_waiting(start, group, results, size);
            else
                run_straight(start, group, results, size);
            for (size_t i = 0; i < size; ++i) results_.push_back(results[i]);
            cx_.counters.construct_ms += milliseconds(Clock::now() - read);
        } while (!s_.model.waits && end < count && !waves_.full(cx_.tensors.used()));
        const auto began = Clock::now();
        cx_.instance = kAll;
        execution_.execute(s_.model.phases - 1);
        counters.construct_ms += milliseconds(Clock::now() - began);
        counters.construct_ms -= counters.blocked_ms + counters.schedule_ms - others;  // the times above contain these
        return end;
    }

    void run_straight(Py_ssize_t start, const Values& instances, const Values& results, size_t size) {
        for (size_t i = 0; i < size; ++i) {
            cx_.instance = start + int64_t(i);
            cx_.poll();
            cx_.stage = &cx_.stages[0];
            s_.model.forward(s_, instances[i], results[i]);
        }
    }

    // Coroutines that have been started, one for each instance. The destructor destroys those whose result was not taken.
    struct Started : std::vector<std::coroutine_handle<>> {
        ~Started() {
            for (const std::coroutine_handle<> handle : *this)
                if (handle) handle.destroy();
        }
    };

    // Runs instances that may wait: each until it ends or waits; then the work that they wait for runs and they are resumed. A
    // phase runs when no instance is in an earlier one, so one that is ahead waits for the others (paper: phase barrier).
    void run_waiting(Py_ssize_t start, const Values& instances, const Values& results, size_t size) {
        Started started;
        started.reserve(size);
        try {
            for (size_t i = 0; i < size; ++i) {
                cx_.instance = start + int64_t(i);
                cx_.stage = &cx_.stages[0];
                s_.frames.level = 0;
                started.push_back(s_.model.start(s_, instances[i]));
                started.back().resume();
            }
            while (!s_.waiting.empty()) {
                const auto [phase, end] = s_.waiting.first(cx_);
                s_.waiting.prepare(cx_, *s_.device, phase);
                cx_.instance = kAll;
                execution_.execute(phase, end, [&](int64_t depth) { s_.waiting.require(cx_, *s_.device, depth); });
                s_.waiting.resume(cx_, *s_.device);
            }
        } catch (...) {
            const int64_t failed = cx_.instance;
            s_.waiting.cancel(cx_);
            cx_.instance = failed;
            throw;
        }
        for (size_t i = 0; i < size; ++i) {
            cx_.instance = start + int64_t(i);
            s_.model.finish(std::exchange(started[i], nullptr).address(), results[i]);
        }
    }

    void fetch_results() {
        const auto ran = Clock::now();
        const double blocked = cx_.counters.blocked_ms;
        const NoCollection results_only;
        std::vector<Outgoing> outgoing;
        for (size_t i = 0; i < size_t(s_.model.outgoing_count); ++i) outgoing.emplace_back(s_.model.outgoing[i], i);
        for (size_t i = 0; i < results_.size(); ++i) {
            cx_.instance = first_ + int64_t(i);
            s_.model.collect(s_, outgoing, results_[i]);
        }
        if (cx_.plans())
            for (Outgoing& out : outgoing)
                for (Tensor& t : out.tensors) t = cx_.now(t);
        fetch(*s_.device, allocate_, outgoing);
        for (size_t i = 0; i < results_.size(); ++i) {
            cx_.instance = first_ + int64_t(i);
            PyList_SET_ITEM(output_, first_ + Py_ssize_t(i), s_.model.build(s_, outgoing, results_[i]));
        }
        cx_.counters.fetch_ms += milliseconds(Clock::now() - ran) - (cx_.counters.blocked_ms - blocked);
    }

    Session& s_;
    Context& cx_;
    Waves waves_;
    Execution execution_;
    PyObject* instances_;
    Py_ssize_t first_;
    PyObject* output_;
    PyObject* allocate_;
    std::vector<const void*> results_;
};

PyObject* run_all(Session& s, PyObject* list, PyObject* allocate) {
    Context& cx = s.cx;
    cx.counters = {};
    s.device->start();
    cx.poll = poll;
    s.python->symbols.begin();
    cx.measure_stack();
    cx.instance = kAll;
    // A tuple of our own: a property of an instance may change the list.
    Ref sequence(checked(PySequence_Fast(list, "the mini-batch must be a list of instances")));
    Ref instances(checked(PySequence_Tuple(sequence.get())));
    const Py_ssize_t count = PyTuple_GET_SIZE(instances.get());
    Ref output(checked(PyList_New(count)));
    for (Py_ssize_t done = 0; done < count;) done = Wave(s, instances.get(), done, output.get(), allocate).run();
    return output.release();
}

}  // namespace

PyObject* run(Session& s, PyObject* list, PyObject* allocate, bool module_checked) {
    PythonSide& python = *s.python;
    if (!module_checked && !python.guard.holds(python.tensor_reader)) Py_RETURN_NONE;
    struct Running {
        Session& s;
        Frames* const outer = Frames::current;  // of another model's run, in which a property or signal handler called this one
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
        return run_all(s, list, allocate);
    } catch (const PythonError&) {
    } catch (const ReadError& e) {
        set_error(python.instance_error, where() + (e.path.empty() ? "" : ", at " + e.path) + ": " + e.message + (e.type ? python.advice : ""), e.cause.get());
    } catch (const InstanceError& e) {
        set_error(python.instance_error, where() + ": " + e.what());
    } catch (const ResourceError& e) {
        s.cx.stages.clear();  // the memory may have gone into the schedule
        set_error(python.resource_error, where() + ": " + e.what());
    } catch (const DeviceError& e) {
        set_error(python.device_error, where() + ": " + e.what());
    } catch (const std::bad_alloc&) {
        s.cx.stages.clear();
        set_error(PyExc_MemoryError, where() + ": the system is out of memory");
    } catch (const std::exception& e) {
        set_error(python.schedule_error, e.what());
    }
    return nullptr;
}

}  // namespace acrobat
