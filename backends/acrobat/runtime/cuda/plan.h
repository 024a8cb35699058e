// The flat schedule of an execution. Units put their kernel calls into it, level by level, and everything that these read beside
// tensors into staging memory; the executor then has the device walk it.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "../device.h"
#include "staging.h"

namespace acrobat::cuda {

// The first kernels of every model's module.
constexpr int kCopyRows = 0, kFlag = 1;

// Row i of a table of addresses goes to `to + i * stride`.
struct CopyRows {
    float* base;
    int64_t rows;
    const int64_t* from;
    int64_t by;  // added to each address
    int64_t elements;
    float* to;
    int64_t stride;

    static int64_t tiles(int64_t rows) { return (rows + 7) / 8; }
};
// Tells the host that all before it has been done.
struct Flag {
    int64_t* where;
    int64_t value;
};

// A kernel call, as the device walks over them.
struct Step {
    int32_t kernel;
    int32_t barrier;  // whether all blocks meet after it
    int32_t first;    // the block that takes its first tile
    int32_t tiles;
    int64_t args;     // on the device
};

// Addresses of rows, that the host knows: of row i, column[i] + start, or start + i * stride if there is no column.
struct Rows {
    const int64_t* column;
    int64_t start, stride;

    int64_t operator[](int64_t i) const { return column ? column[i] + start : start + i * stride; }
};

class Plan {
   public:
    Plan(Context& cx, Device& device, Staging& staging, int grid, bool gather_fusion)
        : base(cx.base), packed(device.packed), cx_(cx), device_(device), staging_(staging), grid_(grid), gather_fusion_(gather_fusion) {}

    float*& base;                       // every address counts from here
    std::vector<const float*>& packed;  // on the device

    // ---- tables. Columns lie on the host; what is given back lies on the device.
    const int64_t* table(const int64_t* column, int64_t n);
    const int64_t* steps(int64_t start, int64_t stride, int64_t n);
    // n rows of each part, one after the other.
    const int64_t* joined(std::initializer_list<Rows> parts, int64_t n);
    // Row r's address for each of its items, from starts[r] to starts[r + 1].
    const int64_t* spread(const Rows& rows, const int64_t* starts, int64_t n);
    // The column of an operand, on the host: the same, or with explicit gather where its rows are copied to before the unit's first
    // call, next to each other and each from a cache line of its own.
    const int64_t* operand(const int64_t* column, int64_t n, int64_t elements);

    // Room for intermediates until the execution has ended.
    Tensor rows(int64_t elements);

    // ---- calls
    // Calls of one level wait only for those of a lower `chain` number, so many calls of their unit come before them.
    template <class Args>
    void call(int kernel, int chain, int64_t tiles, const Args& args) {
        static_assert(sizeof(Args) % 8 == 0 && alignof(Args) <= 8);
        if (tiles == 0) return;
        const Staging::Piece piece = staging_.take(sizeof(Args));
        std::memcpy(piece.host, &args, sizeof(Args));
        add(kernel, chain, tiles, piece.device);
    }
    void copy_rows(int chain, const int64_t* from, int64_t rows, int64_t elements, void* to, int64_t stride) {
        call(kCopyRows, chain, CopyRows::tiles(rows), CopyRows{base, rows, from, 0, elements, static_cast<float*>(to), stride});
    }
    void count(const char* kernel, const char* symbol, int64_t rows, double flops_per_row) {
        device_.count(kernel, symbol, rows, flops_per_row);
    }

    // ---- for the executor
    // What is called from here on comes after everything before it.
    void next_level();
    // The schedule; its last step needs no barrier.
    const std::vector<Step>& close();
    int64_t barriers() const { return barriers_; }
    // Forgets the schedule and gives the intermediates back.
    void clear();

   private:
    // A table in staging memory, to be filled: on the host and on the device.
    struct Table {
        int64_t* host;
        const int64_t* device;
    };
    Table numbers(int64_t n);
    void add(int kernel, int chain, int64_t tiles, Pointer args);

    Context& cx_;
    Device& device_;
    Staging& staging_;
    int grid_;  // blocks of the walk
    bool gather_fusion_;
    std::vector<Step> steps_;
    std::vector<int> chains_;  // of the steps from `level_` on
    size_t level_ = 0;
    int64_t barriers_ = 0;
    int64_t tiles_ = 0;  // of all steps, modulo `grid_`
    char* mark_ = nullptr;
    bool marked_ = false;
};

// The device of a model whose units are for CUDA, and what these plan with.
Device* cuda_device(Context& cx, const Settings& settings);
Plan& plan_of(Device& device);

}  // namespace acrobat::cuda
