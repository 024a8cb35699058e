// CUDA's driver on the processor, for machines without a GPU: the functions of driver.h, and those by which Python asks for a
// device's properties. It is as strict as a driver may be, so that code which works on a device only by luck fails here:
//
// - the host cannot touch memory of the device, which is accessible only while work of a stream is being done;
// - a stream does nothing until the host waits for it or asks whether it is done; each such question does one piece of its work
//   (with `emulated_pause_at_barriers` a cooperative launch is many pieces, each up to the next barrier of all blocks);
// - streams wait for each other only by events;
// - a copy from pinned memory reads it when the copy runs, not when it is requested;
// - new memory is full of NaN; freeing memory while work is pending ends the process.
//
// A module is a shared object of emulated kernels, given by its bytes: for a kernel K it has
// `emulated_K(blocks, threads, shared bytes, parameters)`.
//
// Functions that begin with `emulated_` are for tests: they make calls fail, set what the device is, and count calls.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

enum : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kInvalidHandle = 400,
    kNotFound = 500,
    kNotReady = 600,
    kTooLarge = 720,
};

constexpr size_t kPage = 4096;
const std::map<int, int> kAttributes = {{16, 4}, {38, 4 << 20}, {75, 9}, {76, 0}, {95, 1}, {97, 232448}};
constexpr int kVersion = 13000;
constexpr size_t kMemory = size_t{4} << 30;

struct Region {
    size_t bytes;
    bool mapped;  // of pinned memory: whether the device has an address for it
};
struct Kernel {
    void (*run)(int blocks, int threads, size_t shared, void** parameters);
    std::string name;
    int shared = 48 << 10;  // bytes that a launch may ask for at most
    size_t parameters() const { return name == "walk" ? 4 : 2; }
};
struct Event {
    void* stream = nullptr;
    int64_t asked = 0, done = 0;  // how often a record was requested, and done
    Clock::time_point at;
};
struct Failure {
    int after;
    int code;
};

std::map<uintptr_t, Region> device, pinned;
std::map<void*, std::deque<Work>> streams;
std::map<std::string, int64_t> calls;
std::map<std::string, Failure> failures;
std::map<int, int> attributes = kAttributes;
std::vector<std::unique_ptr<Kernel>> kernels;
size_t memory = kMemory;
int version = kVersion;
bool pauses = false;        // whether launches pause at barriers of all blocks
bool again = false;         // whether the piece of work that was just done is to be continued
bool open_to_host = false;  // whether the host may touch the device's memory
int sticky = kSuccess;  // the error of all later calls, after a launch has failed
thread_local int contexts = 0;

[[noreturn]] void stop(const char* what) {
    std::fprintf(stderr, "emulated CUDA driver: %s\n", what);
    std::abort();
}

int entered(const char* name, bool context = true) {
    calls[name] += 1;
    if (const auto f = failures.find(name); f != failures.end() && f->second.after-- == 0) {
        const int code = f->second.code;
        failures.erase(f);
        return code;
    }
    if (sticky) return sticky;
    return context && contexts == 0 ? kInvalidContext : kSuccess;
}

bool pending() {
    return std::any_of(streams.begin(), streams.end(), [](const auto& stream) { return !stream.second.empty(); });
}

void protect(int how) {
    if (open_to_host) return;
    for (const auto& [at, region] : device) mprotect(reinterpret_cast<void*>(at), region.bytes, how);
}

// Does the next piece of a stream's work.
void step(void* stream) {
    const Work work = std::move(streams[stream].front());
    streams[stream].pop_front();
    again = false;
    if (!sticky) work();
    if (std::exchange(again, false)) streams[stream].push_front(work);
}
void all(void* stream) {
    while (!streams[stream].empty()) step(stream);
}
void enqueue(void* stream, Work work) { streams[stream].push_back(std::move(work)); }

// Work that touches the device's memory.
Work on_device(Work work) {
    return [work = std::move(work)] {
        protect(PROT_READ | PROT_WRITE);
        work();
        protect(PROT_NONE);
    };
}

void* pages(size_t bytes, int how) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    std::memset(at, 0xff, bytes);
    mprotect(at, bytes, how);
    return at;
}

size_t used() {
    size_t bytes = 0;
    for (const auto& [at, region] : device) bytes += region.bytes;
    return bytes;
}

// The region in which [p, p + bytes) lies, or null.
const Region* within(const std::map<uintptr_t, Region>& regions, const void* p, size_t bytes) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(p);
    auto next = regions.upper_bound(at);
    if (next == regions.begin()) return nullptr;
    const auto& [start, region] = *--next;
    return at + bytes <= start + region.bytes ? &region : nullptr;
}

