// SPDX-License-Identifier: Apache-2.0
// RocksDB's write path as far as stalls go, in simulated time: one column family, one flush and one compaction at a
// time. The control of the delayed rate is that of RocksDB 11.8.1: db/column_family.cc, SetupDelay and
// RecalculateWriteStallConditions; the rest is as coarse as it may be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "integration/companions/write_throttle.h"

namespace mezz::test {

struct WriteModelOptions {
  double demand = 50e6;  // what writers would write, bytes a second
  double memtable_bytes = 4e6;
  double flush_rate = 400e6;
  double compaction_rate = 100e6;  // bytes in
  double level1_bytes = 32e6;      // rewritten with every compaction of Level 0
  double deeper = 2;               // what each byte out of Level 0 costs further down, before the next one may start
  int compaction_trigger = 4;
  int slowdown_trigger = 12;
  int stop_trigger = 24;
  double accepted = 16e6;  // delayed_write_rate
};

class WriteModel {
 public:
  explicit WriteModel(const WriteModelOptions& options) : o_(options), highest_(o_.accepted), rate_(o_.accepted) {}

  // Called so long after a flush or a compaction, once for those that came meanwhile: a companion has its own thread.
  std::function<void()> on_event;
  double lag = 0;

  // SetDBOptions({"delayed_write_rate", ...}).
  void SetRate(uint64_t rate) { highest_ = rate_ = static_cast<double>(rate); }
  WriteState State() const {
    return {.level0_files = files_,
            .slowdown_trigger = o_.slowdown_trigger,
            .stop_trigger = o_.stop_trigger,
            .rate = delayed_ ? static_cast<uint64_t>(rate_) : 0};
  }

  // Until `seconds` have passed, or a day if nothing can.
  void Run(double seconds) {
    const double end = now_ + seconds;
    while (now_ < end) Step(end);
  }
  void SetDemand(double bytes_per_second) { o_.demand = bytes_per_second; }

  double written = 0;
  double slowest = std::numeric_limits<double>::infinity();  // rate that writers who wanted more were held to
  double nearly_stopped = 0;  // seconds below a tenth of the accepted rate, or stopped by Level 0
  int level0_stops = 0;

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  double WriteRate() const {
    if (stopped_ || (flushing_until_ != kNever && filled_ >= o_.memtable_bytes)) return 0;
    return delayed_ ? std::min(o_.demand, rate_) : o_.demand;
  }

  void Step(double end) {
    const double rate = WriteRate();
    const double full_at = rate > 0 ? now_ + std::max(0.0, o_.memtable_bytes - filled_) / rate : kNever;
    const double next = std::min({end, full_at, flushing_until_, compacting_until_, look_at_});
    if (delayed_ && !stopped_ && o_.demand > rate_ && next > now_) slowest = std::min(slowest, rate_);
    if (stopped_ || (delayed_ && rate_ < o_.accepted / 10)) nearly_stopped += next - now_;
    filled_ += rate * (next - now_);
    written += rate * (next - now_);
    now_ = next;
    if (now_ == flushing_until_) {
      flushing_until_ = kNever;
      ++files_;
      Recalculate();
      look_at_ = std::min(look_at_, now_ + lag);
    } else if (now_ == compacting_until_) {
      compacting_until_ = kNever;
      deeper_bytes_ = taken_ > 0 ? taken_ * o_.memtable_bytes * o_.deeper : 0;
      files_ -= taken_;
      taken_ = 0;
      Recalculate();
      look_at_ = std::min(look_at_, now_ + lag);
    } else if (now_ == full_at) {
      filled_ = o_.memtable_bytes;
    }
    if (now_ == look_at_) {
      look_at_ = kNever;
      if (on_event) on_event();
    }
    if (filled_ >= o_.memtable_bytes * (1 - 1e-9) && flushing_until_ == kNever) {
      filled_ = 0;
      flushing_until_ = now_ + o_.memtable_bytes / o_.flush_rate;
      Recalculate();  // a memtable is switched
    }
    Compact();
  }

  void Compact() {
    if (compacting_until_ != kNever) return;
    if (deeper_bytes_ > 0) {
      compacting_until_ = now_ + deeper_bytes_ / o_.compaction_rate;
    } else if (files_ >= o_.compaction_trigger) {
      taken_ = files_;
      compacting_until_ = now_ + (files_ * o_.memtable_bytes + o_.level1_bytes) / o_.compaction_rate;
    }
  }

  double Debt() const {
    return deeper_bytes_ + (files_ >= o_.compaction_trigger ? files_ * o_.memtable_bytes + o_.level1_bytes : 0);
  }

  void Recalculate() {
    constexpr double kLowest = 16 * 1024;
    const double debt = Debt();
    const bool was_stopped = stopped_;
    stopped_ = files_ >= o_.stop_trigger;
    if (stopped_) {
      level0_stops += !was_stopped;
      delayed_ = false;
    } else if (files_ >= o_.slowdown_trigger) {
      if (delayed_ && highest_ > kLowest) {
        if (was_stopped || files_ >= o_.stop_trigger - 2) {
          rate_ = std::max(kLowest, rate_ * 0.6);
        } else if (debt_before_ > 0 && debt_before_ <= debt) {
          rate_ = std::max(kLowest, rate_ * 0.8);
        } else if (debt_before_ > debt) {
          rate_ = std::min(highest_, rate_ / 0.8);
        }
      }
      delayed_ = true;
    } else {
      if (delayed_) rate_ = std::min(highest_, rate_ * 1.4);
      delayed_ = false;
    }
    debt_before_ = debt;
  }

  WriteModelOptions o_;
  double now_ = 0, filled_ = 0, flushing_until_ = kNever, compacting_until_ = kNever, look_at_ = kNever;
  double highest_, rate_, debt_before_ = 0, deeper_bytes_ = 0;
  int files_ = 0, taken_ = 0;
  bool delayed_ = false, stopped_ = false;
};

}  // namespace mezz::test
