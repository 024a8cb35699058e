#include "executor.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "../clock.h"

namespace acrobat::cuda {

namespace {

constexpr unsigned kThreads = 256;  // of a block
constexpr unsigned kUntimed = 2;    // flag of an event
constexpr int kTurns = 256;         // how often an answer is looked for before the stream is asked

}  // namespace

Mailbox::Piece Mailbox::take(int64_t words) {
    while (block_ < blocks_.size() && words > blocks_[block_].words - used_) ++block_, used_ = 0;
    if (block_ == blocks_.size()) {
        const int64_t size = std::max<int64_t>(words, blocks_.empty() ? 1 << 12 : 2 * blocks_.back().words);
        const Driver& driver = Driver::get();
        const Current current(primary_);
        void* host = nullptr;
        driver.check(driver.cuMemHostAlloc(&host, size_t(size) * 8, kPortable | kMapped), "taking pinned memory");
        blocks_.push_back({static_cast<int64_t*>(host), 0, size});
        std::fill_n(blocks_.back().host, size, 0);  // no tag
        driver.check(driver.cuMemHostGetDevicePointer_v2(&blocks_.back().device, host, 0), "mapping pinned memory");
    }
    const Block& b = blocks_[block_];
    const Piece piece{b.host + used_, reinterpret_cast<int64_t*>(b.device) + used_};
    used_ += words;
    return piece;
}

Mailbox::~Mailbox() {
    if (blocks_.empty()) return;
    const Current current(primary_);
    Driver::get().cuCtxSynchronize();  // a run that was interrupted may still write to it
    for (const Block& b : blocks_) Driver::get().cuMemFreeHost(b.host);
}

Mark::Mark(bool timed) {
    const Driver& driver = Driver::get();
    driver.check(driver.cuEventCreate(&event_, timed ? 0 : kUntimed), "making an event");
}

CudaDevice::CudaDevice(Context& cx, const Settings& settings)
    : Device(cx), memory_limit_(settings.memory_limit), gather_fusion_(settings.gather_fusion) {}

CudaDevice::~CudaDevice() {
    if (!primary_) return;
    const Driver& driver = Driver::get();
    const Current current(*primary_);
    driver.cuCtxSynchronize();
    cx_.tensors.move_to(host_memory());  // gives its blocks back before `memory_` is destroyed
    if (barrier_) driver.cuMemFree_v2(barrier_);
    timed_.clear();
    uploaded_ = Owned<Mark>();
    submitted_ = Owned<Mark>();
    if (module_) driver.cuModuleUnload(module_);
}

void CudaDevice::open(int ordinal, bool walk, const Image& image, bool emulated) {
    const Driver& driver = Driver::get();
    walk_ = walk;
    emulated_ = emulated;
    tensors_ = "CPU or cuda:" + std::to_string(ordinal);
    primary_ = Owned(new Primary(ordinal));
    const Current current(*primary_);
    memory_ = Owned(new DeviceMemory(*primary_, emulated));
    cx_.tensors.move_to(*memory_);
    weights_ = Owned(new Arena("weight", memory_limit_, *memory_));
    staging_ = Owned(new Staging(*primary_, memory_limit_));
    mailbox_ = Owned(new Mailbox(*primary_));
    check(driver.cuModuleLoadData(&module_, image.module), "loading the kernels");
    if (walk) {
        walker_ = function("walk", image.walk_shared);
        walk_shared_ = unsigned(image.walk_shared);
        int blocks = 0;  // that fit a multiprocessor: all blocks of a walk run together
        check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, walker_, int(kThreads), walk_shared_), "placing the kernel walk");
        if (blocks < 1) throw DeviceError("CUDA: a block of the kernel walk does not fit a multiprocessor; run the model with launches");
    }
    for (size_t i = 0; i < image.kernels.size(); ++i) {
        kernels_.push_back(function(image.kernels[i], image.shared[i]));
        shared_.push_back(unsigned(image.shared[i]));
    }
    check(driver.cuMemAlloc_v2(&barrier_, kBarrierBytes), "taking memory of the device");
    check(driver.cuMemsetD32Async(barrier_, 0, kBarrierBytes / 4, nullptr), "clearing the barrier");
    check(driver.cuStreamSynchronize(nullptr), "clearing the barrier");
    uploaded_ = Owned(new Mark(false));
    submitted_ = Owned(new Mark(false));
    plan_ = Owned(new Plan(cx_, *this, *staging_, primary_->multiprocessors, gather_fusion_));
}

Function CudaDevice::function(const char* kernel, int shared) {
    const Driver& driver = Driver::get();
    Function found = nullptr;
    check(driver.cuModuleGetFunction(&found, module_, kernel), (std::string("finding the kernel ") + kernel).c_str());
    check(driver.cuFuncSetAttribute(found, kDynamicShared, shared),
          (std::string("giving the kernel ") + kernel + " " + std::to_string(shared) + " bytes of shared memory").c_str());
    return found;
}

