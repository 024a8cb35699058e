// CUDA's execution model on one thread of the processor, for tests: every CUDA thread is a fibre, and at a barrier the next fibre
// goes on. Errors that a GPU would show only by chance always show here:
// - Between two barriers the warps of a block run one after the other, and so do blocks and the lanes of a warp: forwards (order 1),
//   backwards (-1) or in a random order (any other number is its seed), so a missing barrier changes the results.
// - Shared memory is full of NaN at the beginning of every block.
// - Asynchronous copies take place only when they are waited for.
// - The process ends if threads of one block stand at different barriers, or lanes of one warp at different exchanges, or if a
//   thread needs more stack than it has.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#define ACROBAT_DEVICE inline
#define ACROBAT_LARGE inline
#define ACROBAT_KERNEL static
#define ACROBAT_GLOBAL static
#define __launch_bounds__(...)

struct Dimension {
    int x = 1;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

extern "C" {
// Called when all blocks of a cooperative grid have come to a barrier. A driver sets it to let the host go on in between.
__attribute__((visibility("default"))) void (*acrobat_pause)() = nullptr;
}

namespace emulate {

extern "C" void acrobat_switch(void** from, void* to);
// Saves the callee-saved registers, stores the stack's top in *from and goes on with the stack `to` (System V, x86-64).
asm(R"(
.pushsection .text
.weak acrobat_switch
.type acrobat_switch,@function
acrobat_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size acrobat_switch, .-acrobat_switch
.popsection
)");

enum class At { Start, Block, Warp, Grid, Done };

struct Copy {
    void* to;
    const void* from;
    int bytes;
    bool valid;
    int group;
};

inline void fail(const char* what) {
    std::fprintf(stderr, "emulated grid: %s\n", what);
    std::abort();
}

// The memory of a fibre's stack. (A page without access below it would show an overflow at once, but processes may have some
// 65,000 mappings only, and tests have thousands of fibres.)
class Stack {
   public:
    // The stack's upper end, where a new fibre begins. AddressSanitizer forgets what an earlier fibre had there.
    uintptr_t* top() {
#ifdef __SANITIZE_ADDRESS__
        __asan_unpoison_memory_region(memory_, sizeof(memory_));
#endif
        std::memset(memory_, kUntouched, kMargin);
        return reinterpret_cast<uintptr_t*>(memory_ + sizeof(memory_));
    }
    // Whether the lowest bytes are as `top` has left them. If they are not, what lies below may be overwritten too.
    bool sufficed() const {
        return std::all_of(memory_, memory_ + kMargin, [](char byte) { return byte == kUntouched; });
    }

   private:
    static constexpr int kMargin = 64;
    static constexpr char kUntouched = 0x5a;
    alignas(16) char memory_[64 << 10];
};

struct Fibre {
    void* stack = nullptr;
    std::unique_ptr<Stack> memory;
    At at = At::Start;
    int64_t given[2] = {};  // used in turns, so that no lane overwrites a value that others have still to read
    int turn = 0;
    uint32_t operands[2][6] = {};  // of a product on tensor cores, also used in turns
    std::vector<Copy> copies;
    int group = 0;
};

struct Grid {
    int threads = 0;
    std::vector<Fibre> fibres;
    std::vector<std::vector<char>> shared;  // of the blocks that run together
    std::function<void()> body;
    void* scheduler = nullptr;
    int now = 0;  // the running fibre
    int64_t arrivals = 0;  // of blocks at barriers of all blocks

    Fibre& running() { return fibres[size_t(now)]; }
};

static Grid* grid = nullptr;
static int order = std::getenv("ACROBAT_ORDER") ? std::atoi(std::getenv("ACROBAT_ORDER")) : 1;

inline void pause(At at) {
    Fibre& f = grid->running();
    f.at = at;
    acrobat_switch(&f.stack, grid->scheduler);
}

inline void entry() {
    grid->body();
    if (!grid->running().copies.empty()) fail("a thread ended before its copies were waited for");
    pause(At::Done);
    std::abort();
}

template <class Value>
inline Value exchange(Value value, int by) {
    static_assert(sizeof(Value) <= 8);
    const int me = grid->now, turn = grid->running().turn;
    std::memcpy(&grid->running().given[turn], &value, sizeof(Value));
    grid->running().turn ^= 1;
    pause(At::Warp);
    Value got;
    std::memcpy(&got, &grid->fibres[size_t(me ^ by)].given[turn], sizeof(Value));
    return got;
}

// The matrix product of a warp, with `Depth` steps of the reduction. The words of the operands are in the lanes that PTX names,
// and each word packs Depth / 8 numbers, of which `value(word, i)` is number i. Each lane computes its own four sums.
template <int Depth, class Value>
inline void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Value&& value) {
    constexpr int kPacked = Depth / 8;
    const int me = grid->now, lane = me % 32, turn = grid->running().turn;
    uint32_t(&mine)[6] = grid->running().operands[turn];
    std::copy(a, a + 4, mine), std::copy(b, b + 2, mine + 4);
    grid->running().turn ^= 1;
    pause(At::Warp);
    const auto words = [&](int of) { return grid->fibres[size_t(me - lane + of)].operands[turn]; };
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < Depth; ++k) {
            const int member = k / kPacked % 4, half = k / (4 * kPacked);
            const uint32_t left = words(row % 8 * 4 + member)[half * 2 + row / 8], right = words(column * 4 + member)[4 + half];
            c[i] += value(left, k % kPacked) * value(right, k % kPacked);
        }
    }
}

