// The functions of CUDA's driver that the runtime calls. They are looked up at run time, so nothing of CUDA is needed to build
// it. $ACROBAT_CUDA_DRIVER names another library that has these functions, such as the emulated driver of the tests.
//
// All work is done in the primary context of a device. PyTorch uses the same one, so pointers and streams are valid for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../memory.h"

namespace acrobat::cuda {

// ---- types of the driver's interface (cuda.h)
using Result = int;
using Ordinal = int;
using Pointer = uint64_t;  // into the device's memory
using ContextHandle = void*;
using ModuleHandle = void*;
using Function = void*;
using Stream = void*;
using Event = void*;

// clang-format off
#define ACROBAT_CUDA_DRIVER(X)                                                                                              \
    X(cuInit, (unsigned flags))                                                                                             \
    X(cuDeviceGet, (Ordinal* device, int ordinal))                                                                          \
    X(cuDeviceGetAttribute, (int* value, int attribute, Ordinal device))                                                    \
    X(cuDevicePrimaryCtxRetain, (ContextHandle* context, Ordinal device))                                                   \
    X(cuCtxPushCurrent_v2, (ContextHandle context))                                                                         \
    X(cuCtxPopCurrent_v2, (ContextHandle* context))                                                                         \
    X(cuCtxSynchronize, ())                                                                                                 \
    X(cuModuleLoadData, (ModuleHandle* module, const void* image))                                                          \
    X(cuModuleUnload, (ModuleHandle module))                                                                                \
    X(cuModuleGetFunction, (Function* function, ModuleHandle module, const char* name))                                     \
    X(cuFuncSetAttribute, (Function function, int attribute, int value))                                                    \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* blocks, Function function, int threads, size_t shared))            \
    X(cuMemAlloc_v2, (Pointer* memory, size_t bytes))                                                                       \
    X(cuMemFree_v2, (Pointer memory))                                                                                       \
    X(cuMemGetInfo_v2, (size_t* free, size_t* total))                                                                       \
    X(cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))                                                        \
    X(cuMemFreeHost, (void* memory))                                                                                        \
    X(cuMemHostGetDevicePointer_v2, (Pointer* device, void* memory, unsigned flags))                                        \
    X(cuMemcpyHtoDAsync_v2, (Pointer to, const void* from, size_t bytes, Stream stream))                                    \
    X(cuMemcpyDtoH_v2, (void* to, Pointer from, size_t bytes))                                                              \
    X(cuMemsetD32Async, (Pointer to, unsigned value, size_t count, Stream stream))                                          \
    X(cuStreamSynchronize, (Stream stream))                                                                                 \
    X(cuStreamQuery, (Stream stream))                                                                                       \
    X(cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))                                                      \
    X(cuEventCreate, (Event* event, unsigned flags))                                                                        \
    X(cuEventDestroy_v2, (Event event))                                                                                     \
    X(cuEventRecord, (Event event, Stream stream))                                                                          \
    X(cuEventSynchronize, (Event event))                                                                                    \
    X(cuEventElapsedTime, (float* milliseconds, Event from, Event to))                                                      \
    X(cuLaunchKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,              \
                       unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** parameters, void** more)) \
    X(cuLaunchCooperativeKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
                                  unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** parameters))   \
    X(cuGetErrorString, (Result result, const char** text))
// clang-format on

constexpr Result kOutOfMemory = 2, kNotReady = 600;
constexpr int kMultiprocessors = 16, kCooperativeLaunch = 95;  // attributes of a device
constexpr int kDynamicShared = 8;                              // attribute of a function
constexpr unsigned kPortable = 1, kMapped = 2;                 // flags of the host's pinned memory

class Driver {
   public:
#define ACROBAT_FUNCTION(name, parameters) Result(*name) parameters = nullptr;
    ACROBAT_CUDA_DRIVER(ACROBAT_FUNCTION)
#undef ACROBAT_FUNCTION

    // The driver of this process, loaded at the first call. Throws DeviceError if there is none, or if it is too old.
    static const Driver& get();

    // Throws unless `result` is success: ResourceError, with the memory that is left, if the device has too little of it, else
    // DeviceError. The message says what was tried (`what`) and has the driver's own text.
    void check(Result result, const char* what) const {
        if (result) [[unlikely]]
            fail(result, what);
    }

   private:
    Driver();
    [[noreturn]] void fail(Result result, const char* what) const;
};

// The primary context of a device. The constructor throws DeviceError if the device cannot be used.
class Primary {
   public:
    explicit Primary(int ordinal);

    int ordinal;
    ContextHandle context = nullptr;
    int multiprocessors = 0;
};

// Makes the context current for this thread. A failure is not reported here: later calls fail too, and say more.
class Current {
   public:
    explicit Current(const Primary& primary) : entered_(Driver::get().cuCtxPushCurrent_v2(primary.context) == 0) {}
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
        ContextHandle context;
        if (entered_) Driver::get().cuCtxPopCurrent_v2(&context);
    }

   private:
    bool entered_;
};

// Memory of a device, for arenas.
class DeviceMemory final : public Memory {
   public:
    // `emulated`: the memory is this process's, so AddressSanitizer can check it.
    DeviceMemory(const Primary& primary, bool emulated) : primary_(primary), emulated_(emulated) {}

    void* map(size_t bytes) override;
    void unmap(void* block, size_t bytes) override;
    bool checked() const override { return emulated_; }
    std::string shortage(size_t bytes) const override;

   private:
    const Primary& primary_;
    bool emulated_;
};

// For messages: how much memory the current device has, and how much of it is free.
std::string memory_left();

}  // namespace acrobat::cuda
