// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace mezz {

// Wakes a thread that has work now and then. No call is lost: the thread sees work that was there before a call after
// its next Await. Call takes no lock, and may be made under any lock.
//
//   calls_:    n --Call: add, release--> n + 2;  bit 0: --End: or, release--> 1
//   handled_:  the value of calls_ that the thread had seen when it last had done all its work; release store, by the
//              thread alone
//
// Thread-safe; one thread awaits.
class Wakeup {
 public:
  void Call() {
    calls_.fetch_add(2, std::memory_order_release);
    calls_.notify_one();
  }
  void End() {
    calls_.fetch_or(1, std::memory_order_release);
    calls_.notify_one();
  }

  // For the thread: tells that all work of the last Await is done, and waits for more. False: the thread is to end.
  bool Await() {
    handled_.store(seen_, std::memory_order_release);
    handled_.notify_all();
    calls_.wait(seen_, std::memory_order_acquire);
    seen_ = calls_.load(std::memory_order_acquire);
    return (seen_ & 1) == 0;
  }
  // For others: waits until all that was called for by now is done. REQUIRES: a thread awaits, and End was not called.
  void WaitUntilHandled() const {
    const uint32_t called = calls_.load(std::memory_order_acquire);
    uint32_t handled = handled_.load(std::memory_order_acquire);
    while (static_cast<int32_t>(handled - called) < 0) {
      handled_.wait(handled, std::memory_order_acquire);
      handled = handled_.load(std::memory_order_acquire);
    }
  }

 private:
  std::atomic<uint32_t> calls_{0}, handled_{0};
  uint32_t seen_ = 0;  // used by the thread only
};

}  // namespace mezz
