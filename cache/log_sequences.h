// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "cache/base/atomic.h"

namespace mezz {

// The sequences of a log: each segment that is opened takes the next one, so they tell which of two fills is the older.
//
// A medium that outlives the process must not have one twice. So sequences are reserved there before they are used,
// some at once, and a later life begins behind them. What a life reserved and did not use is skipped.
class LogSequences {
 public:
  // Returns the first of the numbers that it reserved. Empty: it has none.
  using Reserve = std::function<std::optional<uint64_t>()>;

  // The log's mutex, which is not owned.
  explicit LogSequences(Mutex* mutex) : mutex_(*mutex) {}

  // Takes the sequences from `reserve`, which hands out `at_once` numbers. It is called now and then, under the log's
  // mutex. While it has none, no segment is opened. Without this call sequences count from 1. False: `reserve` has none
  // to begin with. REQUIRES: none was taken.
  [[nodiscard]] bool TakeFrom(Reserve reserve, uint64_t at_once) {
    const std::lock_guard lock(mutex_);
    assert(next_ == 1);
    reserve_ = std::move(reserve);
    at_once_ = at_once;
    const auto first = reserve_();
    next_ = first.value_or(next_);
    end_ = next_ + (first ? at_once : 0);
    return first.has_value();
  }
  // The sequence that is taken next.
  uint64_t NextLocked() const { return next_; }
  // Takes it. Empty: none is reserved, so a later life could use it too.
  std::optional<uint64_t> TakeLocked() {
    if (next_ == end_) {
      const auto first = reserve_();
      if (!first) return std::nullopt;
      next_ = *first;
      end_ = next_ + at_once_;
    }
    return next_++;
  }

 private:
  Mutex& mutex_;  // guards all of it
  uint64_t next_ = 1;
  uint64_t end_ = UINT64_MAX;  // the next one asks reserve_
  Reserve reserve_;            // may be empty
  uint64_t at_once_ = 0;
};

}  // namespace mezz
