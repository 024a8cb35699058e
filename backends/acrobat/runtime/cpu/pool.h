// Threads for one launch at a time. Workers spin while a mini-batch runs (a launch costs about 0.1 us) and sleep between
// mini-batches; with one thread nothing spins and nothing is started.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "../function_ref.h"

namespace acrobat {

class Pool {
   public:
    explicit Pool(int threads);
    ~Pool() { stop(); }

    int threads() const { return threads_; }

    // Workers spin between `begin` and `end`.
    void begin();
    void end() {
        if (threads_ > 1) awake_.store(false, std::memory_order_release);
    }

    // Calls task(piece, thread) for each piece in [0, pieces), on all threads; returns when all are done. Throws what a call threw.
    void run(int pieces, FunctionRef<void(int piece, int thread)> task);

    static constexpr int kMaxPieces = 0xffff;

   private:
    void stop();

    static void spin(int& spins);

    // The ticket holds the launch's generation, its number of pieces and the next piece to take, so that a worker that comes
    // late can only see this launch with no piece left, or the next launch, never a mixture. `task_` is read
    // with a piece in hand, while the launch cannot end.
    void take(int thread, uint64_t generation);

    void work(int thread);

    int threads_;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<bool> awake_{false};
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<uint64_t> ticket_{0};
    alignas(64) std::atomic<int> done_{0};
    const FunctionRef<void(int, int)>* task_ = nullptr;
    std::exception_ptr error_;  // written before `done_` is raised, read after it is complete
};

}  // namespace acrobat