// The work of a launch, on a stack of its own, so that it can be left at a barrier and continued later.
class Launch {
   public:
    explicit Launch(Work work) : work_(std::move(work)), stack_(kStack) {}

    // Goes on to the next barrier or to the end, of this launch alone: one that was left in the middle is first brought to its end.
    // Returns whether it has ended.
    bool step() {
        while (running_ && running_ != this && !running_->step()) {
        }
        if (done_) return true;
        if (!running_) {
            getcontext(&inside_);
            inside_.uc_stack.ss_sp = stack_.data();
            inside_.uc_stack.ss_size = stack_.size();
            inside_.uc_link = &outside_;
            makecontext(&inside_, entry, 0);
        }
        running_ = this;
        swapcontext(&outside_, &inside_);
        if (done_) running_ = nullptr;
        return done_;
    }
    static void pause() {
        if (running_) swapcontext(&running_->inside_, &running_->outside_);
    }

   private:
    static constexpr size_t kStack = size_t{1} << 20;
    static void entry() {
        running_->work_();
        running_->done_ = true;
    }
    static inline Launch* running_ = nullptr;  // the launch that has begun and has not ended

    Work work_;
    std::vector<char> stack_;
    ucontext_t inside_, outside_;
    bool done_ = false;
};

int launch(void* function, unsigned blocks, unsigned threads, unsigned shared, void* stream, void** parameters) {
    const Kernel& kernel = *static_cast<Kernel*>(function);
    if (!blocks || !threads || int(shared) > kernel.shared) return kInvalidValue;
    // The parameters are copied when a launch is requested, as the driver does it.
    std::vector<uint64_t> given(kernel.parameters());
    for (size_t i = 0; i < given.size(); ++i) std::memcpy(&given[i], parameters[i], 8);
    const Work run = [&kernel, blocks, threads, shared, given]() mutable {
        if (const int code = entered("run", false); code) {
            sticky = code;
            return;
        }
        std::vector<void*> each;
        for (uint64_t& value : given) each.push_back(&value);
        kernel.run(int(blocks), int(threads), shared, each.data());
    };
    if (!pauses) {
        enqueue(stream, on_device(run));
        return kSuccess;
    }
    const auto launched = std::make_shared<Launch>(run);
    enqueue(stream, on_device([launched] { again = !launched->step(); }));
    return kSuccess;
}

}  // namespace

