// Runs batches on the processor: a unit's generated `run_` function is given this and the bucket, and calls kernels through it.
#pragma once

#include <cstdint>
#include <vector>

#include "../device.h"
#include "../function_ref.h"
#include "../owned.h"
#include "gemm.h"
#include "worker.h"

namespace acrobat {

class Pool;

class CpuExecutor final : public Device {
   public:
    CpuExecutor(Context& cx, const Settings& settings);
    ~CpuExecutor() override;

    float*& base;  // every address counts from here
    Gemm gemm;     // of a library, for kernels that call one

    void wake() override;
    void rest() override;
    Room room(int64_t elements) override;
    bool reads(int32_t type, int32_t id) const override;
    const char* tensors() const override { return "CPU"; }
    void run(const Unit& unit, Bucket& bucket, Place place) override;
    void require(Tensor tensor, int64_t elements, const float** values) override;
    void await() override {}
    void deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) override;
    void finish() override;

    using Body = FunctionRef<void(int64_t begin, int64_t end, Worker& worker, bool split)>;
    // Runs body(begin, end, worker, split) over all rows of a unit, in blocks whose operands, intermediates and results
    // (`row_bytes` each) stay in the L2 cache: a kernel goes over its rows once for each panel of weights, and the kernels of a
    // static block hand their results on while they are still there. With several threads each takes blocks of its own;
    // where there are too few rows for that, the body is called once with `split`, and its steps share out their columns.
    void blocks(int64_t rows, double row_bytes, double flops_per_row, Body body);

    using Kernel = FunctionRef<void(int64_t row_begin, int64_t row_end, int part_begin, int part_end, float* scratch)>;
    // One kernel call of a block.
    void step(Worker& worker, bool split, int64_t rows, int parts, size_t scratch_bytes, Kernel kernel);

    // Explicit gather, if it is asked for: the rows are copied next to each other, each from a cache line of its own, and the
    // table made to say so.
    const int64_t* operand(const int64_t* table, int64_t rows, int64_t elements);

    // ---- kernels that call a library
    // Places for rows next to each other: the table's own if they are.
    const int64_t* adjacent(const int64_t* table, int64_t rows, int64_t elements);
    // Results from where the library wrote them to where they are looked for.
    void scatter(const int64_t* from, const int64_t* to, int64_t rows, int64_t elements);
    using LibraryKernel = FunctionRef<void(int64_t row_begin, int64_t row_end, int part_begin, int part_end)>;
    // Runs the kernel over all rows, each thread taking one share of them, as large as can be: of the rows, or of the parts
    // (columns) where that keeps more threads busy or leaves shares nearer to square.
    void share(int64_t rows, int parts, double flops_per_row, LibraryKernel kernel);

   private:
    Owned<Pool> pool_;
    std::vector<Owned<Worker>> workers_;
    bool gather_fusion_;
    int64_t block_bytes_;  // of a block of rows, beside the weights in the second-level cache
    Owned<Gemm::Alone> alone_;
};

// The device of a model whose units are for the processor.
Device* cpu_device(Context& cx, const Settings& settings);
inline CpuExecutor& cpu_of(Device& device) { return static_cast<CpuExecutor&>(device); }

}  // namespace acrobat
