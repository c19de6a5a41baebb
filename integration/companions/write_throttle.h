// SPDX-License-Identifier: Apache-2.0
// Two-stage write throttling: Jia and Chen, "From Flash to 3D XPoint", ISPASS 2020, section V-A. Pure logic.
#pragma once

#include <cstdint>
#include <optional>

namespace mezz {

// What a database says of its writes, after a flush or a compaction changed it.
struct WriteState {
  int level0_files = 0;
  int slowdown_trigger = 0;  // level0_slowdown_writes_trigger
  int stop_trigger = 0;      // level0_stop_writes_trigger
  uint64_t rate = 0;         // bytes a second that writes are held to now; 0: writes are not delayed
  // Compaction debt, or memtables, have reached the limits at which RocksDB delays writes whatever Level 0 does.
  bool limited_elsewhere = false;
};

// RocksDB slows writes from the slowdown trigger on by 0.8 at every flush and compaction that finds more debt (by 0.6
// near a stop), down to 16 KiB/s, and goes on from where it was the next time: that is what makes fast devices nearly
// stop. The throttle holds writes at the rate that the operator accepts while Level 0 fills from the slowdown trigger
// to half way to the stop trigger. There RocksDB's own control begins.
//
//   free --files >= slowdown--> held --files >= (slowdown + stop) / 2--> given back --files < that - 1--> held
//   any --files < slowdown--> free        any --limited elsewhere--> given back
//
// What holding let through must be paid back before the stop trigger, or a rate that outruns compaction would end in
// a stop that RocksDB alone would not have come to. So the throttle remembers the rate that RocksDB alone would be at
// (the factors by which RocksDB changed the rate that it was given are visible), and lets the rate of the second stage
// sink from the accepted one to that one, in equal factors a file; for the last two files it is RocksDB's lowest. The
// first stage is the paper's; the way back is ours.
//
// Not thread-safe.
class WriteThrottle {
 public:
  enum class Stage { kFree, kHeld, kGivenBack };

  // Bytes a second. REQUIRES: accepted > 0.
  explicit WriteThrottle(uint64_t accepted);

  // What delayed_write_rate is to be set to: RocksDB takes it for the present rate and for the highest. Nothing: leave
  // it. Call it after each flush and compaction; some may be missed.
  std::optional<uint64_t> Decide(const WriteState& state);

  Stage stage() const { return stage_; }
  uint64_t accepted() const { return accepted_; }
  // At what rate RocksDB alone would be, as far as can be seen from here.
  uint64_t own_rate() const { return static_cast<uint64_t>(own_rate_); }

 private:
  Stage StageOf(const WriteState& state) const;
  // How much RocksDB changed the rate since it was left at left_at_.
  double Follow(const WriteState& state);
  // Of the second stage.
  double Ceiling(const WriteState& state) const;

  const uint64_t accepted_;
  Stage stage_ = Stage::kFree;
  double own_rate_;
  double left_at_ = 0;  // the rate as we left it; 0: writes were not delayed
};

}  // namespace mezz
