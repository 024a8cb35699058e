// The part of the C interface of compiled models (runtime/boundary.cpp) that is for the processor only.
#include "../exported.h"
#include "../session.h"
#include "executor.h"

using namespace acrobat;

// Sets the library for matrix products: `sgemm`, whether its integers have 64 bits (`wide`), and how its threads are set.
ACROBAT_EXPORT void acrobat_set_gemm(Session* s, void* sgemm, int wide, void* get_threads, void* set_threads) {
    cpu_of(*s->device).gemm.set(sgemm, wide != 0, get_threads, set_threads);
}
