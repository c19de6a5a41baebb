// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

#include "cache/base/start_thread.h"

namespace mezz {

// Calls work() in as many threads as there are CPUs, eight and `most` at most, this one among them. It must not throw,
// and nor does this: what the threads get of it is a reference, for which nothing is allocated.
template <typename Work>
void InParallel(const char* name, size_t most, const Work& work) {
  constexpr unsigned kThreadsMax = 8;
  const size_t cpus = std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax);
  std::array<std::thread, kThreadsMax> threads;
  for (size_t i = 0; i + 1 < std::min(cpus, most); ++i) {
    threads[i] = StartThread(name, std::cref(work));
    if (!threads[i].joinable()) break;  // those there are do it
  }
  work();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

// Calls visit(i) for each i in [from, to), once, as InParallel calls work(). So many of them repay a thread.
template <typename Visit>
void ForEachInParallel(const char* name, size_t from, size_t to, size_t a_thread, const Visit& visit) {
  std::atomic<size_t> next{from};
  InParallel(name, (to - from) / a_thread, [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < to;) visit(i);
  });
}

}  // namespace mezz
