#include "memory.h"

#include <sys/mman.h>

namespace acrobat {

namespace {

class HostMemory final : public Memory {
   public:
    void* map(size_t bytes) override {
        void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return nullptr;
        // Rows are gathered from all over the arena: huge pages keep that from missing the TLB.
        madvise(p, bytes, MADV_HUGEPAGE);
        return p;
    }
    void unmap(void* block, size_t bytes) override { munmap(block, bytes); }
    std::string shortage(size_t bytes) const override {
        return "the system has no " + std::to_string(bytes >> 20) + " MiB left";
    }
    bool checked() const override { return true; }
};

}  // namespace

Memory& host_memory() {
    static HostMemory memory;
    return memory;
}

}  // namespace acrobat
