// The interface of devices, which run recorded work. The rest of the runtime knows no device: it passes batches of units to
// this interface, each after its operands, and says which values the host needs.
#pragma once

#include <cstdint>
#include <vector>

#include "bucket.h"
#include "context.h"

namespace acrobat {

// Where in the schedule a batch lies. `depth` counts the levels of the phase that have run since the wave began.
struct Place {
    int phase = 0;
    int64_t depth = 0;
};

// An entry of the log: one launch of a kernel.
struct Launched {
    int phase;
    int64_t depth;
    const char* kernel;
    const char* symbol;  // tells kernels of one name apart
    int64_t rows;
};

// Memory for a tensor that the host writes at once and kernels read later.
struct Room {
    float* values;
    Tensor tensor;
};

// What the host can do while it waits for the device, a little at each call. `work` says whether it did something.
struct Idle {
    int (*work)(void* with);
    void* with;
};

class Device {
   public:
    explicit Device(Context& cx) : cx_(cx) {}
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    std::vector<const float*> packed;  // addresses of the packed weights
    std::vector<Launched> log;         // filled when `logging`
    bool logging = false;
    std::vector<Idle> idle;            // what a device on which the host waits calls meanwhile

    Tensor address(const void* p) const { return cx_.address(p); }

    // Is called when a mini-batch begins: the log and measurements of the one before are cleared.
    virtual void start() { log.clear(); }
    // Is called when a wave begins: memory of the wave before may be reused.
    virtual void begin() {}
    // `wake` announces that work will come soon, `rest` that none will. In between, waiting threads should not sleep.
    virtual void wake() {}
    virtual void rest() {}

    // ---- instances
    // Memory for `elements` 4-byte elements until the wave ends. Throws ResourceError.
    virtual Room room(int64_t elements) = 0;
    // Whether kernels read tensors of this DLPack device in place. Tensors of the host that they do not are copied to a `room`.
    virtual bool reads(int32_t type, int32_t id) const = 0;
    // The word for tensors that `reads` accepts in messages, as in "a float32 CPU tensor".
    virtual const char* tensors() const = 0;

    // ---- work
    // Computes all rows of the bucket, or plans to compute them before the batches that are passed later.
    virtual void run(const Unit& unit, Bucket& bucket, Place place) = 0;
    // Whether the host may go on while the device still computes what was passed. It is then asked early for what the host needs.
    virtual bool goes_on() const { return false; }
    // Announces that the host reads this tensor, which batches that were passed before compute. Required tensors count from 0.
    virtual void require(Tensor /*tensor*/, int64_t /*elements*/) {}
    // Has the device compute what was passed. All tensors that the host reads next have been required.
    virtual void proceed() {}
    // Waits until the required tensor with this number is computed. Its values stay valid until the next call or `run`.
    virtual const float* values(int64_t number, Tensor tensor, int64_t elements) = 0;
    // Copies tensors of `elements` elements each, one after the other, to `to`, the memory of result tensors.
    virtual void deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) = 0;
    // Is called at the end of a wave: what runs on the device afterwards, operations of PyTorch too, sees what was delivered.
    virtual void finish() = 0;
    // Completes the counters of the last mini-batch.
    virtual void measure() {}

    // Is called by generated code for each launch of a kernel: counts the launch, and logs it if `logging`.
    void count(const char* kernel, const char* symbol, int64_t rows, double flops_per_row);

   protected:
    Context& cx_;
    Place place_;  // of the batch that is being run
};

}  // namespace acrobat
