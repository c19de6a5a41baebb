// SPDX-License-Identifier: Apache-2.0
// Times that a trace tells coarsely. Many tell whole seconds: taken at their word, all requests of one would be due at
// once, and their latencies be those of a queue that never was.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workloads/requests/request.h"

namespace mezz {

// Finds out by which step a trace's clock goes.
class TraceClock {
 public:
  void Add(uint64_t time_us);
  // All times are so far apart, or a multiple of it: 1'000'000 us where they are whole seconds. 0: they are one time.
  uint64_t tick_us() const { return tick_us_; }

 private:
  bool has_last_ = false;
  uint64_t last_us_ = 0;
  uint64_t tick_us_ = 0;
};

// The same requests, but those in a row that were told one time are spread evenly over its tick, in their order.
std::unique_ptr<RequestSource> SpreadTimes(std::unique_ptr<RequestSource> source, uint64_t tick_us);
// Likewise, of times that are all there.
std::vector<uint64_t> SpreadTimes(std::span<const uint64_t> times_us);

}  // namespace mezz
