// A BLAS library's matrix product, for the unfused mode in which products are a vendor's. The library is found by the loader; its
// C interface is called through pointers, with 64-bit integers (`wide`) or 32-bit ones.
#pragma once

#include <atomic>
#include <cstdint>

namespace acrobat {

class Gemm {
   public:
    using GetThreads = int (*)();
    using SetThreads = void (*)(int);

    void set(void* sgemm, bool wide, void* get_threads, void* set_threads) {
        sgemm_ = sgemm;
        wide_ = wide;
        get_threads_ = reinterpret_cast<GetThreads>(get_threads);
        set_threads_ = reinterpret_cast<SetThreads>(set_threads);
    }

    // c = a b + beta c, with a [m, k], c [m, n] and b [k, n], or [n, k] if `transposed`; rows lie lda, ldb and ldc apart.
    void operator()(bool transposed, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                    float beta, float* c, int64_t ldc) const {
        calls_.fetch_add(1, std::memory_order_relaxed);
        if (wide_)
            call<int64_t>(transposed, m, n, k, a, lda, b, ldb, beta, c, ldc);
        else
            call<int>(transposed, m, n, k, a, lda, b, ldb, beta, c, ldc);
    }

    // Calls since the last time it was asked.
    int64_t take_calls() { return calls_.exchange(0, std::memory_order_relaxed); }

    // While a mini-batch runs the library keeps to the thread that calls it: the pool's threads share a product out among
    // themselves, and a second pool would fight them for the processors. The number is the process's, so it is put back.
    class Alone {
       public:
        explicit Alone(const Gemm& gemm) : gemm_(gemm), before_(gemm.sgemm_ ? gemm.get_threads_() : 1) {
            if (before_ != 1) gemm_.set_threads_(1);
        }
        ~Alone() {
            if (before_ != 1) gemm_.set_threads_(before_);
        }
        Alone(const Alone&) = delete;
        Alone& operator=(const Alone&) = delete;

       private:
        const Gemm& gemm_;
        int before_;
    };

   private:
    static constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

    template <class Int>
    void call(bool transposed, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
              float* c, int64_t ldc) const {
        using Sgemm = void (*)(int, int, int, Int, Int, Int, float, const float*, Int, const float*, Int, float, float*, Int);
        reinterpret_cast<Sgemm>(sgemm_)(kRowMajor, kPlain, transposed ? kTransposed : kPlain, Int(m), Int(n), Int(k), 1.0f, a,
                                        Int(lda), b, Int(ldb), beta, c, Int(ldc));
    }

    void* sgemm_ = nullptr;
    bool wide_ = false;
    GetThreads get_threads_ = nullptr;
    SetThreads set_threads_ = nullptr;
    mutable std::atomic<int64_t> calls_{0};
};

}  // namespace acrobat
