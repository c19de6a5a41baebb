// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace mezz {

// Wakes a thread that has work now and then. Calls are never lost: work that was there before a call is seen by the
// thread after its next Await. Call takes no lock and may be made under any.
//
//   calls_:    n --Call: add, release--> n + 2;  bit 0: --End: or, release--> 1
//   handled_:  what the thread had seen of calls_ when it last had done all its work; release store, by it alone
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

  // For the thread: tells that all is done that Await last spoke of, and waits for more. False: it is to end.
  bool Await() {
    handled_.store(seen_, std::memory_order_release);
    handled_.notify_all();
    calls_.wait(seen_, std::memory_order_acquire);
    seen_ = calls_.load(std::memory_order_acquire);
    return (seen_ & 1) == 0;
  }
  // For others: until all that was called for by now is done. REQUIRES: a thread awaits, and End was not called.
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
  uint32_t seen_ = 0;  // the thread's
};

}  // namespace mezz
