// SPDX-License-Identifier: Apache-2.0
// Automatic data overflow control: Yu, Noh, Choi and Xue, "ADOC: Automatically Harmonizing Dataflow Between Components
// in Log-Structured Key-Value Stores for Improved Performance", FAST 2023. Pure logic.
#pragma once

#include <cstdint>
#include <optional>

#include "cache/status.h"

namespace mezz {

struct AdocOptions {
  // The most of max_background_jobs. 0: the CPUs of the machine, or what the database was opened with if that is more.
  int jobs_max = 0;
  // The most of write_buffer_size, in bytes. 0: four times what the database was opened with. Theirs was 512 MiB from
  // 64; memory is the operator's.
  uint64_t write_buffer_max = 0;

  bool operator==(const AdocOptions&) const = default;
};

// Names as RocksDB's options. Of the database, and of its default column family.
struct AdocSetting {
  int max_background_jobs = 0;
  uint64_t write_buffer_size = 0;
  uint64_t target_file_size_base = 0;
  uint64_t max_bytes_for_level_base = 0;

  bool operator==(const AdocSetting&) const = default;
};

// What a database says of its flow of data. Levels are parts of the limit at which RocksDB delays writes.
struct Dataflow {
  int immutable_memtables = 0;  // that wait to be flushed
  double level0 = 0;            // files of level0_slowdown_writes_trigger
  double debt = 0;              // of soft_pending_compaction_bytes_limit; 0: there is none
  uint64_t flushes = 0;         // since it was asked last
  double flush_speed_sum = 0;   // of these, each in bytes a second
};

// A write stalls because data come faster into a part of the tree than they go out: memtables wait for their flush
// (memory overflow), Level 0 fills (Level-0 overflow), or deeper levels have too much to rewrite (redundancy overflow).
// Two levers move the flow: threads, which empty Level 0 and the debt, but take bandwidth from flushes; and the batch
// (memtables and files alike), of which larger ones take a burst and smaller ones are rewritten sooner.
//
// Once a second, if something was flushed since, in this order, later rules before earlier ones:
//   threads:  memtables wait: two more      flushes at half their best speed: half as many
//             Level 0 or debt is at its limit: two more
//   batch:    flushes at half their best speed, or two memtables wait: larger by what it was opened with
//             debt is at its limit: half
// The rules and constants are those of the authors' published implementation (github supermt/FEAT_7.11, TuneByTEA and
// TuneByFEA), but for four. Theirs also enlarges the batch while no memtable waits, although its own message says that
// it shrinks it: here it stays. The best speed is theirs for ever, so one flush into an idle page cache halves the
// threads from then on; here it fades by a hundredth a second. The batch may shrink to a quarter of what the database
// was opened with; theirs never below 64 MiB. And Level 1 and files keep the proportion to memtables that they were
// opened with, which for RocksDB's defaults is the same.
//
// Not thread-safe.
class Adoc {
 public:
  // Refuses bounds that leave nothing to set.
  static Status Validate(const AdocOptions& options, const AdocSetting& opened);

  // `cpus`: of the machine. REQUIRES: Validate.
  Adoc(const AdocOptions& options, const AdocSetting& opened, int cpus);

  // What to set; nothing: leave it. Call it from time to time.
  std::optional<AdocSetting> Decide(uint64_t now_ns, const Dataflow& flow);

  static constexpr uint64_t kGapNs = 1'000'000'000;
  static constexpr int kJobsMin = 2;
  static constexpr int kJobsStep = 2;
  static constexpr double kSlowFlush = 0.5;
  static constexpr double kBestFades = 0.99;
  static constexpr uint64_t kBatchMinShare = 4;

 private:
  int Jobs(const Dataflow& flow, bool slow) const;
  uint64_t Batch(const Dataflow& flow, bool slow) const;

  const AdocSetting opened_;
  const int jobs_max_;
  const uint64_t batch_max_;
  AdocSetting current_;
  double best_speed_ = 0;
  uint64_t flushes_ = 0;  // since the last decision, and their speeds
  double speed_sum_ = 0;
  uint64_t decided_at_ns_ = 0;
};

}  // namespace mezz
