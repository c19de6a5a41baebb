// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/block_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "workloads/block_key.h"
#include "workloads/generators/generators.h"
#include "workloads/readers/cut_extents.h"
#include "workloads/readers/open_trace.h"
#include "workloads/replay/block_cache.h"
#include "workloads/replay/block_file.h"
#include "workloads/replay/cache_factory.h"
#include "workloads/replay/database.h"
#include "workloads/replay/report.h"
#include "workloads/sim/trace.h"

namespace mezz {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// The default seed leaves the keys as mezz_sim has them, so that policies sample the same blocks there and here.
constexpr uint64_t kPlainSeed = 1;
constexpr uint64_t kLookEvery = 4096;  // accesses between two looks at `stop` and the progress

Status LoadTrace(const ReplayOptions& o, Progress* progress, sim::LoadedTrace* trace) {
  progress->Phase(fmt::format("reading {}", o.trace));
  std::unique_ptr<RequestSource> source;
  if (o.is_generator()) {
    MEZZ_RETURN_IF_ERROR(
        MakeGenerator({.name = o.generator(), .keys = o.keys, .ops = o.ops, .skew = o.skew, .seed = o.seed}, &source));
  } else {
    MEZZ_RETURN_IF_ERROR(OpenTrace(o.trace, o.format, &source));
    source = CutExtents(std::move(source), o.unit_bytes);
  }
  return sim::LoadedTrace::Load(source.get(), {.unit_bytes = o.unit_bytes}, trace);
}

// What is counted outside of the replay loop.
struct Tally {
  uint64_t scm_writes = 0;
  uint64_t scm_bytes_written = 0;
  uint64_t promotions = 0;

  static Tally Of(const BuiltCache& cache, uint32_t unit_bytes) {
    if (cache.stats != nullptr) {
      const CounterSnapshot counters = cache.stats->Counters();
      return {counters[Event::kScmPut] + counters[Event::kScmSecondChance], counters[Event::kScmWrittenBytes],
              counters[Event::kPromotion]};
    }
    const uint64_t stock = rocksdb::get_perf_context()->compressed_sec_cache_insert_real_count;
    return {stock, stock * unit_bytes, 0};
  }
};

class BlockRunner {
 public:
  BlockRunner(const ReplayOptions& options, const sim::LoadedTrace& trace, const BlockFile& file, Progress* progress,
              const std::atomic<bool>& stop)
      : options_(options),
        trace_(trace),
        file_(file),
        progress_(progress),
        stop_(stop),
        accesses_(options.ops == 0 ? trace.accesses().size()
                                   : std::min<uint64_t>(options.ops, trace.accesses().size())),
        salt_(options.seed == kPlainSeed ? 0 : MixWord(options.seed)),
        buffer_(BlockFile::MakeBuffer(options.unit_bytes)) {}

  // *row is whole unless the run was stopped.
  Status Run(BuiltCache& built, BlockRow* row) {
    progress_->Phase(fmt::format("replaying {} accesses on {}", accesses_, built.spec.name));
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    BlockCache cache(built.cache);
    const auto warm = static_cast<uint64_t>(static_cast<double>(accesses_) * options_.warmup);
    Tally before{};
    auto started = Clock::now();
    for (uint64_t i = 0; i < accesses_; ++i) {
      if (i == warm) {
        before = Tally::Of(built, options_.unit_bytes);
        row->accesses = row->dram_hits = row->scm_hits = row->misses = 0;
        started = Clock::now();
      }
      if (i % kLookEvery == 0) {
        if (stop_.load(std::memory_order_relaxed)) return Status::Ok();
        progress_->Update(i, accesses_);
      }
      MEZZ_RETURN_IF_ERROR(Access(cache, trace_.accesses()[i], built, row));
    }
    row->seconds = std::chrono::duration<double>(Clock::now() - started).count();
    const Tally after = Tally::Of(built, options_.unit_bytes);
    row->scm_writes = after.scm_writes - before.scm_writes;
    row->scm_bytes_written = after.scm_bytes_written - before.scm_bytes_written;
    row->promotions = after.promotions - before.promotions;
    if (built.stats != nullptr) row->counters = built.stats->Report();
    return Status::Ok();
  }

 private:
  Status Access(BlockCache& cache, sim::BlockId block, const BuiltCache& built, BlockRow* row) {
    const BlockKey key = BlockKeyOf(trace_.key(block) ^ salt_);
    const BlockRole role = trace_.role(block);
    const uint64_t second_before = rocksdb::get_perf_context()->secondary_cache_hit_count;
    ++row->accesses;
    if (const BlockCache::Held held = cache.Lookup(key, role)) {
      const bool second = built.second_tier == SecondTier::kWholeCache ||
                          rocksdb::get_perf_context()->secondary_cache_hit_count != second_before;
      ++(second ? row->scm_hits : row->dram_hits);
      return Check(block, held, built);
    }
    ++row->misses;
    const std::span<const std::byte> bytes(buffer_.get(), options_.unit_bytes);
    MEZZ_RETURN_IF_ERROR(file_.Read(block, buffer_.get()));
    if (!BlockFile::Matches(block, bytes)) {
      return Status::IoError(fmt::format("block {} of the file is not what was written; remove the file", block));
    }
    const BlockCache::Held held = cache.Insert(key, role, bytes);
    return held ? Check(block, held, built) : Status::Ok();
  }

