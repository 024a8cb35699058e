// Threads for one launch at a time. Workers spin while a mini-batch runs (a launch costs about 0.1 us) and sleep between
// mini-batches; with one thread nothing spins and nothing is started.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace acrobat {

inline void relax() {
#if defined(__x86_64__)
    _mm_pause();
#endif
}

class Pool {
   public:
    explicit Pool(int threads) : threads_(threads) {
        try {
            for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
        } catch (...) {  // the system has no more threads
            stop();
            throw;
        }
    }
    ~Pool() { stop(); }

    int threads() const { return threads_; }

    // Workers spin between `begin` and `end`.
    void begin() {
        if (threads_ == 1) return;
        {
            std::lock_guard lock(mutex_);
            awake_.store(true, std::memory_order_release);
        }
        wake_.notify_all();
    }
    void end() {
        if (threads_ > 1) awake_.store(false, std::memory_order_release);
    }

    // Calls task(piece, thread) for each piece in [0, pieces), on all threads; returns when all are done. Throws what a call threw.
    template <class Task>
    void run(int pieces, Task&& task) {
        if (threads_ == 1 || pieces == 1) {
            for (int p = 0; p < pieces; ++p) task(p, 0);
            return;
        }
        call_ = [](void* t, int piece, int thread) { (*static_cast<std::remove_reference_t<Task>*>(t))(piece, thread); };
        data_ = &task;
        done_.store(0, std::memory_order_relaxed);
        const uint64_t generation = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
        ticket_.store(generation << 32 | uint64_t(pieces) << 16, std::memory_order_release);
        take(0, generation);
        for (int spins = 0; done_.load(std::memory_order_acquire) != pieces; ++spins) spin(spins);
        if (error_) [[unlikely]]
            std::rethrow_exception(std::exchange(error_, nullptr));
    }

    static constexpr int kMaxPieces = 0xffff;

   private:
    void stop() {
        {
            std::lock_guard lock(mutex_);
            stop_ = true;
            awake_.store(true);
        }
        wake_.notify_all();
        for (auto& w : workers_) w.join();
    }

    static void spin(int& spins) {
        relax();
        // A core that another program holds would otherwise keep us waiting for its whole time slice.
        if (spins > 4000) {
            std::this_thread::yield();
            spins = 0;
        }
    }

    // The ticket holds the launch's generation, its number of pieces and the next piece to take, so that a worker that comes
    // late can only see this launch with no piece left, or the next launch, never a mixture. `call_` and `data_` are read
    // with a piece in hand, while the launch cannot end.
    void take(int thread, uint64_t generation) {
        uint64_t ticket = ticket_.load(std::memory_order_acquire);
        while ((ticket >> 32) == generation && (ticket & 0xffff) < (ticket >> 16 & 0xffff)) {
            if (ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) {
                try {
                    call_(data_, int(ticket & 0xffff), thread);
                } catch (...) {  // the launch must end on all threads before its data goes
                    std::lock_guard lock(mutex_);
                    if (!error_) error_ = std::current_exception();
                }
                done_.fetch_add(1, std::memory_order_acq_rel);
                ticket = ticket_.load(std::memory_order_acquire);
            }
        }
    }

    void work(int thread) {
        uint64_t seen = 0;
        int spins = 0;
        for (;;) {
            if (!awake_.load(std::memory_order_acquire)) {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [this] { return awake_.load(); });
            }
            if (stop_) return;
            const uint64_t generation = ticket_.load(std::memory_order_acquire) >> 32;
            if (generation != seen) {
                seen = generation;
                take(thread, generation);
                spins = 0;
            } else {
                spin(++spins);
            }
        }
    }

    int threads_;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<bool> awake_{false};
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<uint64_t> ticket_{0};
    alignas(64) std::atomic<int> done_{0};
    void (*call_)(void*, int, int) = nullptr;
    void* data_ = nullptr;
    std::exception_ptr error_;  // written before `done_` is raised, read after it is complete
};

}  // namespace acrobat
