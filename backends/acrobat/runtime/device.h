// What runs recorded work. The schedule above it knows no device: it hands over one batch of a unit after the other, in an order in
// which each comes after its operands, and says what has to be there when.
#pragma once

#include <cstdint>
#include <vector>

#include "bucket.h"
#include "context.h"

namespace acrobat {

// Where in the schedule a batch lies. `depth` counts levels from the beginning of the mini-batch.
struct Place {
    int phase = 0;
    int64_t depth = 0;
};

// A launch as the log has it.
struct Launched {
    int phase;
    int64_t depth;
    const char* kernel;
    const char* symbol;  // tells kernels of one name apart
    int64_t rows;
};

// Memory for values that the host writes at once and kernels read later.
struct Room {
    float* values;
    Tensor tensor;
};

class Device {
   public:
    explicit Device(Context& cx) : cx_(cx) {}
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    std::vector<const float*> packed;  // weights as kernels want them
    std::vector<Launched> log;         // filled when `logging`
    bool logging = false;

    Tensor address(const void* p) const { return cx_.address(p); }

    // A mini-batch begins: its log and measurements are of this one.
    virtual void start() { log.clear(); }
    // A wave begins: nothing of the one before is needed any more.
    virtual void begin() {}
    // Work will come soon; none will come soon. In between, threads that wait for it need not sleep.
    virtual void wake() {}
    virtual void rest() {}

    // ---- instances
    // Room for so many elements, until the wave ends. Throws ResourceError.
    virtual Room room(int64_t elements) = 0;
    // Whether kernels read tensors on this DLPack device where they are; those of the host that they do not are copied to a room.
    virtual bool reads(int32_t type, int32_t id) const = 0;
    // What to call these tensors in a message.
    virtual const char* tensors() const = 0;

    // ---- work
    // Computes all rows of the bucket, or notes that they are to be computed: what is handed over later comes after it.
    virtual void run(const Unit& unit, Bucket& bucket, Place place) = 0;
    // The host reads this tensor after the next `await`, which fills in where.
    virtual void require(Tensor tensor, int64_t elements, const float** values) = 0;
    // All that was handed over and required is there; the values stay until the next `run`.
    virtual void await() = 0;
    // Copies tensors of so many elements one after the other to `to`, in memory of results.
    virtual void deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) = 0;
    // Nothing else will be handed over in this wave: what was delivered is there for whoever uses it in the device's order.
    virtual void finish() = 0;
    // Completes the counters of the last mini-batch.
    virtual void measure() {}

    // For generated code: a kernel of a unit has been given all its rows.
    void count(const char* kernel, const char* symbol, int64_t rows, double flops_per_row);

   protected:
    Context& cx_;
    Place place_;  // of the batch that is handed over
};

}  // namespace acrobat