  Status Check(sim::BlockId block, const BlockCache::Held& held, const BuiltCache& built) const {
    if (held.bytes().size() == options_.unit_bytes && BlockFile::Matches(block, held.bytes())) return Status::Ok();
    return Status::IoError(
        fmt::format("cache {} handed out wrong bytes for block {}: it must not be used", built.spec.name, block));
  }

  const ReplayOptions& options_;
  const sim::LoadedTrace& trace_;
  const BlockFile& file_;
  Progress* const progress_;
  const std::atomic<bool>& stop_;
  const uint64_t accesses_;
  const uint64_t salt_;  // of the keys: other seeds place the same blocks otherwise
  const BlockFile::Buffer buffer_;
};

json RowToJson(const BlockRow& row) {
  json one = {{"cache", row.cache},
              {"available", row.unavailable.empty()},
              {"accesses", row.accesses},
              {"miss", row.per_access(row.misses)},
              {"dram_hit", row.per_access(row.dram_hits)},
              {"scm_hit", row.per_access(row.scm_hits)},
              {"scm_writes_per_access", row.per_access(row.scm_writes)},
              {"scm_bytes_written_per_access", row.per_access(row.scm_bytes_written)},
              {"promotions_per_access", row.per_access(row.promotions)},
              {"misses", row.misses},
              {"dram_hits", row.dram_hits},
              {"scm_hits", row.scm_hits},
              {"scm_writes", row.scm_writes},
              {"promotions", row.promotions},
              {"seconds", row.seconds},
              {"medium", row.medium},
              {"emulated", row.emulated}};
  if (!row.unavailable.empty()) one["reason"] = row.unavailable;
  if (!row.counters.empty()) one["counters"] = row.counters;
  return one;
}

}  // namespace

Status RunBlockReplay(const ReplayOptions& options, Progress* progress, const std::atomic<bool>& stop,
                      BlockReport* report) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  sim::LoadedTrace trace;
  MEZZ_RETURN_IF_ERROR(LoadTrace(options, progress, &trace));
  std::unique_ptr<BlockFile> file;
  MEZZ_RETURN_IF_ERROR(BlockFile::Open(options.db_dir, options.unit_bytes, trace.unique(), progress, stop, &file));
  report->workload = trace.name();
  report->accesses = trace.accesses().size();
  report->unique = trace.unique();
  BlockRunner runner(options, trace, *file, progress, stop);
  for (const CacheSpec& spec : options.caches) {
    if (stop.load(std::memory_order_relaxed)) break;
    BuiltCache built;  // gone, with its file, before the next
    MEZZ_RETURN_IF_ERROR(BuildCache(options, spec, /*ordinal=*/0, progress, &built));
    BlockRow row;
    row.cache = spec.name;
    row.unavailable = built.unavailable;
    row.medium = built.medium;
    row.emulated = built.emulated;
    if (built.unavailable.empty()) MEZZ_RETURN_IF_ERROR(runner.Run(built, &row));
    if (!stop.load(std::memory_order_relaxed)) report->rows.push_back(std::move(row));
  }
  report->complete = !stop.load(std::memory_order_relaxed);
  progress->End();
  return Status::Ok();
}

std::string BlockTable(const ReplayOptions& options, const BlockReport& report) {
  std::string text = fmt::format(
      "{}: {} accesses, {} blocks of {} bytes\nRocksDB {}, 1 thread, {} bytes DRAM, {} bytes SCM, {:.0f} % warm-up\n\n",
      report.workload, report.accesses, report.unique, options.unit_bytes, RocksDbVersion(), options.dram_bytes(),
      options.scm_bytes(), 100 * options.warmup);
  text += fmt::format("{:<24} {:>9} {:>9} {:>9} {:>11} {:>11} {:>11}\n", "cache", "DRAM hit", "2nd hit", "miss",
                      "SCM writes", "promotions", "accesses/s");
  for (const BlockRow& row : report.rows) {
    if (!row.unavailable.empty()) {
      text += fmt::format("{:<24} not available: {}\n", row.cache, row.unavailable);
      continue;
    }
    text += fmt::format("{:<24} {:>9.4f} {:>9.4f} {:>9.4f} {:>11.4f} {:>11.4f} {:>11.0f}\n", row.cache,
                        row.per_access(row.dram_hits), row.per_access(row.scm_hits), row.per_access(row.misses),
                        row.per_access(row.scm_writes), row.per_access(row.promotions),
                        row.seconds > 0 ? static_cast<double>(row.accesses) / row.seconds : 0);
  }
  if (!report.complete) text += "\ninterrupted: only finished caches are in the table\n";
  return text;
}

json BlockJson(const ReplayOptions& options, const BlockReport& report) {
  json manifest = RunManifest(options);
  json rows = json::array();
  for (const BlockRow& row : report.rows) rows.push_back(RowToJson(row));
  manifest["mode"] = "block";
  manifest["complete"] = report.complete;
  manifest["workload"] = report.workload;
  manifest["accesses"] = report.accesses;
  manifest["unique"] = report.unique;
  manifest["rows"] = std::move(rows);
  return manifest;
}

std::string BlockCsv(const BlockReport& report) {
  std::string text = "cache,accesses,dram_hit,scm_hit,miss,scm_writes_per_access,promotions_per_access,seconds\n";
  for (const BlockRow& row : report.rows) {
    if (!row.unavailable.empty()) continue;
    text += fmt::format("{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.3f}\n", row.cache, row.accesses,
                        row.per_access(row.dram_hits), row.per_access(row.scm_hits), row.per_access(row.misses),
                        row.per_access(row.scm_writes), row.per_access(row.promotions), row.seconds);
  }
  return text;
}

}  // namespace mezz
