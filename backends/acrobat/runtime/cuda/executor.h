// Runs work on a CUDA device. While the host goes through the levels, units add their calls to a flat schedule. When a value has
// to be there, or the wave ends, one upload copies what was written since the last one, and one cooperative launch walks the
// schedule (or, for comparison, one launch runs each step). Within a mini-batch nothing waits for the stream: as soon as a level has
// computed values that instances wait for, the device writes them to memory of the host, each with a tag, which the host polls. So
// instances go on recording while the device runs later levels.
//
// The last launch of a wave copies its results, and a call returns before that: as with all work of PyTorch, results are there in
// the stream's order. Results of the emulated driver are tensors of the host, so a call waits for them.
#pragma once

#include <cstdint>
#include <vector>

#include "../device.h"
#include "../owned.h"
#include "driver.h"
#include "plan.h"
#include "staging.h"

namespace acrobat::cuda {

// The code of a build for the device.
struct Image {
    const void* module;                // cubin
    int walk_shared;                   // bytes of shared memory of the kernel `walk`, if the build has it
    int resident;                      // blocks of it that it is made to run at once on each multiprocessor
    std::vector<const char*> kernels;  // if not: the kernels that run one step each, in the order of their numbers in steps
    std::vector<int> shared;           // their bytes of shared memory
};

// The clock of a walk, as it was after one of its steps.
struct StepClock {
    int64_t walk;  // the walk's number, since clocks are read
    int64_t kernel, tiles, barrier;  // of the step
    int64_t cycles;  // since the step before, or since the walk began
};

// Memory of the host that the device writes to. Each word that the device tells comes together with a tag in one store of 8 bytes,
// so the host sees by the tag that it is there. No piece is used for two tags at once, and each tag is greater than those before.
class Mailbox {
   public:
    explicit Mailbox(const Primary& primary) : primary_(primary) {}
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;
    ~Mailbox();

    struct Piece {
        const int64_t* host;
        int64_t* device;
    };
    // Room for so many words, until `reuse`. Throws ResourceError or DeviceError.
    Piece take(int64_t words);
    // Gives all pieces back. What was told with the tags before must have been read, or nobody needs it any more.
    void reuse() { block_ = 0, used_ = 0; }

   private:
    struct Block {
        int64_t* host;
        Pointer device;
        int64_t words;
    };

    const Primary& primary_;
    std::vector<Block> blocks_;
    size_t block_ = 0;  // the one that pieces are taken from, and how much of it is taken
    int64_t used_ = 0;
};

// An event of the driver. A `timed` one knows when it happened.
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
    // A copy of these bytes in the device's memory, as long as this object lives. Throws DeviceError, ResourceError.
    Pointer hold(const void* bytes, size_t size);
    void refill(Pointer weights, const void* bytes, size_t size);
    // Sets the stream of further work, which comes after all work that was submitted to the stream before.
    void use(Stream stream);

    // From here on each walk is waited for, and what its steps took is kept: `clocks()`, which is empty at first.
    void read_clocks() { reads_clocks_ = true, clocks_.clear(); }
    const std::vector<StepClock>& clocks() const { return clocks_; }

    Plan& plan() { return *plan_; }

    void start() override;
    void begin() override;
    Room room(int64_t elements) override;
    bool reads(int32_t type, int32_t id) const override;
    const char* tensors() const override { return tensors_.c_str(); }
    void run(const Unit& unit, Bucket& bucket, Place place) override;
    bool goes_on() const override { return true; }
    void require(Tensor tensor, int64_t elements) override;
    void proceed() override;
    const float* values(int64_t number, Tensor tensor, int64_t elements) override;
    void deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) override;
    void finish() override;
    void measure() override;

   private:
    struct Required {
        Tensor tensor;
        int64_t elements;
        const int64_t* words;  // of its value, in the mailbox
    };
    // A submission, from the beginning of its upload to the end of its last launch.
    struct Timed {
        Mark from{true}, to{true};
    };

    // The module's kernel of this name, allowed to use so many bytes of shared memory.
    Function function(const char* kernel, int shared);
    void next_level(Place place);
    // Plans that the host is told all tensors that were required since the last time.
    void tell();
    // Submits all that is planned; the device does it after what was submitted before.
    void submit();
    void launch(const std::vector<Step>& steps);
    void keep_clocks(const std::vector<Step>& steps, Pointer clocks);
    bool has_words(const Required& required) const;
    void wait_for(const Required& required);
    void check(Result result, const char* what) const { Driver::get().check(result, what); }

    size_t memory_limit_;
    bool gather_fusion_;
    std::string tensors_ = "CPU or CUDA";
    bool walk_ = true;
    bool emulated_ = false;
    Owned<Primary> primary_;
    Owned<DeviceMemory> memory_;
    Owned<Arena> weights_;
    Owned<Staging> staging_;
    Owned<Mailbox> mailbox_;
    Owned<Plan> plan_;
    ModuleHandle module_ = nullptr;
    Function walker_ = nullptr;
    unsigned walk_shared_ = 0;
    int grid_ = 0;  // blocks of the walk
    std::vector<Function> kernels_;
    std::vector<unsigned> shared_;
    Pointer barrier_ = 0;  // the word for the barriers of the walk's blocks
    Stream stream_ = nullptr;
    Owned<Mark> uploaded_, submitted_;  // the last upload and launch
    bool in_use_ = false;               // whether these have been recorded
    bool begun_ = false;                // whether a level was planned since the last submission
    std::vector<Required> required_;  // since the last `proceed`, or before it, until the next tensor is required
    size_t planned_ = 0;              // how many of these the host will be told by what is planned
    bool proceeded_ = true;
    uint32_t tag_ = 0;                // of the words of this execution
    std::vector<float> words_;        // the values of a tensor of several elements
    std::vector<Timed> timed_;
    bool reads_clocks_ = false;
    std::vector<StepClock> clocks_;
    size_t submissions_ = 0;  // of this mini-batch, the first ones of `timed_`
};

inline CudaDevice& cuda_of(Device& device) { return static_cast<CudaDevice&>(device); }

}  // namespace acrobat::cuda