Pointer CudaDevice::hold(const void* bytes, size_t size) {
    const Pointer weights = reinterpret_cast<Pointer>(weights_->take(size));
    refill(weights, bytes, size);
    return weights;
}

void CudaDevice::refill(Pointer weights, const void* bytes, size_t size) {
    const Current current(*primary_);
    check(Driver::get().cuMemcpyHtoDAsync_v2(weights, bytes, size, stream_), "an upload of weights");
    check(Driver::get().cuStreamSynchronize(stream_), "an upload of weights");
}

void CudaDevice::use(Stream stream) {
    if (stream == stream_) return;
    const Current current(*primary_);
    if (in_use_) check(Driver::get().cuStreamWaitEvent(stream, submitted_->get(), 0), "changing the stream");
    stream_ = stream;
}

// ---- a mini-batch

void CudaDevice::start() {
    Device::start();
    submissions_ = 0;
}

void CudaDevice::begin() {
    plan_->clear();
    required_.clear();
    planned_ = 0;
    proceeded_ = true;
    begun_ = false;
    if (in_use_) {
        const Current current(*primary_);
        const auto began = Clock::now();
        check(Driver::get().cuEventSynchronize(uploaded_->get()), "waiting for an upload");
        cx_.counters.blocked_ms += milliseconds(Clock::now() - began);
    }
    staging_->reset();
}

Room CudaDevice::room(int64_t elements) {
    const Staging::Piece piece = staging_->take(size_t(elements) * 4);
    return {reinterpret_cast<float*>(piece.host), cx_.address(reinterpret_cast<const void*>(piece.device))};
}

bool CudaDevice::reads(int32_t type, int32_t id) const { return type == 2 && id == primary_->ordinal; }

void CudaDevice::next_level(Place place) {
    if (begun_ && place.phase == place_.phase && place.depth == place_.depth) return;
    plan_->next_level();
    tell();
    place_ = place;
    begun_ = true;
}

void CudaDevice::run(const Unit& unit, Bucket& bucket, Place place) {
    next_level(place);
    unit.run(*this, bucket);
}

void CudaDevice::require(Tensor tensor, int64_t elements) {
    if (proceeded_) {
        required_.clear();
        mailbox_->reuse();
        planned_ = 0;
        if (++tag_ == 0) tag_ = 1;
        proceeded_ = false;
    }
    required_.push_back({tensor, elements, nullptr});
}

void CudaDevice::tell() {
    // Tensors of one size are told by one call. The order of `required_` stays.
    std::vector<size_t> pending;
    for (; planned_ < required_.size(); ++planned_) pending.push_back(planned_);
    while (!pending.empty()) {
        const int64_t elements = required_[pending.front()].elements;
        const auto end = std::stable_partition(pending.begin(), pending.end(), [&](size_t i) { return required_[i].elements == elements; });
        const int64_t rows = end - pending.begin();
        const Mailbox::Piece piece = mailbox_->take(rows * elements);
        std::vector<int64_t> from;
        from.reserve(size_t(rows));
        for (auto i = pending.begin(); i != end; ++i) {
            required_[*i].words = piece.host + int64_t(from.size()) * elements;
            from.push_back(required_[*i].tensor);
        }
        plan_->call(kTellRows, 0, TellRows::tiles(rows),
                    TellRows{plan_->base, rows, plan_->table(from.data(), rows), elements, piece.device, int64_t(tag_)});
        pending.erase(pending.begin(), end);
    }
}

void CudaDevice::proceed() {
    if (required_.empty() || proceeded_) return;
    const auto began = Clock::now();
    const Current current(*primary_);
    if (planned_ < required_.size()) {
        plan_->next_level();
        tell();
    }
    submit();
    proceeded_ = true;
    cx_.counters.schedule_ms += milliseconds(Clock::now() - began);
}

const float* CudaDevice::values(int64_t number, Tensor, int64_t elements) {
    const Required& required = required_[size_t(number)];
    if (!has_words(required)) wait_for(required);
    // A word is the lower half of what was told, and the host is little-endian.
    if (elements == 1) return reinterpret_cast<const float*>(required.words);
    words_.resize(size_t(elements));
    for (int64_t e = 0; e < elements; ++e) std::memcpy(&words_[size_t(e)], required.words + e, 4);
    return words_.data();
}

bool CudaDevice::has_words(const Required& required) const {
    for (int64_t e = required.elements; e-- > 0;)
        if (uint32_t(uint64_t(__atomic_load_n(required.words + e, __ATOMIC_RELAXED)) >> 32) != tag_) return false;
    return true;
}

