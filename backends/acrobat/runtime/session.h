// `Model`, the table by which a compiled model describes itself to the runtime, and `Session`, what belongs to an executable.
#pragma once

#include <vector>

#include "context.h"
#include "coroutine.h"
#include "device.h"
#include "python/reading.h"
#include "python/texts.h"
#include "waiting.h"

namespace acrobat {

class Policy;
struct PythonSide;
struct Session;
namespace vm {
struct Code;
}

// A compiled model: tables and functions. The functions read and write values of the program in memory that the caller
// provides; such values need no destructor.
struct Model {
    // ---- the schedule
    bool waits;  // whether instances may wait for tensors
    Device* (*device)(Context& cx, const Settings& settings);  // makes the device that runs the units
    const Unit* units;
    int unit_count;
    int phases;
    int64_t static_levels;

    // ---- types of Python
    const char* const* const* fields;  // of each dataclass: the names of its fields, then null
    const ResultType* outgoing;        // each type of result tensors
    int outgoing_count;

    // ---- one instance
    size_t instance_size, result_size;
    void (*read)(Session& s, PyObject* o, void* instance);
    void (*forward)(Session& s, const void* instance, void* result);       // of a model that does not wait
    std::coroutine_handle<> (*start)(Session& s, const void* instance);    // of a model that waits: a suspended coroutine
    void (*finish)(void* frame, void* result);  // takes the result of an ended coroutine and destroys it. Throws what it threw
    void (*collect)(Session& s, std::vector<Outgoing>& out, const void* result);
    PyObject* (*build)(Session& s, std::vector<Outgoing>& out, const void* result);

    const vm::Code* code;  // of an interpreted model; else null
};

struct Session {
    Session(const Model& model, const Settings& settings);
    ~Session();

    const Model& model;
    Context cx;
    Owned<Device> device;
    Frames frames;
    Owned<Policy> policy;  // for executors that choose among what is ready
    Waiting waiting;
    Path path;
    std::vector<Class> classes;
    std::vector<Ref> kept;  // field values that nothing else holds, until the run ends
    Owned<PythonSide> python;
    bool defer;
    int64_t wave;
    int64_t second_level;  // bytes of a core's second-level cache
    bool running = false;
};

}  // namespace acrobat
