// How Python prepares a model for CUDA: after `acrobat_create` with a null base by `open` and `hold`, before any run by `stream`
// and `refill`. Unless said otherwise, each returns 0, or -1 if a Python exception is set; `hold` returns an address, or 0.
#include "../model.h"
#include "../python/side.h"
#include "executor.h"

using namespace acrobat;

ACROBAT_EXPORT int acrobat_cuda_open(Session* s, int ordinal, int walk, const void* module, int walk_shared, int resident,
                                     int kernels, const char* const* names, const int* shared, int emulated) {
    return guarded(*s->python, [&] {
        cuda::Image image{module, walk_shared, resident, {names, names + kernels}, {shared, shared + kernels}};
        cuda::cuda_of(*s->device).open(ordinal, walk != 0, image, emulated != 0);
    });
}

// A copy of these bytes on the device, kept until the session is destroyed. The first one is the base of all addresses.
ACROBAT_EXPORT uint64_t acrobat_cuda_hold(Session* s, const void* bytes, uint64_t size) {
    uint64_t weights = 0;
    guarded(*s->python, [&] {
        weights = cuda::cuda_of(*s->device).hold(bytes, size);
        if (!s->cx.base) s->cx.base = reinterpret_cast<float*>(weights);
    });
    return weights;
}

ACROBAT_EXPORT int acrobat_cuda_refill(Session* s, uint64_t weights, const void* bytes, uint64_t size) {
    return guarded(*s->python, [&] { cuda::cuda_of(*s->device).refill(weights, bytes, size); });
}

// Has the clocks of all further walks kept.
ACROBAT_EXPORT void acrobat_cuda_read_clocks(Session* s) { cuda::cuda_of(*s->device).read_clocks(); }

// The clocks that were kept: `*count` times five numbers, those of a StepClock. They are valid until the next mini-batch.
ACROBAT_EXPORT const int64_t* acrobat_cuda_clocks(Session* s, int64_t* count) {
    const auto& clocks = cuda::cuda_of(*s->device).clocks();
    static_assert(sizeof(cuda::StepClock) == 5 * sizeof(int64_t));
    *count = int64_t(clocks.size());
    return reinterpret_cast<const int64_t*>(clocks.data());
}

ACROBAT_EXPORT int acrobat_cuda_stream(Session* s, void* stream) {
    return guarded(*s->python, [&] { cuda::cuda_of(*s->device).use(stream); });
}
