// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>

namespace mezz::test {

// A clock for caches with pack=auto, under which flash becomes slower and faster: whoever asks finds that so much time
// has passed since somebody asked last as a miss costs at present. So all codecs are chosen in turn. Thread-safe.
inline std::function<uint64_t()> ChangingFlashClock() {
  struct Time {
    std::atomic<uint64_t> asked{0}, now_ns{0};
  };
  return [time = std::make_shared<Time>()] {
    constexpr uint64_t kMissNs[] = {90'000, 30'000, 3'000, 30'000};
    constexpr uint64_t kAskedOfEach = 8000;
    const uint64_t asked = time->asked.fetch_add(1, std::memory_order_relaxed);
    const uint64_t passed = kMissNs[asked / kAskedOfEach % std::size(kMissNs)];
    return time->now_ns.fetch_add(passed, std::memory_order_relaxed) + passed;
  };
}

}  // namespace mezz::test
