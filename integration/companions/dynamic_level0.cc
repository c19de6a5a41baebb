// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/dynamic_level0.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "cache/base/invalid.h"
#include "cache/types.h"

namespace mezz {
namespace {

constexpr uint64_t kSmallestBuffer = 64 << 10;  // RocksDB makes no smaller one
constexpr uint64_t kPage = 4096;
constexpr double kFewestOperations = 1000;  // that a share can be told from

uint64_t Volume(const Level0Shape& shape) {
  return shape.write_buffer_size * static_cast<uint64_t>(shape.compaction_trigger);
}

// What 0 stands for.
DynamicLevel0Options Resolved(DynamicLevel0Options options, const Level0Shape& opened) {
  constexpr int kQuarter = 4;
  if (options.few == 0) options.few = std::max(1, opened.compaction_trigger / kQuarter);
  if (options.many == 0) options.many = opened.compaction_trigger;
  return options;
}

// What was counted since; all of it, if the counters were reset.
double Since(uint64_t before, uint64_t now) { return static_cast<double>(now >= before ? now - before : now); }

}  // namespace

Status DynamicLevel0Options::Validate() const {
  constexpr int kFilesMax = 1000;
  if (few < 0 || many < 0 || (few > 0 && many > 0 && few >= many) || std::max(few, many) > kFilesMax) {
    return Invalid(
        "level0_few={} and level0_many={}: few must be less than many, many {} at most; 0 leaves it to the database",
        few, many, kFilesMax);
  }
  if (write_percent < 1 || write_percent > 99) {
    return Invalid("level0_write_percent={}: accepted are 1 to 99", write_percent);
  }
  if (band_percent < 0 || band_percent >= write_percent) {
    return Invalid("level0_band_percent={}: it must be less than level0_write_percent={}", band_percent, write_percent);
  }
  if (half_life_ms == 0) return Status::InvalidArgument("level0_half_life_ms=0: give 1 at least");
  return Status::Ok();
}

Status DynamicLevel0::Validate(const DynamicLevel0Options& options, const Level0Shape& opened) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  if (opened.compaction_trigger < 1 || opened.slowdown_trigger < opened.compaction_trigger ||
      opened.stop_trigger <= opened.slowdown_trigger) {
    return Invalid(
        "dynamic_level0 needs level0_file_num_compaction_trigger={} <= level0_slowdown_writes_trigger={} < "
        "level0_stop_writes_trigger={}, the first 1 at least",
        opened.compaction_trigger, opened.slowdown_trigger, opened.stop_trigger);
  }
  const DynamicLevel0Options resolved = Resolved(options, opened);
  if (resolved.few >= resolved.many) {
    return Invalid(
        "level0_few={} is no fewer than level0_many={} with level0_file_num_compaction_trigger={}: lower the first or "
        "raise one of the others",
        resolved.few, resolved.many, opened.compaction_trigger);
  }
  if (const uint64_t buffer = Volume(opened) / static_cast<uint64_t>(resolved.many); buffer < kSmallestBuffer) {
    return Invalid(
        "level0_many={}: {} bytes of Level 0 (write_buffer_size={} x level0_file_num_compaction_trigger={}) would make "
        "files of {}, below RocksDB's smallest write buffer of {}: raise write_buffer_size or lower level0_many",
        resolved.many, Volume(opened), opened.write_buffer_size, opened.compaction_trigger, buffer, kSmallestBuffer);
  }
  return Status::Ok();
}

DynamicLevel0::DynamicLevel0(const DynamicLevel0Options& options, const Level0Shape& opened)
    : options_(Resolved(options, opened)), opened_(opened), current_(opened) {
  assert(Validate(options, opened).ok());
}

double DynamicLevel0::write_share() const { return reads_ + writes_ == 0 ? 0 : writes_ / (reads_ + writes_); }

void DynamicLevel0::Count(uint64_t now_ns, const OperationTotals& totals) {
  const double passed_ms =
      counted_at_ns_ == 0 ? 0 : static_cast<double>(now_ns - std::min(counted_at_ns_, now_ns)) / 1e6;
  const double kept = std::exp2(-passed_ms / static_cast<double>(options_.half_life_ms));
  reads_ = reads_ * kept + Since(counted_.reads, totals.reads);
  writes_ = writes_ * kept + Since(counted_.writes, totals.writes);
  counted_ = totals;
  counted_at_ns_ = now_ns;
}

Level0Shape DynamicLevel0::ShapeOf(Cut cut) const {
  if (cut == Cut::kAsOpened) return opened_;
  const int files = cut == Cut::kFew ? options_.few : options_.many;
  if (files == opened_.compaction_trigger) return opened_;
  // Files beyond `from`, of which there were `opened`: the same bytes, no more files, and some room where there was
  // any.
  constexpr int kRoom = 4;
  const auto beyond = [&](int from, int opened) {
    const double scaled = static_cast<double>(opened) * files / opened_.compaction_trigger;
    return from + std::clamp(static_cast<int>(std::lround(scaled)), std::min(opened, kRoom), opened);
  };
  Level0Shape shape;
  shape.compaction_trigger = files;
  shape.write_buffer_size = Volume(opened_) / static_cast<uint64_t>(files);
  const uint64_t memory = opened_.write_buffer_size * static_cast<uint64_t>(opened_.max_write_buffer_number);
  shape.max_write_buffer_number = std::max(2, static_cast<int>(memory / shape.write_buffer_size));
  // RocksDB's own rule. A memtable is full with its last arena block: blocks that are large for it leave some unused.
  shape.arena_block_size = std::min(opened_.arena_block_size, RoundUp(shape.write_buffer_size / 8, kPage));
  shape.slowdown_trigger = beyond(files, opened_.slowdown_trigger - opened_.compaction_trigger);
  shape.stop_trigger = beyond(shape.slowdown_trigger, opened_.stop_trigger - opened_.slowdown_trigger);
  return shape;
}

std::optional<Level0Shape> DynamicLevel0::Decide(uint64_t now_ns, const OperationTotals& totals, int level0_files) {
  Count(now_ns, totals);
  if (reads_ + writes_ >= kFewestOperations) {
    const double percent = 100 * write_share();
    if (percent > options_.write_percent) {
      cut_ = Cut::kMany;
    } else if (percent < options_.write_percent - options_.band_percent) {
      cut_ = Cut::kFew;
    }
  }
  Level0Shape wanted = ShapeOf(cut_);
  if (level0_files >= wanted.slowdown_trigger) {
    wanted.slowdown_trigger = std::max(wanted.slowdown_trigger, current_.slowdown_trigger);
    wanted.stop_trigger = std::max(wanted.stop_trigger, current_.stop_trigger);
  }
  if (wanted == current_) return std::nullopt;
  current_ = wanted;
  return wanted;
}

}  // namespace mezz
