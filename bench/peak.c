/* Measures a core's peak of floating-point operations: fused multiply-adds of independent vectors that stay in registers. */
#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define ACCUMULATORS 12 /* more than latency times units of any x86-64 core, and fewer than its vector registers */
/* A variable for each: compilers keep an array of them in memory, whose latency would then be measured. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

typedef float vector __attribute__((vector_size(BYTES)));

/* Runs `rounds` rounds and returns their number of float32 operations, of which a fused multiply-add is two. */
double probe(long rounds, float *sink) {
    vector factor = {0}, term = {0};
    factor += sink[0];
    term += sink[1];
#define START(k) vector sum##k = term + (float)k;
    EACH(START)
    for (long i = 0; i < rounds; i++) {
        /* The statement without instructions keeps the compiler from combining or dropping rounds. */
#define ADD(k)                       \
    sum##k = sum##k * factor + term; \
    __asm__ volatile("" : "+x"(sum##k));
        EACH(ADD)
    }
    vector all = term;
#define TOTAL(k) all += sum##k;
    EACH(TOTAL)
    sink[2] = all[0];
    return 2.0 * (double)rounds * ACCUMULATORS * (BYTES / sizeof(float));
}
