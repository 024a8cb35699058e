// Everything of the device that kernels may use. On a GPU these are thin names for intrinsics and need no header (NVRTC
// has none). With ACROBAT_EMULATE defined, g++ compiles the same kernels against the same names in emulate.h, where
// CUDA threads are fibres on the processor.
#pragma once
constexpr int kCounters = 8, kCounterStride = 64;  // the words of a barrier of all blocks; each has two cache lines of its own

#ifdef ACROBAT_EMULATE
#include "emulate.h"
#else
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
#define INFINITY __int_as_float(0x7f800000)
#define ACROBAT_DEVICE __device__ __forceinline__
// A function with much code, which is compiled by itself: with all such code in one walker, compiling it took five times as long.
#define ACROBAT_LARGE __device__ __noinline__

// The same value. The compiler does not know that, so it computes again what is made of it, instead of keeping that in registers.
ACROBAT_DEVICE int anew(int value) {
    asm volatile("" : "+r"(value));
    return value;
}
// Tells the compiler that the pointer is one to shared memory. It cannot see that in a function of its own.
ACROBAT_DEVICE void is_shared(const void* p) { __builtin_assume(__isShared(p)); }
#define ACROBAT_KERNEL extern "C" __global__
#define ACROBAT_GLOBAL __device__

ACROBAT_DEVICE char* shared_memory() {
    extern __shared__ __align__(128) char memory[];
    return memory;
}

// The number of this thread in its block. The volatile assembly hides from the compiler that the number never changes, so a value
// that is computed from it is in a register only while the kernel that asked for the number runs. With `threadIdx` the walker
// would compute such values of all kernels before its loop and keep them all the time, which took 100 registers and more.
ACROBAT_DEVICE int thread_index() {
    int index;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
}

// Waits until all threads of the block have come here. Then each sees what the others wrote before.
ACROBAT_DEVICE void block_sync() { __syncthreads(); }

// The value of the lane whose number differs from this lane's in the bits `by`. All lanes of the warp have to call it.
ACROBAT_DEVICE float lane_xor(float value, int by) { return __shfl_xor_sync(0xffffffffu, value, by); }
ACROBAT_DEVICE int32_t lane_xor(int32_t value, int by) { return __shfl_xor_sync(0xffffffffu, value, by); }

// Asynchronous copies from global to shared memory (cp.async). The copied data may be read after copies_commit, then copies_wait,
// then a barrier of the threads that read it. If not `valid`, zeros are written and nothing is read.
ACROBAT_DEVICE void copy16(void* to, const void* from, bool valid = true) {
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
ACROBAT_DEVICE void copy4(void* to, const void* from, bool valid = true) {
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(valid ? 4 : 0) : "memory");
}
ACROBAT_DEVICE void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all committed groups of copies except the `left` newest ones.
template <int left>
ACROBAT_DEVICE void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

// Weights never change while a kernel runs, so they may be loaded through the read-only path. Nothing else may: within one launch
// other multiprocessors write rows of the arena.
ACROBAT_DEVICE float weight(const float* from) { return __ldg(from); }
ACROBAT_DEVICE float4 weight4(const float* from) { return __ldg(reinterpret_cast<const float4*>(from)); }

// The value rounded to the nearest TF32 (ties away from zero), and two values rounded to the nearest bfloat16 (ties to even), the
// first of them in the lower half of the word.
ACROBAT_DEVICE uint32_t to_tf32(float value) {
    uint32_t word;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
    return word;
}
ACROBAT_DEVICE uint32_t to_bf16(float lower, float upper) {
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(upper), "f"(lower));
    return word;
}

// Adds the product of a 16 x 8 and an 8 x 8 matrix (TF32), or of a 16 x 16 and a 16 x 8 one (bfloat16), to a warp's sums. mma.cuh
// says which elements are in which lane. All lanes have to call it.
ACROBAT_DEVICE void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
ACROBAT_DEVICE void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Words of the counters of a barrier of all blocks. What a block adds is seen by the others after what it wrote before.
ACROBAT_DEVICE uint32_t counter_now(const uint32_t* word) {
    uint32_t now;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
    return now;
}
ACROBAT_DEVICE void counter_add(uint32_t* word, uint32_t value) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
template <class Reached>
ACROBAT_DEVICE void counters_wait(const uint32_t* words, int count, int stride, Reached&& reached) {
    if (threadIdx.x < count) {
        uint32_t now;
        do {
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(words + threadIdx.x * stride) : "memory");
        } while (!reached(now));
    }
    __syncthreads();
}

// The cycles that this multiprocessor has counted, at the rate of its clock.
ACROBAT_DEVICE int64_t clock_cycles() {
    int64_t cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}

// Writes a value that the host polls. The host sees all of it or nothing, and need not see anything else that was written before.
ACROBAT_DEVICE void tell_host(int64_t* where, int64_t value) {
    asm volatile("st.relaxed.sys.global.s64 [%0], %1;" ::"l"(where), "l"(value) : "memory");
}

// The larger and the smaller of two values; NaN if either is NaN, where fmaxf and fminf would return the other one.
ACROBAT_DEVICE float maximum(float a, float b) {
    float value;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(a), "f"(b));
    return value;
}
ACROBAT_DEVICE float minimum(float a, float b) {
    float value;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(a), "f"(b));
    return value;
}
#endif

constexpr int kThreads = 256;  // in every block
constexpr int kWarps = kThreads / 32;

