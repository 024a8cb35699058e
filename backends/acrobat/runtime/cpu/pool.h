// A pool of threads that runs one launch at a time. Its workers spin while a mini-batch runs, so that a launch costs about 0.1
// us, and sleep between mini-batches. A pool of one thread has no workers.
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

    // Runs pieces of the launch `generation` until none is left. `ticket_` has the generation, the number of pieces and the
    // next piece in one word, so that a late worker sees either this launch without pieces left or the next launch, never a
    // mixture. `task_` is read only by a thread that has taken a piece, so while the launch cannot end.
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
    std::exception_ptr error_;  // written before the piece is counted in `done_`, read after all are
};

}  // namespace acrobat
