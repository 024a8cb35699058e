#include "gemm.h"

#include <atomic>

namespace acrobat {

namespace {

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;  // constants of the C interface of BLAS

// `Int` is the type of integers in the library's interface.
template <class Int>
void call(void* sgemm, bool transposed, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
          float beta, float* c, int64_t ldc) {
    using Sgemm = void (*)(int, int, int, Int, Int, Int, float, const float*, Int, const float*, Int, float, float*, Int);
    reinterpret_cast<Sgemm>(sgemm)(kRowMajor, kPlain, transposed ? kTransposed : kPlain, Int(m), Int(n), Int(k), 1.0f, a, Int(lda), b,
                                   Int(ldb), beta, c, Int(ldc));
}

}  // namespace

void Gemm::set(void* sgemm, bool wide, void* get_threads, void* set_threads) {
    sgemm_ = sgemm;
    wide_ = wide;
    get_threads_ = reinterpret_cast<GetThreads>(get_threads);
    set_threads_ = reinterpret_cast<SetThreads>(set_threads);
}

int64_t Gemm::take_calls() { return std::atomic_ref(calls_).exchange(0, std::memory_order_relaxed); }

void Gemm::operator()(bool transposed, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                      float beta, float* c, int64_t ldc) const {
    std::atomic_ref(calls_).fetch_add(1, std::memory_order_relaxed);
    if (wide_)
        call<int64_t>(sgemm_, transposed, m, n, k, a, lda, b, ldb, beta, c, ldc);
    else
        call<int>(sgemm_, transposed, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace acrobat