// A barrier of all blocks of a cooperative launch, in two halves: `arrive` says that this block has done its part, and `wait` returns
// when all blocks have arrived; then this block sees what they wrote before. Between the two a block does what depends on nothing
// that others write: it finds out what it has to do next, and reads tables and weights. All threads of a block have to call both.
// Waiting takes longer than anything else between two steps of a walk, and this work used to come after it (1000 cycles and more
// of 5000 to 7000 for a step on an H100).
//
// A block adds to one of kCounters words, so that fewer blocks wait for each other's additions (a barrier of 132 blocks took
// 1.04 us on an H100 with one word, 0.98 with eight). The two highest bits of a word say how many barriers all blocks of that
// word have arrived at, modulo 4; the words are zero at first. No block may rely on seeing a word at a certain time, since the device
// may let it begin, or look, much later than others, as where several processes share the device:
// - A block that begins may find that all blocks of another word have arrived at the first barrier already. Its own word waits for
//   itself, and all words agree when a launch begins, so it takes the count from its own word.
// - Until a block has seen that all have arrived at a barrier, blocks of other words may have gone on and arrived at the next one,
//   and no further, since that one waits for this block. So a word that is one barrier ahead has been reached too.
class Barrier {
   public:
    Barrier() = default;  // one that nobody has arrived at
    explicit ACROBAT_DEVICE Barrier(uint32_t* words) : words_(words), count_(counter_now(own()) >> kCountAt) {}

    ACROBAT_DEVICE void arrive() {
        wait();
        block_sync();
        const uint32_t others = (gridDim.x - blockIdx.x % kCounters - 1) / kCounters;  // of this block's word
        if (threadIdx.x == 0) counter_add(own(), blockIdx.x < kCounters ? (1u << kCountAt) - others : 1u);
        ++count_;
        arrived_ = true;
    }
    // Waits if this block has arrived and has not waited since.
    ACROBAT_DEVICE void wait() {
        if (!arrived_) return;
        const uint32_t count = count_;
        const int used = int(gridDim.x) < kCounters ? int(gridDim.x) : kCounters;
        counters_wait(words_, used, kCounterStride, [count](uint32_t now) { return (((now >> kCountAt) - count) & 3u) < 2u; });
        arrived_ = false;
    }

   private:
    static constexpr int kCountAt = 30;

    ACROBAT_DEVICE uint32_t* own() const { return words_ + blockIdx.x % kCounters * kCounterStride; }

    uint32_t* words_ = nullptr;
    uint32_t count_ = 0;  // of the barriers that this block has arrived at, modulo 4
    bool arrived_ = false;
};

ACROBAT_DEVICE bool aligned16(const void* p) { return reinterpret_cast<uint64_t>(p) % 16 == 0; }
// This block's first tile of a call whose first tile is taken by block `first`. (A remainder would take longer.)
ACROBAT_DEVICE int own_tile(int first) {
    const int blocks = gridDim.x, block = blockIdx.x;
    return block < first ? block + blocks - first : block - first;
}
constexpr ACROBAT_DEVICE int ceil_div(int a, int b) { return (a + b - 1) / b; }
ACROBAT_DEVICE int smaller(int a, int b) { return a < b ? a : b; }

// Loads or stores V neighbouring elements; V is 1 or 4.
template <int V>
ACROBAT_DEVICE void load(float (&to)[V], const float* from) {
    if (V == 4 && aligned16(from)) {
        const float4 v = *reinterpret_cast<const float4*>(from);
        to[0] = v.x, to[V / 4] = v.y, to[V / 2] = v.z, to[V - 1] = v.w;
        return;
    }
#pragma unroll
    for (int j = 0; j < V; ++j) to[j] = from[j];
}
template <int V>
ACROBAT_DEVICE void store(float* to, const float (&from)[V]) {
    if (V == 4 && aligned16(to)) {
        *reinterpret_cast<float4*>(to) = float4{from[0], from[V / 4], from[V / 2], from[V - 1]};
        return;
    }
#pragma unroll
    for (int j = 0; j < V; ++j) to[j] = from[j];
}

ACROBAT_DEVICE float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
ACROBAT_DEVICE float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }
ACROBAT_DEVICE float relu(float x) { return maximum(x, 0.0f); }

// Reductions over the lanes of a warp, or over each W neighbouring ones (a power of two) if W is less; each lane gets the result.
template <int W = 32>
ACROBAT_DEVICE float warp_sum(float v) {
#pragma unroll
    for (int by = (W < 32 ? W : 32) / 2; by; by /= 2) v += lane_xor(v, by);
    return v;
}
template <int W = 32>
ACROBAT_DEVICE float warp_max(float v) {
#pragma unroll
    for (int by = (W < 32 ? W : 32) / 2; by; by /= 2) v = maximum(v, lane_xor(v, by));
    return v;
}

// The sums of N values (a power of two) over groups of L neighbouring lanes (another one), found by exchanging halves. Lane l of
// a group gets the sums of N / L values, from value l * N / L on, in v[0] and following; if N < L, it gets the sum of value l /
// (L / N). This takes about N exchanges, where summing each value for all lanes would take N * log2(L).
template <int L, int N>
ACROBAT_DEVICE void lane_sums(float (&v)[N], int thread) {
    int left = N;
#pragma unroll
    for (int by = L / 2; by; by /= 2) {
        if (left > 1) {
            left /= 2;
            const bool upper = thread & by;
#pragma unroll
            for (int i = 0; i < N / 2; ++i) {
                if (i < left) {
                    const float give = upper ? v[i] : v[i + left], keep = upper ? v[i + left] : v[i];
                    v[i] = keep + lane_xor(give, by);
                }
            }
        } else {
            v[0] += lane_xor(v[0], by);
        }
    }
}