#define ENTER(name, ...) \
    if (const int code = entered(name, ##__VA_ARGS__); code) return code

extern "C" {

// ---- for tests

// Makes a call of `name` fail with this code, after so many others. "run" is a launch's work, after which all calls fail.
void emulated_fail(const char* name, int after, int code) { failures[name] = {after, code}; }
void emulated_attribute(int attribute, int value) { attributes[attribute] = value; }
void emulated_version(int value) { version = value; }
void emulated_memory(uint64_t bytes) { memory = bytes; }
// From here on launches pause at barriers, until `emulated_reset`.
void emulated_pause_at_barriers() { pauses = true; }
// Whether a stream has work that is not done.
int emulated_busy() { return pending(); }
// Leaves memory of the device open to the host from here on: closing and opening it takes longer than a small launch.
void emulated_leave_open() {
    protect(PROT_READ | PROT_WRITE);
    open_to_host = true;
}
int64_t emulated_calls(const char* name) { return calls[name]; }
// Resets everything but allocations.
void emulated_reset() {
    failures.clear();
    calls.clear();
    attributes = kAttributes;
    version = kVersion;
    memory = kMemory;
    sticky = kSuccess;
    pauses = false;
    if (open_to_host) {
        open_to_host = false;
        protect(PROT_NONE);
    }
}

// ---- the driver

int cuInit(unsigned) { return entered("cuInit", false); }
int cuDriverGetVersion(int* v) {
    ENTER("cuDriverGetVersion", false);
    *v = version;
    return kSuccess;
}
int cuDeviceGetCount(int* n) {
    ENTER("cuDeviceGetCount", false);
    *n = 1;
    return kSuccess;
}
int cuDeviceGet(int* handle, int ordinal) {
    ENTER("cuDeviceGet", false);
    *handle = ordinal;
    return ordinal == 0 ? kSuccess : kInvalidDevice;
}
int cuDeviceGetName(char* name, int size, int) {
    ENTER("cuDeviceGetName", false);
    std::snprintf(name, size_t(size), "emulated device");
    return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    ENTER("cuDeviceGetAttribute", false);
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return kInvalidValue;
    *value = found->second;
    return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
    ENTER("cuDevicePrimaryCtxRetain", false);
    static int primary;
    *context = &primary;
    return kSuccess;
}
int cuCtxPushCurrent_v2(void*) {
    ENTER("cuCtxPushCurrent_v2", false);
    contexts += 1;
    return kSuccess;
}
int cuCtxPopCurrent_v2(void** context) {
    calls["cuCtxPopCurrent_v2"] += 1;
    if (contexts == 0) return kInvalidContext;
    contexts -= 1;
    *context = nullptr;
    return kSuccess;
}
int cuCtxSynchronize() {
    ENTER("cuCtxSynchronize");
    for (auto& [stream, queue] : streams) all(stream);
    return sticky;
}

int cuModuleLoadData(void** module, const void* image) {
    ENTER("cuModuleLoadData");
    if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return kInvalidImage;
    const auto* head = static_cast<const Elf64_Ehdr*>(image);
    const size_t size = head->e_shoff + size_t(head->e_shnum) * head->e_shentsize;  // the section table ends the file
    const int file = memfd_create("module", MFD_CLOEXEC);
    if (file < 0 || write(file, image, size) != ssize_t(size)) return kInvalidImage;
    *module = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!*module) {
        std::fprintf(stderr, "emulated CUDA driver: %s\n", dlerror());
    } else if (void* hook = dlsym(*module, "acrobat_pause")) {
        *static_cast<void (**)()>(hook) = [] {
            if (pauses) Launch::pause();
        };
    }
    // The file stays open: for a path that it has had before, dlopen returns the old object, whatever the path is now.
    return *module ? kSuccess : kInvalidImage;
}
int cuModuleUnload(void*) {
    ENTER("cuModuleUnload");
    if (pending()) stop("a module is unloaded while work is pending");
    return kSuccess;  // the shared object stays loaded: sanitizers name its functions when the process ends
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
    ENTER("cuModuleGetFunction");
    void* found = dlsym(module, (std::string("emulated_") + name).c_str());
    if (!found) return kNotFound;
    kernels.emplace_back(new Kernel{reinterpret_cast<decltype(Kernel::run)>(found), name});
    *function = kernels.back().get();
    return kSuccess;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
    ENTER("cuFuncSetAttribute");
    if (attribute != 8 || value > attributes[97]) return kInvalidValue;
    static_cast<Kernel*>(function)->shared = value;
    return kSuccess;
}
// How many blocks with so much shared memory each run on a multiprocessor at once.
static int resident_blocks(size_t shared) {
    const int reserved = 1024, bytes = int(shared);  // `reserved`: of each block, and not for it
    return bytes > attributes[97] ? 0 : std::min(8, (attributes[97] + reserved) / (bytes + reserved));
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t shared) {
    ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    *blocks = resident_blocks(shared);
    return kSuccess;
}

int cuMemAlloc_v2(uint64_t* at, size_t bytes) {
    ENTER("cuMemAlloc_v2");
    bytes = (bytes + kPage - 1) / kPage * kPage;
    if (!bytes) return kInvalidValue;
    if (used() + bytes > memory) return kOutOfMemory;
    void* p = pages(bytes, open_to_host ? PROT_READ | PROT_WRITE : PROT_NONE);
    if (!p) return kOutOfMemory;
    *at = reinterpret_cast<uint64_t>(p);
    device[*at] = {bytes, true};
    return kSuccess;
}
int cuMemFree_v2(uint64_t at) {
    ENTER("cuMemFree_v2");
    if (pending()) stop("memory of the device is freed while work is pending");
    const auto found = device.find(at);
    if (found == device.end()) return kInvalidValue;
    munmap(reinterpret_cast<void*>(at), found->second.bytes);
    device.erase(found);
    return kSuccess;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
    ENTER("cuMemGetInfo_v2");
    *free = memory - std::min(memory, used());
    *total = memory;
    return kSuccess;
}
int cuMemHostAlloc(void** at, size_t bytes, unsigned flags) {
    ENTER("cuMemHostAlloc");
    bytes = (bytes + kPage - 1) / kPage * kPage;
    *at = pages(bytes, PROT_READ | PROT_WRITE);
    if (!*at) return kOutOfMemory;
    pinned[reinterpret_cast<uintptr_t>(*at)] = {bytes, (flags & 2) != 0};
    return kSuccess;
}
int cuMemFreeHost(void* at) {
    ENTER("cuMemFreeHost");
    if (pending()) stop("pinned memory is freed while work is pending");
    const auto found = pinned.find(reinterpret_cast<uintptr_t>(at));
    if (found == pinned.end()) return kInvalidValue;
    munmap(at, found->second.bytes);
    pinned.erase(found);
    return kSuccess;
}
int cuMemHostGetDevicePointer_v2(uint64_t* at, void* host, unsigned) {
    ENTER("cuMemHostGetDevicePointer_v2");
    const Region* region = within(pinned, host, 1);
    if (!region || !region->mapped) return kInvalidValue;
    *at = reinterpret_cast<uint64_t>(host);
    return kSuccess;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
    ENTER("cuMemcpyHtoDAsync_v2");
    if (!within(device, reinterpret_cast<void*>(to), bytes)) return kInvalidValue;
    if (within(pinned, from, bytes)) {
        enqueue(stream, on_device([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); }));
        return kSuccess;
    }
    const char* begin = static_cast<const char*>(from);
    std::vector<char> copy(begin, begin + bytes);  // memory of the host that is not pinned is read at once
    enqueue(stream, on_device([to, copy = std::move(copy)] { std::memcpy(reinterpret_cast<void*>(to), copy.data(), copy.size()); }));
    return kSuccess;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
    ENTER("cuMemcpyDtoH_v2");
    if (!within(device, reinterpret_cast<void*>(from), bytes)) return kInvalidValue;
    enqueue(nullptr, on_device([=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); }));
    all(nullptr);
    return sticky;
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void* stream) {
    ENTER("cuMemsetD32Async");
    if (!within(device, reinterpret_cast<void*>(to), count * 4)) return kInvalidValue;
    enqueue(stream, on_device([=] { std::fill_n(reinterpret_cast<unsigned*>(to), count, value); }));
    return kSuccess;
}

