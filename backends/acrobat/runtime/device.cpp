#include "device.h"

namespace acrobat {

void Device::count(const char* kernel, const char* symbol, int64_t rows, double flops_per_row) {
    if (rows == 0) return;
    cx_.counters.launches += 1;
    cx_.counters.product_flops += flops_per_row * double(rows);
    if (logging) log.push_back({place_.phase, place_.depth, kernel, symbol, rows});
}

}  // namespace acrobat
