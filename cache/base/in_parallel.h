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

// Calls work() in as many threads as there are CPUs, but at most eight and at most `most`, the calling thread included.
// work() must not throw. This does not throw either: the threads get a reference to work(), so nothing is allocated.
template <typename Work>
void InParallel(const char* name, size_t most, const Work& work) {
  constexpr unsigned kThreadsMax = 8;
  const size_t cpus = std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax);
  std::array<std::thread, kThreadsMax> threads;
  for (size_t i = 0; i + 1 < std::min(cpus, most); ++i) {
    threads[i] = StartThread(name, std::cref(work));
    if (!threads[i].joinable()) break;  // the threads that there are do the work
  }
  work();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

// Calls visit(i) once for each i in [from, to), in threads like InParallel's. Each thread is worth its start for
// `a_thread` of them.
template <typename Visit>
void ForEachInParallel(const char* name, size_t from, size_t to, size_t a_thread, const Visit& visit) {
  std::atomic<size_t> next{from};
  InParallel(name, (to - from) / a_thread, [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < to;) visit(i);
  });
}

}  // namespace mezz
