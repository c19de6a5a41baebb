// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/adoc.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "cache/base/invalid.h"

namespace mezz {
namespace {

constexpr uint64_t kSmallestBuffer = 64 << 10;  // RocksDB makes no smaller one
constexpr uint64_t kBatchMaxTimes = 4;

uint64_t Scaled(uint64_t opened, uint64_t batch, uint64_t opened_batch) {
  const double scale = static_cast<double>(batch) / static_cast<double>(opened_batch);
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(static_cast<double>(opened) * scale)));
}

}  // namespace

Status Adoc::Validate(const AdocOptions& options, const AdocSetting& opened) {
  if (options.jobs_max != 0 && options.jobs_max < std::max(kJobsMin, opened.max_background_jobs)) {
    return Invalid("adoc_jobs_max={}: give max_background_jobs={} at least, and {}, or 0 for the machine's CPUs",
                   options.jobs_max, opened.max_background_jobs, kJobsMin);
  }
  if (options.write_buffer_max != 0 && options.write_buffer_max < opened.write_buffer_size) {
    return Invalid("adoc_write_buffer_max={}: give write_buffer_size={} at least, or 0 for four times that",
                   options.write_buffer_max, opened.write_buffer_size);
  }
  return Status::Ok();
}

Adoc::Adoc(const AdocOptions& options, const AdocSetting& opened, int cpus)
    : opened_(opened),
      jobs_max_(options.jobs_max != 0 ? options.jobs_max : std::max({kJobsMin, cpus, opened.max_background_jobs})),
      batch_max_(options.write_buffer_max != 0 ? options.write_buffer_max : opened.write_buffer_size * kBatchMaxTimes),
      current_(opened) {
  assert(Validate(options, opened).ok());
}

int Adoc::Jobs(const Dataflow& flow, bool slow) const {
  int jobs = current_.max_background_jobs;
  if (flow.level0 >= 1 || flow.debt >= 1) {
    jobs += kJobsStep;
  } else if (slow) {
    jobs /= 2;
  } else if (flow.immutable_memtables >= 1) {
    jobs += kJobsStep;
  }
  return std::clamp(jobs, std::min(kJobsMin, opened_.max_background_jobs), jobs_max_);
}

uint64_t Adoc::Batch(const Dataflow& flow, bool slow) const {
  uint64_t batch = current_.write_buffer_size;
  if (flow.debt >= 1) {
    batch /= 2;
  } else if (slow || flow.immutable_memtables > 1) {
    batch += opened_.write_buffer_size;
  }
  const uint64_t least = std::max(kSmallestBuffer, opened_.write_buffer_size / kBatchMinShare);
  return std::clamp(batch, std::min(least, opened_.write_buffer_size), batch_max_);
}

std::optional<AdocSetting> Adoc::Decide(uint64_t now_ns, const Dataflow& flow) {
  flushes_ += flow.flushes;
  speed_sum_ += flow.flush_speed_sum;
  if (decided_at_ns_ != 0 && now_ns - std::min(decided_at_ns_, now_ns) < kGapNs) return std::nullopt;
  decided_at_ns_ = now_ns;
  best_speed_ *= kBestFades;
  if (flushes_ == 0) return std::nullopt;
  const double speed = speed_sum_ / static_cast<double>(flushes_);
  flushes_ = 0;
  speed_sum_ = 0;
  best_speed_ = std::max(best_speed_, speed);
  const bool slow = speed < best_speed_ * kSlowFlush;
  AdocSetting wanted = current_;
  wanted.max_background_jobs = Jobs(flow, slow);
  wanted.write_buffer_size = Batch(flow, slow);
  const auto scaled = [&](uint64_t opened) {
    return Scaled(opened, wanted.write_buffer_size, opened_.write_buffer_size);
  };
  wanted.target_file_size_base = scaled(opened_.target_file_size_base);
  wanted.max_bytes_for_level_base = scaled(opened_.max_bytes_for_level_base);
  if (wanted == current_) return std::nullopt;
  current_ = wanted;
  return wanted;
}

}  // namespace mezz