inline std::vector<int> turns(int count, std::mt19937& random) {
    std::vector<int> out(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) out[size_t(i)] = order == -1 ? count - 1 - i : i;
    if (order != 1 && order != -1) std::shuffle(out.begin(), out.end(), random);
    return out;
}

}  // namespace emulate

static Dimension threadIdx, blockIdx, blockDim, gridDim;

namespace emulate {

inline void resume(Grid& g, int fibre, int first_block) {
    g.now = fibre;
    threadIdx.x = fibre % g.threads;
    blockIdx.x = first_block + fibre / g.threads;
    acrobat_switch(&g.scheduler, g.fibres[size_t(fibre)].stack);
    const Fibre& f = g.fibres[size_t(fibre)];
    if (f.at == At::Done && !f.memory->sufficed()) fail("a thread needs more stack than it has");
}

// Runs the threads of one block, whose first fibre is `of`, until all stand at the same barrier. Warp by warp: each runs as far
// as it can before the next one begins.
inline void run_block(Grid& g, int of, int first_block, std::mt19937& random) {
    const std::vector<int> lanes = turns(32, random);
    for (int warp : turns(g.threads / 32, random)) {
        const int first = of + warp * 32;
        for (bool again = true; again;) {
            for (int lane : lanes) resume(g, first + lane, first_block);
            const auto begin = g.fibres.begin() + first;
            const auto waiting = std::count_if(begin, begin + 32, [](const Fibre& f) { return f.at == At::Warp; });
            if (waiting && waiting != 32) fail("lanes of one warp stand at different places");
            again = waiting;
        }
    }
    for (int t = 1; t < g.threads; ++t)
        if (g.fibres[size_t(of + t)].at != g.fibres[size_t(of)].at) fail("threads of one block stand at different barriers");
}

// Runs blocks that are on the device together to their ends, in rounds: each goes on to the next barrier of all blocks, or looks
// again whether all have arrived at it. In a random order some blocks are passed over in each round, so they begin, arrive and look
// later than others.
inline void run_together(Grid& g, int together, int first_block, std::mt19937& random) {
    constexpr int kMostIdle = 100;
    const auto at = [&](int b) { return g.fibres[size_t(b * g.threads)].at; };
    const auto of = [&](At state) {
        int count = 0;
        for (int b = 0; b < together; ++b) count += at(b) == state;
        return count;
    };
    for (int64_t before = 0, idle = 0; of(At::Done) < together;) {
        for (int b : turns(together, random)) {
            const bool falls_behind = order != 1 && order != -1 && random() % 3 == 0;
            if (at(b) == At::Done || falls_behind) continue;
            do run_block(g, b * g.threads, first_block, random);
            while (at(b) == At::Block);
        }
        const int64_t now = g.arrivals + of(At::Done);
        idle = now == before ? idle + 1 : 0;
        if (idle > kMostIdle) fail("blocks wait for others that never arrive");
        before = now;
        if (acrobat_pause && of(At::Grid) && of(At::Grid) + of(At::Done) == together) acrobat_pause();
    }
}

// Runs a grid to its end. The blocks of a cooperative grid run together, those of others one after the other.
template <class Body>
void launch(int blocks, int threads, size_t shared_bytes, bool cooperative, Body&& body) {
    if (threads % 32) fail("a block is no whole number of warps");
    static Grid kept;  // from launch to launch, for its stacks
    Grid& g = kept;
    std::mt19937 random{unsigned(order)};
    const int together = cooperative ? blocks : 1;
    g.threads = threads;
    g.body = body;
    if (g.fibres.size() < size_t(together * threads)) g.fibres.resize(size_t(together * threads));
    g.shared.resize(size_t(together));
    grid = &g;
    blockDim.x = threads;
    gridDim.x = blocks;
    const std::vector<int> first_blocks = turns(blocks / together, random);
    for (int group : first_blocks) {
        const int first = group * together;
        for (auto& s : g.shared) {
            s.resize(0);
            s.shrink_to_fit();
            s.resize(shared_bytes, char(0xff));
        }
        g.arrivals = 0;
        for (int i = 0; i < together * threads; ++i) {
            Fibre& f = g.fibres[size_t(i)];
            if (!f.memory) f.memory.reset(new Stack);
            uintptr_t* top = f.memory->top();
            *--top = 0;  // in place of a call's return address: keeps the stack aligned
            *--top = reinterpret_cast<uintptr_t>(entry);
            for (int r = 0; r < 6; ++r) *--top = 0;
            f.stack = top;
            f.at = At::Start;
            f.copies.clear();
            f.group = 0;
        }
        run_together(g, together, first, random);
    }
    grid = nullptr;
}

}  // namespace emulate

