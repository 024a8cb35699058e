// What a mini-batch's run is measured by.
#pragma once

#include <cstdint>

namespace acrobat {

// About the last mini-batch. The order is the C boundary's: `codegen.executable` names the fields. `gathered_bytes` are copied to
// be next to each other, or from where a library left them; `library_calls` are its products.
struct Counters {
    double ingest_ms = 0, construct_ms = 0, schedule_ms = 0, kernel_ms = 0, copy_ms = 0, fetch_ms = 0;
    double nodes = 0, batches = 0, launches = 0, waits = 0, executions = 0, gathered_bytes = 0, product_flops = 0;
    double host_bytes = 0, tensor_bytes = 0, library_calls = 0;
};

// A launch as the log has it.
struct Launched {
    int phase;
    int64_t depth;
    const char* kernel;
    const char* symbol;  // tells kernels of one name apart
    int64_t rows;
};

}  // namespace acrobat
