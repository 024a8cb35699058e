// The functions by which Python prepares a model that runs on CUDA: between `acrobat_create`, with null as its base, and the first
// run. Each gives 0, or -1 (an address: 0) where a Python exception is set.
#include "../model.h"
#include "../python/side.h"
#include "executor.h"

using namespace acrobat;

ACROBAT_EXPORT int acrobat_cuda_open(Session* s, int ordinal, int walk, const void* module, int walk_shared, int kernels,
                                     const char* const* names, const int* shared, int emulated) {
    return guarded(*s->python, [&] {
        cuda::Image image{module, walk_shared, {names, names + kernels}, {shared, shared + kernels}};
        cuda::cuda_of(*s->device).open(ordinal, walk != 0, image, emulated != 0);
    });
}

// Memory of the device with these bytes, kept until the session is destroyed; the first is what addresses count from.
ACROBAT_EXPORT uint64_t acrobat_cuda_hold(Session* s, const void* bytes, uint64_t size) {
    uint64_t held = 0;
    guarded(*s->python, [&] {
        held = cuda::cuda_of(*s->device).hold(bytes, size);
        if (!s->cx.base) s->cx.base = reinterpret_cast<float*>(held);
    });
    return held;
}

ACROBAT_EXPORT int acrobat_cuda_refill(Session* s, uint64_t held, const void* bytes, uint64_t size) {
    return guarded(*s->python, [&] { cuda::cuda_of(*s->device).refill(held, bytes, size); });
}

ACROBAT_EXPORT int acrobat_cuda_stream(Session* s, void* stream) {
    return guarded(*s->python, [&] { cuda::cuda_of(*s->device).use(stream); });
}