extern "C" __attribute__((visibility("default"))) void acrobat_order(int order) { emulate::order = order; }

ACROBAT_DEVICE char* shared_memory() {
    char* const at = emulate::grid->shared[size_t(emulate::grid->now / emulate::grid->threads)].data();
    if (reinterpret_cast<uintptr_t>(at) % 16) emulate::fail("shared memory is not aligned");
    return at;
}
ACROBAT_DEVICE int thread_index() { return threadIdx.x; }
ACROBAT_DEVICE int anew(int value) { return value; }
ACROBAT_DEVICE void is_shared(const void*) {}
ACROBAT_DEVICE void block_sync() { emulate::pause(emulate::At::Block); }
ACROBAT_DEVICE int64_t clock_cycles() {
    static int64_t cycles = 0;
    return cycles += 1000;
}
// The counters of a barrier of all blocks. A block that waits looks again in the next round.
ACROBAT_DEVICE uint32_t counter_now(const uint32_t* word) { return *word; }
ACROBAT_DEVICE void counter_add(uint32_t* word, uint32_t value) {
    *word += value;
    ++emulate::grid->arrivals;
}
template <class Reached>
ACROBAT_DEVICE void counters_wait(const uint32_t* words, int count, int stride, Reached&& reached) {
    const auto all_reached = [&] {
        for (int i = 0; i < count; ++i)
            if (!reached(words[i * stride])) return false;
        return true;
    };
    do emulate::pause(emulate::At::Grid);
    while (!all_reached());
}
ACROBAT_DEVICE float lane_xor(float value, int by) { return emulate::exchange(value, by); }
ACROBAT_DEVICE int32_t lane_xor(int32_t value, int by) { return emulate::exchange(value, by); }
ACROBAT_DEVICE float maximum(float a, float b) { return a > b || a != a ? a : b; }
ACROBAT_DEVICE float minimum(float a, float b) { return a < b || a != a ? a : b; }
ACROBAT_DEVICE void add_copy(void* to, const void* from, int bytes, bool valid) {
    if (reinterpret_cast<uintptr_t>(to) % uintptr_t(bytes) || reinterpret_cast<uintptr_t>(from) % uintptr_t(bytes))
        emulate::fail("a copy in the background is not aligned");
    emulate::Fibre& f = emulate::grid->running();
    f.copies.push_back({to, from, bytes, valid, f.group});
}
ACROBAT_DEVICE void copy16(void* to, const void* from, bool valid = true) { add_copy(to, from, 16, valid); }
ACROBAT_DEVICE void copy4(void* to, const void* from, bool valid = true) { add_copy(to, from, 4, valid); }
ACROBAT_DEVICE void copies_commit() { ++emulate::grid->running().group; }
template <int left>
ACROBAT_DEVICE void copies_wait() {
    emulate::Fibre& f = emulate::grid->running();
    size_t kept = 0;
    for (const emulate::Copy& c : f.copies) {
        if (c.group >= f.group - left) f.copies[kept++] = c;
        else if (c.valid) std::memcpy(c.to, c.from, size_t(c.bytes));
        else std::memset(c.to, 0, size_t(c.bytes));
    }
    f.copies.resize(kept);
}
ACROBAT_DEVICE float weight(const float* from) { return *from; }
ACROBAT_DEVICE float4 weight4(const float* from) {
    if (reinterpret_cast<uintptr_t>(from) % 16) emulate::fail("a load of four weights is not aligned");
    return *reinterpret_cast<const float4*>(from);
}
ACROBAT_DEVICE uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}
ACROBAT_DEVICE float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}
ACROBAT_DEVICE uint32_t to_tf32(float value) {
    return value != value ? 0x7fffffffu : (bits_of(value) + 0x1000u) & ~0x1fffu;
}
ACROBAT_DEVICE uint32_t to_bf16(float lower, float upper) {
    const auto rounded = [](float value) {
        const uint32_t bits = bits_of(value);
        return value != value ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    };
    return rounded(upper) << 16 | rounded(lower);
}
ACROBAT_DEVICE void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    emulate::mma<8>(c, a, b, [](uint32_t word, int) { return from_bits(word); });
}
ACROBAT_DEVICE void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    emulate::mma<16>(c, a, b, [](uint32_t word, int i) { return from_bits(i ? word & 0xffff0000u : word << 16); });
}
ACROBAT_DEVICE void tell_host(int64_t* where, int64_t value) { __atomic_store_n(where, value, __ATOMIC_RELAXED); }
