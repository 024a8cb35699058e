// What a mini-batch's run is measured by.
#pragma once

#include <cstdint>

namespace acrobat {

// About the last mini-batch. The order is the C boundary's: `codegen.executable` names the fields. `gathered_bytes` are copied to
// be next to each other, or from where a library left them; `library_calls` are its products. In `blocked_ms` the host ran kernels or
// waited for a device that did.
struct Counters {
    double ingest_ms = 0, construct_ms = 0, schedule_ms = 0, kernel_ms = 0, copy_ms = 0, fetch_ms = 0;
    double nodes = 0, batches = 0, launches = 0, waits = 0, executions = 0, gathered_bytes = 0, product_flops = 0;
    double host_bytes = 0, tensor_bytes = 0, library_calls = 0, blocked_ms = 0;
    // of a device beside the host: its launches, the steps they walked, barriers between these, what was copied to it
    double device_launches = 0, steps = 0, barriers = 0, uploaded_bytes = 0;
};

}  // namespace acrobat
