// The flat schedule of an execution. Level by level, units add their kernel calls to it, and put into staging memory whatever
// these calls read beside tensors. The executor then has the device walk the schedule.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "../device.h"
#include "staging.h"
#include "steps.h"

namespace acrobat::cuda {

// The addresses of rows, known to the host: row i is at column[i] + start, or at start + i * stride if `column` is null.
struct Rows {
    const int64_t* column;
    int64_t start, stride;

    int64_t operator[](int64_t i) const { return column ? column[i] + start : start + i * stride; }
};

class Plan {
   public:
    Plan(Context& cx, Device& device, Staging& staging, int grid, bool gather_fusion)
        : base(cx.base), packed(device.packed), cx_(cx), device_(device), staging_(staging), grid_(grid), gather_fusion_(gather_fusion) {}

    float*& base;                       // all addresses are relative to it
    std::vector<const float*>& packed;  // weights, on the device

    // ---- tables of addresses. Columns are read on the host; the tables that are returned lie on the device.
    const int64_t* table(const int64_t* column, int64_t n);
    const int64_t* steps(int64_t start, int64_t stride, int64_t n);
    // The addresses of n rows of each part, one part after the other.
    const int64_t* joined(std::initializer_list<Rows> parts, int64_t n);
    // The address of each row r, repeated for each of its items starts[r] .. starts[r + 1].
    const int64_t* spread(const Rows& rows, const int64_t* starts, int64_t n);
    // The column by which a unit reads an operand: with gather fusion `column` itself; with explicit gather that of copies, which
    // are made before the unit's first call and lie next to each other, each from a cache line of its own.
    const int64_t* operand(const int64_t* column, int64_t n, int64_t elements);

    // Memory for intermediates until the execution has ended.
    Tensor rows(int64_t elements);

    // ---- calls
    // Adds a kernel call. Within a level it waits only for calls with a lower `chain`: how many calls of its unit precede it.
    template <class Args>
    void call(int kernel, int chain, int64_t tiles, const Args& args) {
        static_assert(sizeof(Args) % 8 == 0 && alignof(Args) <= 8);
        if (tiles == 0) return;
        const Staging::Piece piece = staging_.take(sizeof(Args));
        std::memcpy(piece.host, &args, sizeof(Args));
        add(kernel, chain, tiles, piece.device, sizeof(Args) / 8);
    }
    void copy_rows(int chain, const int64_t* from, int64_t rows, int64_t elements, void* to, int64_t stride) {
        call(kCopyRows, chain, CopyRows::tiles(rows), CopyRows{base, rows, from, 0, elements, static_cast<float*>(to), stride});
    }
    void count(const char* kernel, const char* symbol, int64_t rows, double flops_per_row) {
        device_.count(kernel, symbol, rows, flops_per_row);
    }

    // ---- for the executor
    // Ends a level: calls that are added later run after all earlier ones.
    void next_level();
    // Ends the last level and returns the schedule. Its last step has no barrier.
    const std::vector<Step>& close();
    int64_t barriers() const { return barriers_; }
    // Forgets the schedule and gives the intermediates back.
    void clear();

   private:
    // A table in staging memory that is to be filled: its address on the host and on the device.
    struct Table {
        int64_t* host;
        const int64_t* device;
    };
    Table numbers(int64_t n);
    void add(int kernel, int chain, int64_t tiles, Pointer args, int64_t words);

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

// A new device for a model whose units are for CUDA, and the plan that units add their calls to.
Device* cuda_device(Context& cx, const Settings& settings);
Plan& plan_of(Device& device);

}  // namespace acrobat::cuda
