// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace mezz::test {

// Calls work(0), work(1) and so on, each on a thread of its own, and waits for all of them.
template <typename Work>
void InThreads(uint64_t threads, const Work& work) {
  std::vector<std::thread> started;
  for (uint64_t i = 0; i < threads; ++i) started.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : started) thread.join();
}

}  // namespace mezz::test
