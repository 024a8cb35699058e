#include "driver.h"

#include <dlfcn.h>

#include <cstdlib>

#include "../errors.h"

namespace acrobat::cuda {

namespace {

// Whether the error is a kernel's that leaves the context unusable. The driver's reference says so of illegal addresses (700),
// timeouts (702), assertions (710), and from errors of the stack (714) to unspecified ones (719).
bool is_lasting(Result result) { return result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719); }
constexpr const char* kLasting = "; this process cannot use the device any more, PyTorch neither: start it anew";

}  // namespace

Driver::Driver() {
    const char* chosen = std::getenv("ACROBAT_CUDA_DRIVER");
    const char* name = chosen && *chosen ? chosen : "libcuda.so.1";
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw DeviceError(std::string("there is no CUDA driver: ") + dlerror());
#define ACROBAT_FUNCTION(name_of, parameters)                                                                              \
    name_of = reinterpret_cast<decltype(name_of)>(dlsym(library, #name_of));                                               \
    if (!name_of) throw DeviceError(std::string("the CUDA driver ") + name + " is too old: it has no function " #name_of);
    ACROBAT_CUDA_DRIVER(ACROBAT_FUNCTION)
#undef ACROBAT_FUNCTION
    check(cuInit(0), "starting the driver");
}

const Driver& Driver::get() {
    static const Driver driver;
    return driver;
}

void Driver::fail(Result result, const char* what) const {
    const char* text = nullptr;
    cuGetErrorString(result, &text);
    const std::string message =
        std::string("CUDA: ") + what + " failed: " + (text ? text : "unknown error") + " (" + std::to_string(result) + ")";
    if (result == kOutOfMemory) throw ResourceError(message + "; " + memory_left());
    throw DeviceError(message + (is_lasting(result) ? kLasting : ""));
}

Primary::Primary(int device) : ordinal(device) {
    const Driver& driver = Driver::get();
    Ordinal handle;
    driver.check(driver.cuDeviceGet(&handle, ordinal), "finding the device");
    driver.check(driver.cuDevicePrimaryCtxRetain(&context, handle), "taking the device's context");  // never released: PyTorch's too
    driver.check(driver.cuDeviceGetAttribute(&multiprocessors, kMultiprocessors, handle), "asking for the multiprocessors");
    int cooperative = 0;
    driver.check(driver.cuDeviceGetAttribute(&cooperative, kCooperativeLaunch, handle), "asking for cooperative launches");
    if (!cooperative) throw DeviceError("CUDA: the device has no cooperative launches");
}

void* DeviceMemory::map(size_t bytes) {
    const Current current(primary_);
    Pointer memory = 0;
    const Driver& driver = Driver::get();
    const Result result = driver.cuMemAlloc_v2(&memory, bytes);
    if (result == kOutOfMemory) return nullptr;
    driver.check(result, "taking memory of the device");
    return reinterpret_cast<void*>(memory);
}

void DeviceMemory::unmap(void* block, size_t) {
    const Driver& driver = Driver::get();
    const Current current(primary_);
    driver.cuCtxSynchronize();  // work that was submitted may still use it
    driver.cuMemFree_v2(reinterpret_cast<Pointer>(block));
}

std::string DeviceMemory::shortage(size_t bytes) const {
    const Current current(primary_);
    return "the CUDA device " + std::to_string(primary_.ordinal) + " has no " + std::to_string(bytes >> 20) + " MiB left (" +
           memory_left() + ")";
}

std::string memory_left() {
    size_t free = 0, total = 0;
    Driver::get().cuMemGetInfo_v2(&free, &total);
    return std::to_string(free >> 20) + " of " + std::to_string(total >> 20) +
           " MiB are free; torch.cuda.empty_cache() gives back what PyTorch keeps";
}

}  // namespace acrobat::cuda
