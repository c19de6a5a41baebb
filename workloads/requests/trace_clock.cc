// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/trace_clock.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "workloads/requests/wrapped_source.h"

namespace mezz {
namespace {

// Of the `nth` of `count` that share a tick.
uint64_t OffsetUs(uint64_t tick_us, uint64_t nth, uint64_t count) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(tick_us) * nth / count);
}

class SpreadSource final : public WrappedSource {
 public:
  SpreadSource(std::unique_ptr<RequestSource> source, uint64_t tick_us)
      : WrappedSource(std::move(source)), tick_us_(tick_us) {}

  bool Next(Request* request) override {
    if (given_ == tick_.size() && !ReadTick()) return false;
    *request = tick_[given_];
    request->time_us += OffsetUs(tick_us_, given_, tick_.size());
    ++given_;
    return true;
  }

  Status Rewind() override {
    tick_.clear();
    given_ = 0;
    has_ahead_ = false;
    return source_->Rewind();
  }

 private:
  bool ReadTick() {
    tick_.clear();
    given_ = 0;
    if (!has_ahead_ && !source_->Next(&ahead_)) return false;
    do {
      tick_.push_back(ahead_);
      has_ahead_ = source_->Next(&ahead_);
    } while (has_ahead_ && ahead_.time_us == tick_.front().time_us);
    return true;
  }

  const uint64_t tick_us_;
  std::vector<Request> tick_;  // the requests of one
  size_t given_ = 0;           // of them
  Request ahead_;              // the first of the next, if has_ahead_
  bool has_ahead_ = false;
};

}  // namespace

void TraceClock::Add(uint64_t time_us) {
  if (has_last_) tick_us_ = std::gcd(tick_us_, std::max(time_us, last_us_) - std::min(time_us, last_us_));
  last_us_ = time_us;
  has_last_ = true;
}

std::unique_ptr<RequestSource> SpreadTimes(std::unique_ptr<RequestSource> source, uint64_t tick_us) {
  return std::make_unique<SpreadSource>(std::move(source), tick_us);
}

std::vector<uint64_t> SpreadTimes(std::span<const uint64_t> times_us) {
  TraceClock clock;
  for (const uint64_t time_us : times_us) clock.Add(time_us);
  std::vector<uint64_t> spread(times_us.begin(), times_us.end());
  for (size_t first = 0; first < spread.size();) {
    size_t end = first + 1;
    while (end < spread.size() && times_us[end] == times_us[first]) ++end;
    for (size_t i = first; i < end; ++i) spread[i] += OffsetUs(clock.tick_us(), i - first, end - first);
    first = end;
  }
  return spread;
}

}  // namespace mezz