int cuStreamSynchronize(void* stream) {
    ENTER("cuStreamSynchronize");
    all(stream);
    return sticky;
}
int cuStreamQuery(void* stream) {
    ENTER("cuStreamQuery");
    if (streams[stream].empty()) return kSuccess;
    step(stream);
    return sticky ? sticky : kNotReady;
}
int cuEventCreate(void** event, unsigned) {
    ENTER("cuEventCreate");
    *event = new Event;
    return kSuccess;
}
int cuEventDestroy_v2(void* event) {
    ENTER("cuEventDestroy_v2");
    if (pending()) stop("an event is destroyed while work is pending");
    delete static_cast<Event*>(event);
    return kSuccess;
}
int cuEventRecord(void* handle, void* stream) {
    ENTER("cuEventRecord");
    Event* event = static_cast<Event*>(handle);
    event->stream = stream;
    const int64_t number = ++event->asked;
    enqueue(stream, [event, number] {
        event->done = number;
        event->at = Clock::now();
    });
    return kSuccess;
}
int cuEventSynchronize(void* handle) {
    ENTER("cuEventSynchronize");
    Event* event = static_cast<Event*>(handle);
    while (event->done < event->asked && !streams[event->stream].empty()) step(event->stream);
    return sticky;
}
int cuStreamWaitEvent(void* stream, void* handle, unsigned) {
    ENTER("cuStreamWaitEvent");
    Event* event = static_cast<Event*>(handle);
    const int64_t number = event->asked;
    void* const other = event->stream;  // the event may be recorded in another stream later
    enqueue(stream, [event, number, other] {
        while (event->done < number) step(other);
    });
    return kSuccess;
}
int cuEventElapsedTime(float* took, void* from, void* to) {
    ENTER("cuEventElapsedTime");
    const Event *a = static_cast<Event*>(from), *b = static_cast<Event*>(to);
    if (!a->done || !b->done) return kInvalidHandle;
    *took = std::chrono::duration<float, std::milli>(b->at - a->at).count();
    return kSuccess;
}

int cuLaunchKernel(void* function, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared, void* stream,
                   void** parameters, void**) {
    ENTER("cuLaunchKernel");
    return launch(function, x, threads, shared, stream, parameters);
}
int cuLaunchCooperativeKernel(void* function, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared,
                              void* stream, void** parameters) {
    ENTER("cuLaunchCooperativeKernel");
    if (int(x) > attributes[16] * resident_blocks(shared)) return kTooLarge;
    return launch(function, x, threads, shared, stream, parameters);
}

int cuGetErrorString(int result, const char** text) {
    static const std::map<int, const char*> texts = {
        {kInvalidValue, "invalid argument"},
        {kOutOfMemory, "out of memory"},
        {kInvalidDevice, "invalid device ordinal"},
        {kInvalidImage, "device kernel image is invalid"},
        {kInvalidContext, "invalid device context"},
        {kInvalidHandle, "invalid resource handle"},
        {kNotFound, "named symbol not found"},
        {700, "an illegal memory access was encountered"},
        {719, "unspecified launch failure"},
        {kTooLarge, "too many blocks in cooperative launch"},
    };
    const auto found = texts.find(result);
    *text = found == texts.end() ? nullptr : found->second;
    return found == texts.end() ? kInvalidValue : kSuccess;
}

}  // extern "C"
