// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/pacing.h"

#include <sys/prctl.h>
#include <time.h>

#include <chrono>
#include <thread>

namespace mezz {
namespace {

constexpr uint64_t kSpinNs = 60'000;           // longer than most wake-ups are late, with no timer slack
constexpr uint64_t kSleepMaxNs = 100'000'000;  // between two looks at `stop`

uint64_t ThreadCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

// Waiting must not take the processors from work.
unsigned SpinnersMax() {
  static const unsigned most = std::thread::hardware_concurrency() / 4;
  return most;
}

// Given to no more than SpinnersMax() threads at a time.
class SpinPermit {
 public:
  // Relaxed: a count that guards nothing.
  SpinPermit() : given_(spinning_.fetch_add(1, std::memory_order_relaxed) < SpinnersMax()) {
    if (!given_) spinning_.fetch_sub(1, std::memory_order_relaxed);
  }
  ~SpinPermit() {
    if (given_) spinning_.fetch_sub(1, std::memory_order_relaxed);
  }
  SpinPermit(const SpinPermit&) = delete;
  SpinPermit& operator=(const SpinPermit&) = delete;
  bool given() const { return given_; }

 private:
  static inline std::atomic<unsigned> spinning_{0};
  const bool given_;
};

void SleepUntilNs(uint64_t ns, const std::atomic<bool>& stop) {
  for (uint64_t now = ReplayClock::NowNs(); now < ns && !stop.load(std::memory_order_relaxed);
       now = ReplayClock::NowNs()) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(ns - now, kSleepMaxNs)));
  }
}

}  // namespace

uint64_t ReplayClock::NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void ReplayClock::WaitUntilNs(uint64_t ns, const std::atomic<bool>& stop) {
  if (!wakes_early_) {
    prctl(PR_SET_TIMERSLACK, 1);  // of this thread; the default lets it sleep 50 us longer
    wakes_early_ = true;
  }
  if (SpinnersMax() == 0) return SleepUntilNs(ns, stop);
  SleepUntilNs(ns - std::min(kSpinNs, ns), stop);
  const SpinPermit permit;
  if (!permit.given()) return SleepUntilNs(ns, stop);
  const uint64_t from = ThreadCpuNs();  // not the time: a spinning thread may lose its processor
  while (NowNs() < ns && !stop.load(std::memory_order_relaxed)) continue;
  spun_ns_ += ThreadCpuNs() - from;
}

}  // namespace mezz
