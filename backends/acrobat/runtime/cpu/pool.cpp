#include "pool.h"

#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace acrobat {

namespace {

void relax() {
#if defined(__x86_64__)
    _mm_pause();
#endif
}

}  // namespace

Pool::Pool(int threads) : threads_(threads) {
    try {
        for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (...) {  // the system has no more threads
        stop();
        throw;
    }
}

void Pool::begin() {
    if (threads_ == 1) return;
    {
        std::lock_guard lock(mutex_);
        awake_.store(true, std::memory_order_release);
    }
    wake_.notify_all();
}

void Pool::run(int pieces, FunctionRef<void(int piece, int thread)> task) {
    if (threads_ == 1 || pieces == 1) {
        for (int p = 0; p < pieces; ++p) task(p, 0);
        return;
    }
    task_ = &task;
    done_.store(0, std::memory_order_relaxed);
    const uint64_t generation = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
    ticket_.store(generation << 32 | uint64_t(pieces) << 16, std::memory_order_release);
    take(0, generation);
    for (int spins = 0; done_.load(std::memory_order_acquire) != pieces; ++spins) spin(spins);
    if (error_) [[unlikely]]
        std::rethrow_exception(std::exchange(error_, nullptr));
}

void Pool::stop() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
        awake_.store(true);
    }
    wake_.notify_all();
    for (auto& w : workers_) w.join();
}

void Pool::spin(int& spins) {
    relax();
    // Where other programs hold the other cores, the thread that is waited for may need this one.
    if (spins > 4000) {
        std::this_thread::yield();
        spins = 0;
    }
}

void Pool::take(int thread, uint64_t generation) {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while ((ticket >> 32) == generation && (ticket & 0xffff) < (ticket >> 16 & 0xffff)) {
        if (ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) {
#if defined(__SANITIZE_THREAD__)
            // Where races are looked for, another thread has to take the second piece: one thread alone has none. Nothing is
            // ordered by this wait.
            if ((ticket & 0xffff) == 0)
                while ((ticket_.load(std::memory_order_relaxed) & 0xffff) < 2) std::this_thread::yield();
#endif
            try {
                (*task_)(int(ticket & 0xffff), thread);
            } catch (...) {  // `run` throws it when all threads have ended the launch, whose data they use
                std::lock_guard lock(mutex_);
                if (!error_) error_ = std::current_exception();
            }
            done_.fetch_add(1, std::memory_order_acq_rel);
            ticket = ticket_.load(std::memory_order_acquire);
        }
    }
}

void Pool::work(int thread) {
    uint64_t last = 0;
    int spins = 0;
    for (;;) {
        if (!awake_.load(std::memory_order_acquire)) {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return awake_.load(); });
        }
        if (stop_) return;
        const uint64_t generation = ticket_.load(std::memory_order_acquire) >> 32;
        if (generation != last) {
            last = generation;
            take(thread, generation);
            spins = 0;
        } else {
            spin(++spins);
        }
    }
}

}  // namespace acrobat
