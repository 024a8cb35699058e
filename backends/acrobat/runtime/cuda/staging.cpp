#include "staging.h"

#include <algorithm>
#include <string>

#include "../errors.h"

namespace acrobat::cuda {

size_t Staging::upload(Stream stream) {
    const Driver& driver = Driver::get();
    size_t bytes = 0;
    for (Block& b : blocks_) {
        if (b.used == b.uploaded) continue;
        const size_t more = b.used - b.uploaded;
        driver.check(driver.cuMemcpyHtoDAsync_v2(b.device + b.uploaded, b.host + b.uploaded, more, stream), "an upload");
        b.uploaded = b.used;
        bytes += more;
    }
    return bytes;
}

void Staging::reset() {
    if (blocks_.size() > 1) {
        const size_t total = reserved_;
        release();
        open(total);
    }
    if (!blocks_.empty()) blocks_.back().used = blocks_.back().uploaded = 0;
}

void Staging::open(size_t bytes) {
    if (bytes > limit_) full("the staging memory", reserved_, bytes, limit_);
    const size_t size = (std::max({bytes, kFirst, reserved_}) + kFirst - 1) / kFirst * kFirst;
    if (size > limit_ - std::min(reserved_, limit_)) full("the staging memory", reserved_, size, limit_);
    const Driver& driver = Driver::get();
    const Current current(primary_);
    Block b{nullptr, 0, size, 0, 0};
    void* host = nullptr;
    Result result = driver.cuMemHostAlloc(&host, size, kPortable);
    if (result == kOutOfMemory)
        throw ResourceError("the system has no " + std::to_string(size >> 20) + " MiB of pinned memory left for staging");
    driver.check(result, "taking pinned memory");
    b.host = static_cast<char*>(host);
    result = driver.cuMemAlloc_v2(&b.device, size);
    if (result) driver.cuMemFreeHost(host);
    if (result == kOutOfMemory)
        throw ResourceError("the CUDA device has no " + std::to_string(size >> 20) + " MiB left for staging (" + memory_left() + ")");
    driver.check(result, "taking memory of the device");
    blocks_.push_back(b);
    reserved_ += size;
}

void Staging::release() {
    if (blocks_.empty()) return;
    const Driver& driver = Driver::get();
    const Current current(primary_);
    driver.cuCtxSynchronize();  // copies and kernels may still use it
    for (const Block& b : blocks_) {
        driver.cuMemFreeHost(b.host);
        driver.cuMemFree_v2(b.device);
    }
    blocks_.clear();
    reserved_ = 0;
}

}  // namespace acrobat::cuda
