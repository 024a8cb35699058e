// Times a kernel that is given by its address, and measures the processor's peak of fused multiply-adds (FMA). Every parameter
// of a kernel is an integer or a pointer, so one signature of 64-bit integers calls them all (System V calling convention).
#include <cstdint>
#include <ctime>

using Kernel = int32_t (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                           int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                           int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

// Seconds that this thread has run. Time that the processor gave to other programs does not count.
static double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Seconds for one call of the kernel, averaged over `calls` calls, which use the `sets` sets of 32 arguments in turn.
extern "C" double time_kernel(Kernel kernel, const int64_t* arguments, int64_t sets, int64_t calls) {
    const double start = now();
    for (int64_t i = 0; i < calls; ++i) {
        const int64_t* a = arguments + 32 * (i % sets);
        kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18],
               a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31]);
    }
    return (now() - start) / double(calls);
}

#if defined(__AVX512F__)
#define REG "zmm"
static constexpr double kLanes = 16;
#else
#define REG "ymm"
static constexpr double kLanes = 8;
#endif
#define FMA(n) "vfmadd231ps %%" REG "14, %%" REG "15, %%" REG #n "\n"

// Floating-point operations per second of twelve independent chains of FMA in registers, each with `turns` steps.
extern "C" double fma_peak(int64_t turns) {
    int64_t left = turns;
    const double start = now();
    asm volatile("vxorps %%xmm14, %%xmm14, %%xmm14\n"
                 "vxorps %%xmm15, %%xmm15, %%xmm15\n"
                 "1:\n" FMA(0) FMA(1) FMA(2) FMA(3) FMA(4) FMA(5) FMA(6) FMA(7) FMA(8) FMA(9) FMA(10) FMA(11)
                 "dec %0\n"
                 "jnz 1b\n"
                 "vzeroupper\n"
                 : "+r"(left)
                 :
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14", "xmm15", "cc");
    return 2.0 * kLanes * 12.0 * double(turns) / (now() - start);
}
