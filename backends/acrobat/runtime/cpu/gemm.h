// A BLAS library's matrix product, for the unfused mode in which products are a vendor's. The library is found by the loader; its
// C interface is called through pointers, with 64-bit integers (`wide`) or 32-bit ones.
#pragma once

#include <cstdint>

namespace acrobat {

class Gemm {
   public:
    using GetThreads = int (*)();
    using SetThreads = void (*)(int);

    void set(void* sgemm, bool wide, void* get_threads, void* set_threads);

    // c = a b + beta c, with a [m, k], c [m, n] and b [k, n], or [n, k] if `transposed`; rows lie lda, ldb and ldc apart.
    void operator()(bool transposed, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                    float beta, float* c, int64_t ldc) const;

    // Calls since the last time it was asked.
    int64_t take_calls();

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
    void* sgemm_ = nullptr;
    bool wide_ = false;
    GetThreads get_threads_ = nullptr;
    SetThreads set_threads_ = nullptr;
    mutable int64_t calls_ = 0;  // counted by several threads
};

}  // namespace acrobat
