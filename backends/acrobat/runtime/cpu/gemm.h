// The matrix product of a BLAS library, for models that are compiled with `kernels="vendor"`. Python finds the library
// (codegen/blas.py); its C interface is called through pointers, with 64-bit integers (`wide`) or 32-bit ones.
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

    // The number of calls since `take_calls` was called last.
    int64_t take_calls();

    // While an object of this class exists, the library uses only the calling thread: the pool's threads share products
    // already, and threads of the library would compete with them. The setting is the process's, so it is restored at the end.
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
    mutable int64_t calls_ = 0;  // several threads count it, by std::atomic_ref
};

}  // namespace acrobat
