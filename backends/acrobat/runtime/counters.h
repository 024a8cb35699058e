// The measurements of a mini-batch.
#pragma once

#include <cstdint>

namespace acrobat {

// About the last mini-batch. Python reads the fields as an array and names them in this order in codegen/library.py
// (`COUNTERS`). `gathered_bytes` are copied by explicit gathers and from where a library wrote results; `library_calls` counts
// a library's matrix products. `host_bytes` and `tensor_bytes` are the most that the arenas held at once. During `blocked_ms`
// the host ran kernels or waited for a device that did.
struct Counters {
    double ingest_ms = 0, construct_ms = 0, schedule_ms = 0, kernel_ms = 0, copy_ms = 0, fetch_ms = 0;
    double nodes = 0, batches = 0, launches = 0, waits = 0, executions = 0, gathered_bytes = 0, product_flops = 0;
    double host_bytes = 0, tensor_bytes = 0, library_calls = 0, blocked_ms = 0;
    // of a device that is not the host: its launches, the steps that they ran, barriers between steps, bytes copied to it
    double device_launches = 0, steps = 0, barriers = 0, uploaded_bytes = 0;
};

}  // namespace acrobat
