// What the C interface between Python and compiled models has for the processor alone (`runtime/boundary.cpp` has the rest).
#include "../exported.h"
#include "../session.h"
#include "executor.h"

using namespace acrobat;

// The library that computes matrix products, with `wide` integers of 64 bits; its threads are set where it has functions for that.
ACROBAT_EXPORT void acrobat_set_gemm(Session* s, void* sgemm, int wide, void* get_threads, void* set_threads) {
    cpu_of(*s->device).gemm.set(sgemm, wide != 0, get_threads, set_threads);
}
