// Runs work on a CUDA device. Units are planned into a flat schedule while the host goes through the levels; when something has to
// be there, or the wave ends, one upload takes over what was written since the last, and one cooperative launch walks the schedule
// (or, for comparison, one launch runs each step). Nothing inside of a mini-batch waits for the stream: what an instance waits for
// comes back by memory of the host that the device writes, and then a flag beside it, which the host looks at.
//
// A wave's results are copied by its last launch, and a call returns before they are there: like all work of PyTorch they are in
// the stream's order. The emulated driver's results are tensors of the host, so there it waits.
#pragma once

#include <cstdint>
#include <vector>

#include "../device.h"
#include "../owned.h"
#include "driver.h"
#include "plan.h"
#include "staging.h"

namespace acrobat::cuda {

// What the device's code is, of a build.
struct Image {
    const void* module;                // cubin
    int walk_shared;                   // bytes of shared memory of the kernel `walk`, of a build that has it
    std::vector<const char*> kernels;  // of one that has none: those that run one step each, in the order of the steps' numbers
    std::vector<int> shared;           // bytes of each
};

// Words of the host that the device writes and a flag that it sets after them.
class Mailbox {
   public:
    explicit Mailbox(const Primary& primary) : primary_(primary) {}
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;
    ~Mailbox() { release(); }

    // Room for so many elements. Nothing may be on its way.
    void reserve(int64_t elements);
    const float* words() const { return reinterpret_cast<const float*>(host_ + kWords); }
    float* device_words() const { return reinterpret_cast<float*>(device_ + kWords); }
    int64_t* device_flag() const { return reinterpret_cast<int64_t*>(device_); }
    int64_t flag() const { return __atomic_load_n(reinterpret_cast<const int64_t*>(host_), __ATOMIC_ACQUIRE); }

   private:
    static constexpr size_t kWords = 64;  // bytes before them: the flag has a cache line of its own
    void release();

    const Primary& primary_;
    char* host_ = nullptr;
    Pointer device_ = 0;
    int64_t capacity_ = 0;
};

// An event of the driver; those that measure have a time.
class Mark {
   public:
    explicit Mark(bool timed);
    Mark(Mark&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Mark& operator=(Mark&& other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    ~Mark() {
        if (event_) Driver::get().cuEventDestroy_v2(event_);
    }
    Event get() const { return event_; }

   private:
    Event event_ = nullptr;
};

class CudaDevice final : public Device {
   public:
    CudaDevice(Context& cx, const Settings& settings);
    ~CudaDevice() override;

    // Loads the code of a model to a device. `walk`: one launch for a schedule; else one for each step. Throws DeviceError,
    // ResourceError.
    void open(int ordinal, bool walk, const Image& image, bool emulated);
    // Memory of the device with these bytes, until this object ends. Throws DeviceError, ResourceError.
    Pointer hold(const void* bytes, size_t size);
    void refill(Pointer held, const void* bytes, size_t size);
    // The stream of the work to come. It comes after what was submitted to another.
    void use(Stream stream);

    Plan& plan() { return *plan_; }

    void start() override;
    void begin() override;
    Room room(int64_t elements) override;
    bool reads(int32_t type, int32_t id) const override;
    const char* tensors() const override { return "CPU or CUDA"; }
    void run(const Unit& unit, Bucket& bucket, Place place) override;
    void require(Tensor tensor, int64_t elements, const float** values) override;
    void await() override;
    void deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) override;
    void finish() override;
    void measure() override;

   private:
    struct Required {
        Tensor tensor;
        int64_t elements;
        const float** values;
    };
    // A submission, from the beginning of its upload to the end of its last launch.
    struct Timed {
        Mark from{true}, to{true};
    };

    // A kernel of the module, that may have so many bytes of shared memory.
    Function function(const char* kernel, int shared);
    void next_level(Place place);
    // Has the device do all that is planned, after what was submitted before.
    void submit();
    void launch(const std::vector<Step>& steps);
    void wait_for_flag(int64_t value);
    void check(Result result, const char* what) const { Driver::get().check(result, what); }

    size_t memory_limit_;
    bool gather_fusion_;
    bool walk_ = true;
    bool emulated_ = false;
    Owned<Primary> primary_;
    Owned<DeviceMemory> memory_;
    Owned<Arena> held_;
    Owned<Staging> staging_;
    Owned<Mailbox> mailbox_;
    Owned<Plan> plan_;
    ModuleHandle module_ = nullptr;
    Function walker_ = nullptr;
    unsigned walk_shared_ = 0;
    std::vector<Function> kernels_;
    std::vector<unsigned> shared_;
    Pointer barrier_ = 0;  // the word that the walk's blocks meet at
    Stream stream_ = nullptr;
    Owned<Mark> uploaded_, submitted_;  // the last upload and launch
    bool in_use_ = false;               // whether these have been recorded
    bool begun_ = false;                // whether a level was planned since the last submission
    std::vector<Required> required_;
    int64_t sequence_ = 0;  // of the flags
    std::vector<Timed> timed_;
    size_t submissions_ = 0;  // of this mini-batch, the first ones of `timed_`
};

inline CudaDevice& cuda_of(Device& device) { return static_cast<CudaDevice&>(device); }

}  // namespace acrobat::cuda
