/* Measures a core's peak of floating-point operations: fused multiply-adds of independent vectors that stay in registers. */
#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define ACCUMULATORS 12 /* more than latency times units of any x86-64 core, and fewer than its vector registers */

typedef float vector __attribute__((vector_size(BYTES)));

/* Runs `rounds` rounds and returns their number of float32 operations, of which a fused multiply-add is two. */
double probe(long rounds, float *sink) {
    vector sums[ACCUMULATORS];
    vector factor = {0}, term = {0};
    factor += sink[0];
    term += sink[1];
    for (int k = 0; k < ACCUMULATORS; k++) sums[k] = term + (float)k;
    for (long i = 0; i < rounds; i++) {
#pragma GCC unroll 12
        for (int k = 0; k < ACCUMULATORS; k++) {
            sums[k] = sums[k] * factor + term;
            __asm__ volatile("" : "+x"(sums[k])); /* keeps the compiler from combining or dropping rounds */
        }
    }
    vector all = sums[0];
    for (int k = 1; k < ACCUMULATORS; k++) all += sums[k];
    sink[2] = all[0];
    return 2.0 * (double)rounds * ACCUMULATORS * (BYTES / sizeof(float));
}
