// Runs batches on the processor. Generated functions `run_<unit>` get the executor and a bucket, and call kernels through it.
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

    float*& base;  // the address of a tensor is its offset from here
    Gemm gemm;     // the matrix product of a library, for kernels that call it

    void wake() override;
    void rest() override;
    Room room(int64_t elements) override;
    bool reads(int32_t type, int32_t id) const override;
    const char* tensors() const override { return "CPU"; }
    void run(const Unit& unit, Bucket& bucket, Place place) override;
    const float* values(int64_t number, Tensor tensor, int64_t elements) override;
    void deliver(const std::vector<Tensor>& tensors, int64_t elements, void* to) override;
    void finish() override;

    using Body = FunctionRef<void(int64_t begin, int64_t end, Worker& worker, bool split)>;
    // Runs body(begin, end, worker, split) over all rows of a unit, in blocks of rows. The operands, intermediates and results
    // of a block (`row_bytes` for each row) fit into the L2 cache, because a kernel reads its rows once for each panel of
    // weights and the kernels of a static block read each other's results. Several threads take different blocks. Where there
    // are too few rows for that, body is called once with `split` set, and the threads share each `step`.
    void blocks(int64_t rows, double row_bytes, double flops_per_row, Body body);

    using Kernel = FunctionRef<void(int64_t row_begin, int64_t row_end, int part_begin, int part_end, float* scratch)>;
    // One kernel call for `rows` rows of a block. With `split`, the threads share its parts (groups of columns) or its rows.
    void step(Worker& worker, bool split, int64_t rows, int parts, size_t scratch_bytes, Kernel kernel);

    // The table of an operand's rows. With explicit gather (`gather_fusion` off), rows that are not next to each other are
    // copied, each to a cache line of its own, and the table has the addresses of the copies.
    const int64_t* operand(const int64_t* table, int64_t rows, int64_t elements);

    // ---- kernels that call a library
    // A table of places for rows that are next to each other: `table` itself if its rows are, else new memory.
    const int64_t* adjacent(const int64_t* table, int64_t rows, int64_t elements);
    // Copies results from where the library wrote them to where they are to lie.
    void scatter(const int64_t* from, const int64_t* to, int64_t rows, int64_t elements);
    using LibraryKernel = FunctionRef<void(int64_t row_begin, int64_t row_end, int part_begin, int part_end)>;
    // Runs the kernel over all rows in one share for each thread: of the rows, or of the parts (groups of columns) where that
    // keeps more threads busy or makes the shares closer to square.
    void share(int64_t rows, int parts, double flops_per_row, LibraryKernel kernel);

   private:
    Owned<Pool> pool_;
    std::vector<Owned<Worker>> workers_;
    bool gather_fusion_;
    int64_t block_bytes_;  // how much of the second-level cache a block of rows may use; the rest is for weights
    Owned<Gemm::Alone> alone_;
};

// Makes the device of a model that is compiled for the processor.
Device* cpu_device(Context& cx, const Settings& settings);
inline CpuExecutor& cpu_of(Device& device) { return static_cast<CpuExecutor&>(device); }

}  // namespace acrobat
