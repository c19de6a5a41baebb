// SPDX-License-Identifier: Apache-2.0
// Dynamic Level 0: Jia and Chen, "From Flash to 3D XPoint", ISPASS 2020, section V-B. Pure logic.
#pragma once

#include <cstdint>
#include <optional>

#include "cache/status.h"

namespace mezz {

struct DynamicLevel0Options {
  // Files in Level 0 when a compaction of it begins: of a database that is mostly read, and of one that is written to.
  // 0: a quarter of those that the database was opened with, and as many as those. The paper has 6 and 24, the same
  // quarter. More than the database was opened with have made reads slower and writes no faster here
  // (results/ispass20/summary.md).
  int few = 0;
  int many = 0;
  // Percent of the operations that must be writes for many; the paper's. Few come back this band below.
  int write_percent = 25;
  int band_percent = 5;
  // Operations of so long ago count half.
  uint64_t half_life_ms = 10'000;

  Status Validate() const;
  bool operator==(const DynamicLevel0Options&) const = default;
};

// Of one column family; names as RocksDB's options.
struct Level0Shape {
  uint64_t write_buffer_size = 0;
  int max_write_buffer_number = 2;
  uint64_t arena_block_size = 0;
  int compaction_trigger = 0;
  int slowdown_trigger = 0;
  int stop_trigger = 0;

  bool operator==(const Level0Shape&) const = default;
};

// Since the database was opened.
struct OperationTotals {
  uint64_t reads = 0;
  uint64_t writes = 0;
};

// A read looks into each file of Level 0, which costs where the device does not: few large files. A write is
// acknowledged sooner, and stalls less, with many small ones. The bytes of Level 0 when its compaction begins stay what
// the database was opened with; only into how many files they are cut follows the share of writes.
//
// So do the bytes of all memtables, by max_write_buffer_number: two that shrink are full at once, and writes stop.
// Below two RocksDB does not go, so few large files take up to opened / few / max_write_buffer_number x 2 times the
// memory. Writes are slowed and stopped at the same bytes of Level 0, but never with more files beyond the first
// trigger than the database was opened with: each of them costs every read.
//
//   as opened --share > write_percent--> many <--share > write_percent-- few
//   as opened --share < write_percent - band_percent--> few <--the same-- many
//
// A change never stops or slows writes by itself: while Level 0 has more files than the new slowdown trigger, that one
// and the stop trigger wait. Not thread-safe.
class DynamicLevel0 {
 public:
  enum class Cut { kAsOpened, kFew, kMany };

  // Refuses triggers that are out of order, and files below RocksDB's smallest write buffer.
  static Status Validate(const DynamicLevel0Options& options, const Level0Shape& opened);

  // REQUIRES: Validate.
  DynamicLevel0(const DynamicLevel0Options& options, const Level0Shape& opened);

  // What to set; nothing: leave it. Call it from time to time.
  std::optional<Level0Shape> Decide(uint64_t now_ns, const OperationTotals& totals, int level0_files);

  Cut cut() const { return cut_; }
  // Of the operations that still count; between 0 and 1.
  double write_share() const;

 private:
  void Count(uint64_t now_ns, const OperationTotals& totals);
  Level0Shape ShapeOf(Cut cut) const;

  const DynamicLevel0Options options_;  // none of the files is 0
  const Level0Shape opened_;
  Level0Shape current_;
  Cut cut_ = Cut::kAsOpened;
  uint64_t counted_at_ns_ = 0;
  OperationTotals counted_;
  double reads_ = 0, writes_ = 0;
};

}  // namespace mezz
