// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/pacing.h"

#include <time.h>

#include <chrono>
#include <thread>

namespace mezz {
namespace {

constexpr uint64_t kSpinNs = 100'000;          // longer than a wake-up is late
constexpr uint64_t kSleepMaxNs = 100'000'000;  // between two looks at `stop`

uint64_t ThreadCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace

uint64_t ReplayClock::NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void ReplayClock::WaitUntilNs(uint64_t ns, const std::atomic<bool>& stop) {
  uint64_t now = NowNs();
  while (now + kSpinNs < ns && !stop.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(ns - now - kSpinNs, kSleepMaxNs)));
    now = NowNs();
  }
  const uint64_t from = ThreadCpuNs();  // not the time: a spinning thread may lose its processor
  while (now < ns && !stop.load(std::memory_order_relaxed)) now = NowNs();
  spun_ns_ += ThreadCpuNs() - from;
}

}  // namespace mezz
