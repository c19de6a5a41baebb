// SPDX-License-Identifier: Apache-2.0
// How a replay thread goes through its requests and times them. Knows neither RocksDB nor the wall clock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "workloads/replay/engine/latency_histogram.h"
#include "workloads/replay/engine/pacing.h"
#include "workloads/replay/engine/request_feed.h"

namespace mezz {

// When a loop must end, be there requests left or not.
struct LoopEnd {
  uint64_t deadline_ns;  // on the loop's clock
  const std::atomic<bool>& stop;
};

// Goes through the requests of one feed. Closed loop: a request starts when the one before has ended, or the feed has
// handed it over, and its latency is its own time. Open loop: a request is due at a moment of its own, whatever became
// of those before it, and its latency counts from that moment: what a user who came then would have waited. (Counting
// from the real start instead leaves out all who queue behind a stall: "coordinated omission".)
//
// Clock: NowNs(), WaitUntilNs(ns). Target: bool Execute(const Request&), false to give up. The keys of a batch are
// handed over one by one and timed together, from when the first was due to the end of the last.
template <typename Clock, typename Target>
class ReplayLoop {
 public:
  ReplayLoop(Clock* clock, Target* target, LatencyHistogram* latencies)
      : clock_(clock), target_(target), latencies_(latencies) {}

  void Run(RequestFeed* feed, const Pacing& pacing, uint64_t start_ns, const LoopEnd& end) {
    last_ns_ = pacing.open() ? start_ns : clock_->NowNs();
    for (auto requests = Feed(feed, pacing); !requests.empty(); requests = Feed(feed, pacing)) {
      for (const Request& request : requests) {
        if (!Replay(request, pacing, start_ns, end)) return;
      }
    }
  }

  // When the last request ended.
  uint64_t end_ns() const { return last_ns_; }
  // What the feed took of that in a closed loop: it is no request's.
  uint64_t fed_ns() const { return fed_ns_; }

 private:
  // A generator's feed draws the requests that it hands over. In an open loop they are due all the same.
  std::span<const Request> Feed(RequestFeed* feed, const Pacing& pacing) {
    const auto requests = feed->Next();
    if (pacing.open() || requests.empty()) return requests;
    const uint64_t now_ns = clock_->NowNs();
    fed_ns_ += now_ns - last_ns_;
    last_ns_ = now_ns;
    return requests;
  }

  bool Replay(const Request& request, const Pacing& pacing, uint64_t start_ns, const LoopEnd& end) {
    if (keys_ == 0) {
      due_ns_ = last_ns_;
      if (pacing.open()) {
        due_ns_ = start_ns + pacing.OffsetNs(request.time_us);
        if (due_ns_ >= end.deadline_ns) return false;
        if (last_ns_ < due_ns_) clock_->WaitUntilNs(due_ns_, end.stop);
      }
    }
    ++keys_;
    if (!target_->Execute(request)) return false;
    if (request.batch_goes_on()) return true;
    last_ns_ = clock_->NowNs();
    latencies_->Record(last_ns_ - std::min(due_ns_, last_ns_), keys_);
    keys_ = 0;
    return last_ns_ < end.deadline_ns && !end.stop.load(std::memory_order_relaxed);
  }

  Clock* const clock_;
  Target* const target_;
  LatencyHistogram* const latencies_;
  uint64_t last_ns_ = 0;
  uint64_t due_ns_ = 0;
  uint64_t fed_ns_ = 0;
  uint64_t keys_ = 0;  // of the batch that is being handed over
};

}  // namespace mezz