void CudaDevice::wait_for(const Required& required) {
    const auto began = Clock::now();
    const Current current(*primary_);
    for (int turns = 1; !has_words(required); ++turns) {
        if (turns % kTurns) {
            if (std::none_of(idle.begin(), idle.end(), [](const Idle& i) { return i.work(i.with) != 0; })) __builtin_ia32_pause();
            continue;
        }
        cx_.poll();
        const Result result = Driver::get().cuStreamQuery(stream_);
        if (result == kNotReady) continue;
        check(result, "running the kernels");
        if (!has_words(required)) throw DeviceError("CUDA: the device has ended its work without an answer");
    }
    cx_.counters.blocked_ms += milliseconds(Clock::now() - began);
}

void CudaDevice::deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) {
    next_level({-1, 0});  // all results of a wave are one level
    const int64_t rows = int64_t(tensors.size());
    if (elements) plan_->copy_rows(0, plan_->table(tensors.data(), rows), rows, elements, to, elements);
}

void CudaDevice::finish() {
    const Current current(*primary_);
    submit();
    if (!emulated_ && !cx_.materialised) return;
    const auto began = Clock::now();
    check(Driver::get().cuStreamSynchronize(stream_), "running the kernels");
    cx_.counters.blocked_ms += milliseconds(Clock::now() - began);
}

void CudaDevice::submit() {
    const std::vector<Step>& steps = plan_->close();
    if (!steps.empty()) {
        const Driver& driver = Driver::get();
        if (timed_.size() == submissions_) timed_.emplace_back();
        const Timed& timed = timed_[submissions_];
        Pointer walked = 0;
        if (walk_) {
            const Staging::Piece piece = staging_->take(steps.size() * sizeof(Step));
            std::memcpy(piece.host, steps.data(), steps.size() * sizeof(Step));
            walked = piece.device;
        }
        check(driver.cuEventRecord(timed.from.get(), stream_), "an event");
        Counters& counters = cx_.counters;
        counters.uploaded_bytes += double(staging_->upload(stream_));
        check(driver.cuEventRecord(uploaded_->get(), stream_), "an event");
        in_use_ = true;
        if (walk_) {
            int64_t count = int64_t(steps.size());
            Pointer clocks = 0;
            if (reads_clocks_) check(driver.cuMemAlloc_v2(&clocks, size_t(count + 1) * 8), "taking memory for clocks");
            void* parameters[] = {&walked, &count, &barrier_, &clocks};
            check(driver.cuLaunchCooperativeKernel(walker_, unsigned(primary_->multiprocessors), 1, 1, kThreads, 1, 1, walk_shared_,
                                                   stream_, parameters),
                  "launching the kernels");
            counters.device_launches += 1;
            counters.barriers += double(plan_->barriers());
            if (clocks) keep_clocks(steps, clocks);
        } else {
            launch(steps);
        }
        counters.steps += double(steps.size());
        check(driver.cuEventRecord(timed.to.get(), stream_), "an event");
        check(driver.cuEventRecord(submitted_->get(), stream_), "an event");
        submissions_ += 1;
    }
    // The memory of intermediates is free again in the stream's order, which AddressSanitizer does not know.
    if (kGap && emulated_) check(Driver::get().cuCtxSynchronize(), "running the kernels");
    plan_->clear();
    begun_ = false;
}

void CudaDevice::launch(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
        int64_t args = step.args, tiles = step.tiles;
        void* parameters[] = {&args, &tiles};
        check(Driver::get().cuLaunchKernel(kernels_[size_t(step.kernel)], unsigned(tiles), 1, 1, kThreads, 1, 1,
                                           shared_[size_t(step.kernel)], stream_, parameters, nullptr),
              "launching a kernel");
        cx_.counters.device_launches += 1;
    }
}

void CudaDevice::keep_clocks(const std::vector<Step>& steps, Pointer clocks) {
    const Driver& driver = Driver::get();
    std::vector<int64_t> read(steps.size() + 1);
    check(driver.cuStreamSynchronize(stream_), "running the kernels");
    check(driver.cuMemcpyDtoH_v2(read.data(), clocks, read.size() * 8), "reading clocks");
    check(driver.cuMemFree_v2(clocks), "freeing the memory of clocks");
    const int64_t walk = clocks_.empty() ? 0 : clocks_.back().walk + 1;
    for (size_t i = 0; i < steps.size(); ++i)
        clocks_.push_back({walk, steps[i].kernel, steps[i].tiles, steps[i].barrier, read[i + 1] - read[i]});
}

void CudaDevice::measure() {
    if (!submissions_) return;
    const Current current(*primary_);
    const Driver& driver = Driver::get();
    for (size_t i = 0; i < submissions_; ++i) {
        float took = 0;
        check(driver.cuEventSynchronize(timed_[i].to.get()), "waiting for the device");
        check(driver.cuEventElapsedTime(&took, timed_[i].from.get(), timed_[i].to.get()), "reading the device's clock");
        cx_.counters.kernel_ms += double(took);
    }
    submissions_ = 0;
}

Plan& plan_of(Device& device) { return cuda_of(device).plan(); }

Device* cuda_device(Context& cx, const Settings& settings) { return new CudaDevice(cx, settings); }

}  // namespace acrobat::cuda
