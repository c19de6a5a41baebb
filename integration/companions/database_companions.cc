// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/database_companions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "cache/base/invalid.h"
#include "integration/tell.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"

namespace mezz {
namespace {

uint64_t Property(rocksdb::DB* db, const std::string& name) {
  uint64_t value = 0;
  return db->GetIntProperty(name, &value) ? value : 0;
}

int Level0Files(rocksdb::DB* db) {
  std::string files;
  return db->GetProperty("rocksdb.num-files-at-level0", &files) ? std::atoi(files.c_str()) : 0;
}

// RocksDB delays writes for these, too; see ColumnFamilyData::GetWriteStallConditionAndCause.
bool LimitedElsewhere(rocksdb::DB* db, const rocksdb::Options& options) {
  const uint64_t debt_limit = options.soft_pending_compaction_bytes_limit;
  if (debt_limit > 0 && Property(db, rocksdb::DB::Properties::kEstimatePendingCompactionBytes) >= debt_limit)
    return true;
  const auto memtables = static_cast<int>(Property(db, rocksdb::DB::Properties::kNumImmutableMemTable));
  return options.max_write_buffer_number > 2 && memtables >= options.max_write_buffer_number - 1;
}

WriteState StateOf(rocksdb::DB* db, const rocksdb::Options& options) {
  return {.level0_files = Level0Files(db),
          .slowdown_trigger = options.level0_slowdown_writes_trigger,
          .stop_trigger = options.level0_stop_writes_trigger,
          .rate = Property(db, rocksdb::DB::Properties::kActualDelayedWriteRate),
          .limited_elsewhere = LimitedElsewhere(db, options)};
}

Dataflow FlowOf(rocksdb::DB* db, const rocksdb::Options& options, const FlushReports& flushes) {
  const auto part = [](uint64_t of, uint64_t limit) {
    return limit == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(limit);
  };
  return {.immutable_memtables = static_cast<int>(Property(db, rocksdb::DB::Properties::kNumImmutableMemTable)),
          .level0 = part(static_cast<uint64_t>(Level0Files(db)),
                         static_cast<uint64_t>(std::max(0, options.level0_slowdown_writes_trigger))),
          .debt = part(Property(db, rocksdb::DB::Properties::kEstimatePendingCompactionBytes),
                       options.soft_pending_compaction_bytes_limit),
          .flushes = flushes.flushes,
          .flush_speed_sum = flushes.speed_sum};
}

AdocSetting AdocSettingOf(const rocksdb::DBOptions& db, const rocksdb::ColumnFamilyOptions& family) {
  return {.max_background_jobs = db.max_background_jobs,
          .write_buffer_size = family.write_buffer_size,
          .target_file_size_base = family.target_file_size_base,
          .max_bytes_for_level_base = family.max_bytes_for_level_base};
}

OperationTotals TotalsOf(const rocksdb::Statistics& statistics) {
  return {.reads = statistics.getTickerCount(rocksdb::NUMBER_KEYS_READ) +
                   statistics.getTickerCount(rocksdb::NUMBER_MULTIGET_KEYS_READ) +
                   statistics.getTickerCount(rocksdb::NUMBER_DB_SEEK),
          .writes = statistics.getTickerCount(rocksdb::NUMBER_KEYS_WRITTEN)};
}

bool Taken(const rocksdb::Status& status, std::string_view what, rocksdb::DB* db) {
  if (status.ok()) return true;
  Tell(fmt::format("companions of {}: {} was not taken: {}", db->GetName(), what, status.ToString()));
  return false;
}

}  // namespace

Level0Shape ShapeOf(const rocksdb::ColumnFamilyOptions& options) {
  return {.write_buffer_size = options.write_buffer_size,
          .max_write_buffer_number = options.max_write_buffer_number,
          .arena_block_size = options.arena_block_size,
          .compaction_trigger = options.level0_file_num_compaction_trigger,
          .slowdown_trigger = options.level0_slowdown_writes_trigger,
          .stop_trigger = options.level0_stop_writes_trigger};
}

Status CheckDatabase(const CompanionOptions& companions, const rocksdb::DBOptions& db,
                     const rocksdb::ColumnFamilyOptions& family) {
  if (family.compaction_style != rocksdb::kCompactionStyleLevel) {
    return Status::InvalidArgument(
        "compaction_style is not level: what Level 0 costs is another question there, so companions stay out");
  }
  if (family.disable_auto_compactions) {
    return Status::InvalidArgument("disable_auto_compactions=true: Level 0 is never emptied, so companions stay out");
  }
  if (companions.write_throttle &&
      family.level0_stop_writes_trigger - family.level0_slowdown_writes_trigger < kTriggersApartMin) {
    return Invalid(
        "write_throttle needs level0_stop_writes_trigger={} to be {} above level0_slowdown_writes_trigger={} at least",
        family.level0_stop_writes_trigger, kTriggersApartMin, family.level0_slowdown_writes_trigger);
  }
  if (companions.adoc) {
    if (db.max_background_compactions != -1 || db.max_background_flushes != -1) {
      return Invalid(
          "adoc sets max_background_jobs, which RocksDB does not look at with max_background_compactions={} and "
          "max_background_flushes={}: leave both at -1",
          db.max_background_compactions, db.max_background_flushes);
    }
    MEZZ_RETURN_IF_ERROR(Adoc::Validate(companions.adoc_bounds, AdocSettingOf(db, family)));
  }
  if (!companions.dynamic_level0) return Status::Ok();
  if (db.statistics == nullptr) {
    return Status::InvalidArgument("dynamic_level0 counts reads by options.statistics, which are not there: make them");
  }
  return DynamicLevel0::Validate(companions.level0, ShapeOf(family));
}

DatabaseCompanions::DatabaseCompanions(rocksdb::DB* db, const rocksdb::Options& opened)
    : db_(db),
      opened_rate_(opened.delayed_write_rate),
      opened_shape_(ShapeOf(opened)),
      statistics_(opened.statistics),
      families_(db),
      opened_flow_(AdocSettingOf(opened, opened)) {}

Status DatabaseCompanions::Make(const CompanionOptions& options, rocksdb::DB* db,
                                std::unique_ptr<DatabaseCompanions>* made) {
  const rocksdb::Options opened = db->GetOptions();
  MEZZ_RETURN_IF_ERROR(CheckDatabase(options, opened, opened));
  std::unique_ptr<DatabaseCompanions> companions(new DatabaseCompanions(db, opened));
  if (options.write_throttle) {
    companions->throttle_.emplace(options.write_throttle_rate != 0 ? options.write_throttle_rate
                                                                   : opened.delayed_write_rate);
  }
  if (options.dynamic_level0) companions->level0_.emplace(options.level0, companions->opened_shape_);
  if (options.adoc) {
    companions->adoc_.emplace(options.adoc_bounds, companions->opened_flow_,
                              static_cast<int>(std::thread::hardware_concurrency()));
  }
  *made = std::move(companions);
  return Status::Ok();
}

DatabaseCompanions::Look DatabaseCompanions::LookAndAct(uint64_t now_ns, const FamilyReports& families,
                                                        const FlushReports& flushes) {
  Look look;
  const rocksdb::Options options = db_->GetOptions();
  if (throttle_) {
    WriteState state = StateOf(db_, options);
    families_.Add(families, &state);
    if (const auto rate = throttle_->Decide(state)) {
      look.rate_set = SetRate(*rate, options.delayed_write_rate);
      look.failed += !look.rate_set;
    }
  }
  if (level0_) {
    if (const auto shape = level0_->Decide(now_ns, TotalsOf(*statistics_), Level0Files(db_))) {
      look.shape_set = SetShape(*shape);
      look.failed += !look.shape_set;
    }
  }
  if (adoc_) {
    if (const auto flow = adoc_->Decide(now_ns, FlowOf(db_, options, flushes))) {
      look.flow_set = SetFlow(*flow, AdocSettingOf(options, options));
      look.failed += !look.flow_set;
    }
  }
  return look;
}

bool DatabaseCompanions::SetRate(uint64_t rate, uint64_t set_now) {
  // RocksDB leaves a value alone that the option has, even where the present rate is another.
  const uint64_t other = rate == set_now ? rate - 1 : rate;
  return Taken(db_->SetDBOptions({{"delayed_write_rate", fmt::to_string(other)}}), "delayed_write_rate", db_);
}

bool DatabaseCompanions::SetShape(const Level0Shape& shape) {
  const rocksdb::Status status =
      db_->SetOptions({{"write_buffer_size", fmt::to_string(shape.write_buffer_size)},
                       {"max_write_buffer_number", fmt::to_string(shape.max_write_buffer_number)},
                       {"arena_block_size", fmt::to_string(shape.arena_block_size)},
                       {"level0_file_num_compaction_trigger", fmt::to_string(shape.compaction_trigger)},
                       {"level0_slowdown_writes_trigger", fmt::to_string(shape.slowdown_trigger)},
                       {"level0_stop_writes_trigger", fmt::to_string(shape.stop_trigger)}});
  return Taken(status, "the shape of Level 0", db_);
}

bool DatabaseCompanions::SetFlow(const AdocSetting& flow, const AdocSetting& now) {
  bool taken = true;
  if (flow.max_background_jobs != now.max_background_jobs) {
    taken = Taken(db_->SetDBOptions({{"max_background_jobs", fmt::to_string(flow.max_background_jobs)}}),
                  "max_background_jobs", db_);
  }
  if (flow.write_buffer_size == now.write_buffer_size) return taken;
  const rocksdb::Status status =
      db_->SetOptions({{"write_buffer_size", fmt::to_string(flow.write_buffer_size)},
                       {"target_file_size_base", fmt::to_string(flow.target_file_size_base)},
                       {"max_bytes_for_level_base", fmt::to_string(flow.max_bytes_for_level_base)}});
  return Taken(status, "the size of memtables and files", db_) && taken;
}

void DatabaseCompanions::SetBack() {
  const rocksdb::Options options = db_->GetOptions();
  if (throttle_ && options.delayed_write_rate != opened_rate_) SetRate(opened_rate_, 0);
  if (level0_ && !(ShapeOf(options) == opened_shape_)) SetShape(opened_shape_);
  if (adoc_) SetFlow(opened_flow_, AdocSettingOf(options, options));
}

}  // namespace mezz
