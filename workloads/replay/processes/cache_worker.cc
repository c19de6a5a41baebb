// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/cache_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "admission/curves/block_key.h"
#include "integration/file_id.h"
#include "integration/lineage_recorder.h"
#include "workloads/replay/caches/block_target.h"
#include "workloads/replay/caches/cache_factory.h"
#include "workloads/replay/caches/database_target.h"
#include "workloads/replay/caches/flash_file_system.h"
#include "workloads/replay/caches/open_databases.h"
#include "workloads/replay/caches/window.h"
#include "workloads/replay/caches/workload.h"
#include "workloads/replay/processes/messages.h"

namespace mezz {
namespace {

using nlohmann::json;

// --mode=block: the default seed leaves the keys as mezz_sim has them, so that policies sample the same blocks there
// and here.
constexpr uint64_t kPlainSeed = 1;

// From RocksDB's own table by level, since the databases were opened: what comes to Level 0 a flush has written. Its
// sums over levels are rounded apart from them, so that a difference may be less than nothing.
BackgroundCounts BackgroundOf(const Databases& dbs) {
  constexpr double kGiB = 1 << 30;
  BackgroundCounts work;
  for (const auto& db : dbs.all()) {
    std::map<std::string, std::string> stats;
    db->GetMapProperty(rocksdb::DB::Properties::kCFStats, &stats);
    for (int level = 0; level < db->NumberLevels(); ++level) {
      const auto number = [&](const char* what) {
        return std::strtod(stats[fmt::format("compaction.L{}.{}", level, what)].c_str(), nullptr);
      };
      const auto written = static_cast<uint64_t>(number("WriteGB") * kGiB);
      const auto jobs = static_cast<uint64_t>(number("CompCount"));
      (level == 0 ? work.flushes : work.compactions) += jobs;
      (level == 0 ? work.flushed_bytes : work.compacted_bytes) += written;
      if (level > 0) work.compaction_ms += static_cast<uint64_t>(number("CompSec") * 1e3);
      work.compacted_read_bytes += static_cast<uint64_t>(number("ReadGB") * kGiB);
    }
  }
  return work;
}

// The share of the SCM tier of a cache of ours that records take, as stored, of blocks whose files the databases have
// no more; kUnknownShare where there is no such tier, or no database.
double DeadShare(const HybridStats* stats, const Databases& dbs) {
  if (stats == nullptr || dbs.all().empty()) return kUnknownShare;
  std::set<FileId> live;
  for (const auto& db : dbs.all()) {
    rocksdb::TablePropertiesCollection tables;
    if (!db->GetPropertiesOfAllTables(&tables).ok()) return kUnknownShare;
    for (const auto& [path, table] : tables) live.insert(FileIdOf(*table));
  }
  const uint64_t dead_bytes = stats->scm().figures().RecordBytesOf([&](FileId file) { return !live.contains(file); });
  return static_cast<double>(dead_bytes) / static_cast<double>(stats->scm().figures().capacity_bytes());
}

// A figure of this process; 0 if the kernel does not tell.
uint64_t StatusBytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size(), nullptr, 10) * 1024;
  }
  return 0;
}

class SpanFeed final : public RequestFeed {
 public:
  explicit SpanFeed(std::span<const Request> requests) : requests_(requests) {}
  std::span<const Request> Next() override { return std::exchange(requests_, {}); }

 private:
  std::span<const Request> requests_;
};

class CacheWorker {
 public:
  CacheWorker(const ReplayOptions& options, const CacheSpec& spec, Channel* channel, SharedWindow* window,
              const std::atomic<bool>& stop)
      : options_(options),
        spec_(spec),
        channel_(channel),
        window_(window),
        stop_(stop),
        progress_([channel](uint64_t done, uint64_t total) {
          (void)channel->Send({{"progress", json::array({done, total})}});  // who has gone needs none
        }) {}
  ~CacheWorker() { CloseDatabases(); }

  // True when there is no more to do.
  bool Answer(const json& command) {
    const std::string what = command.value("do", "");
    json answer = json::object();
    const Status status = what == "build"    ? Build(command, &answer)
                          : what == "open"   ? Open(OpenCommandOf(command))
                          : what == "window" ? Run(WindowCommandOf(command), &answer)
                          : what == "finish" ? Finish(&answer)
                                             : Status::InvalidArgument(fmt::format("unknown command \"{}\"", what));
    if (!status.ok()) answer = {{"error", status.message()}};
    return !channel_->Send(answer).ok() || what == "finish";
  }

 private:
  Status Build(const json& command, json* answer) {
    MEZZ_RETURN_IF_ERROR(BuildCache(options_, spec_, command.value("ordinal", 0u), &progress_, &built_));
    *answer = ToJson(CacheFacts{.unavailable = built_.unavailable,
                                .medium = built_.medium,
                                .emulated = built_.emulated,
                                .has_second_tier = built_.second_tier != SecondTier::kNone,
                                .ours = built_.stats != nullptr,
                                .dram_shards = built_.dram_shards(),
                                .dram_shards_usual = built_.dram_shards_usual,
                                .files = built_.files_to_remove()});
    return Status::Ok();
  }

  Status Open(const OpenCommand& command) {
    team_ = std::make_unique<ThreadTeam>(options_.threads);
    mean_block_bytes_ = command.mean_block_bytes;
    MEZZ_RETURN_IF_ERROR(Values::Open(options_.value_options(), &values_));
    if (options_.flash != nullptr) {
      flash_ = std::make_unique<Flash>(*options_.flash, options_.seed);
      env_ = NewFlashEnv(flash_.get());
    }
    if (options_.mode == ReplayMode::kBlock) {
      block_target_ = {.verify = options_.verify,
                       .salt = options_.seed == kPlainSeed ? 0 : MixWord(options_.seed),
                       .mean_block_bytes = command.mean_block_bytes};
      return BlockFile::OpenToRead(command.path, values_, built_.buffered, flash_.get(), &file_);
    }
    target_ = {.verify = options_.verify,
               .may_be_missing = command.may_be_missing,
               .put_value_bytes = options_.value_bytes,
               .values = values_,
               .mean_block_bytes = command.mean_block_bytes};
    std::shared_ptr<rocksdb::Cache> cache = built_.cache;
    std::vector<std::shared_ptr<rocksdb::EventListener>> listeners;
    if (built_.listener != nullptr) listeners.push_back(built_.listener);
    if (!options_.lineage_trace.empty()) {
      MEZZ_RETURN_IF_ERROR(LineageRecorder::Open({.path = options_.lineage_trace}, cache, &recorder_));
      cache = recorder_->cache();
      listeners.push_back(recorder_->listener());
    }
    MEZZ_RETURN_IF_ERROR(OpenClone(options_, command.path, cache,
                                   {.buffered = built_.buffered, .env = env_.get(), .warming = spec_.warming}, &dbs_,
                                   listeners));
    if (!options_.block_trace.empty()) MEZZ_RETURN_IF_ERROR(StartBlockTrace(options_.block_trace, dbs_));
    MEZZ_RETURN_IF_ERROR(SetBackgroundWork(false));
    if (options_.seconds == 0) return Status::Ok();
    for (unsigned thread = 0; thread < options_.threads; ++thread)
      endless_.push_back(Workload::EndlessFeed(options_, thread));
    return Status::Ok();
  }

  Status Run(const WindowCommand& command, json* answer) {
    std::vector<std::unique_ptr<RequestFeed>> owned;
    std::vector<RequestFeed*> feeds;
    if (options_.seconds == 0) MEZZ_RETURN_IF_ERROR(window_->Map());
    for (unsigned thread = 0; thread < options_.threads; ++thread) {
      if (options_.seconds == 0) owned.push_back(std::make_unique<SpanFeed>(window_->of_thread(thread)));
      feeds.push_back(options_.seconds > 0 ? endless_[thread].get() : owned.back().get());
      feeds.back()->BeginWindow();
    }
    const WindowSettings settings{.seconds = command.seconds,
                                  .expected_ops = command.requests,
                                  .pacing = PacingOf(command),
                                  .mean_block_bytes = mean_block_bytes_,
                                  .settle_within = options_.settle_within,
                                  .settle = [this] { return Settle(); }};
    WindowResult result;
    const BackgroundCounts background_before = BackgroundOf(dbs_);
    const FlashCounts flash_before = flash_ == nullptr ? FlashCounts{} : flash_->Counts();
    const auto replay = [&](const auto& make_target) {
      return RunWindow(make_target, built_, settings, team_.get(), feeds, &progress_, stop_,
                       command.cold ? nullptr : &series_, &result);
    };
    UseHugePages();  // each time: a heap grows
    MEZZ_RETURN_IF_ERROR(SetBackgroundWork(true));
    const TargetFactory<BlockTarget> on_file = [&] {
      return std::make_unique<BlockTarget>(file_.get(), built_, block_target_);
    };
    const TargetFactory<DatabaseTarget> on_databases = [&] {
      return std::make_unique<DatabaseTarget>(dbs_, built_, target_);
    };
    MEZZ_RETURN_IF_ERROR(file_ != nullptr ? replay(on_file) : replay(on_databases));
    window_->Unmap();
    const uint64_t anonymous = StatusBytes("RssAnon:");
    if (flash_ != nullptr) result.flash = flash_->Counts() - flash_before;
    result.other_bytes = anonymous - std::min<uint64_t>(anonymous, built_.cache->GetUsage());
    result.background = BackgroundOf(dbs_) - background_before;
    result.scm_dead_share = DeadShare(built_.stats, dbs_);
    *answer = ToJson(result);
    return Status::Ok();
  }

  Status Finish(json* answer) {
    CacheEnd end;
    end.series = series_.Points();
    if (built_.stats != nullptr) {
      end.counters = built_.stats->Report();
      end.dram_beside_bytes = built_.stats->Dram().total();
    }
    if (built_.allocator != nullptr) end.counters = built_.allocator->Report();
    if (built_.cache != nullptr && built_.second_tier != SecondTier::kWholeCache)
      end.dram_tier_bytes = built_.cache->GetCapacity();
    end.peak_rss_bytes = StatusBytes("VmHWM:");
    end.pages = PageCounts::Now();
    team_.reset();
    if (!options_.block_trace.empty()) MEZZ_RETURN_IF_ERROR(EndBlockTrace(options_.block_trace, dbs_));
    CloseDatabases();
    if (recorder_ != nullptr) MEZZ_RETURN_IF_ERROR(recorder_->Finish());
    recorder_.reset();
    built_ = {};
    *answer = ToJson(end);
    return Status::Ok();
  }

  // Warm-up is a closed loop: it is to end soon.
  Pacing PacingOf(const WindowCommand& command) const {
    if (command.cold) return {};
    if (options_.rate > 0) return {.ns_per_tick = 1e9 / options_.rate};
    if (options_.timestamps > 0) {
      return {.ns_per_tick = 1e3 / options_.timestamps, .first_tick = command.first_time_us};
    }
    return {};
  }

  // One cache's flushes and compactions must not run in another's window.
  Status SetBackgroundWork(bool on) {
    for (const auto& db : dbs_.all()) {
      const rocksdb::Status done = on ? db->ContinueBackgroundWork() : db->PauseBackgroundWork();
      if (!done.ok()) {
        return Status::IoError(fmt::format("cache {}: background work: {}", spec_.name, done.ToString()));
      }
    }
    return Status::Ok();
  }

  // Until all that is due is done, or --settle=after: what runs now.
  Status Settle() {
    for (const auto& db : dbs_.all()) {
      if (options_.settle_within) AwaitBackgroundWork(db.get(), stop_);
    }
    return SetBackgroundWork(false);
  }

  void CloseDatabases() {
    for (const auto& db : dbs_.all()) (void)db->ContinueBackgroundWork();
    dbs_.Close();
  }

  const ReplayOptions& options_;
  const CacheSpec& spec_;
  Channel* const channel_;
  SharedWindow* const window_;
  const std::atomic<bool>& stop_;
  Progress progress_;
  uint64_t mean_block_bytes_ = 0;
  Values values_;
  TargetSettings target_;
  BlockTargetSettings block_target_;
  BuiltCache built_;
  std::unique_ptr<Flash> flash_;                       // under --flash
  std::unique_ptr<rocksdb::Env> env_;                  // under --flash, of the databases
  std::unique_ptr<BlockFile> file_;                    // --mode=block, else:
  std::unique_ptr<LineageRecorder> recorder_;          // under --lineage_trace
  Databases dbs_;                                      // closed before the cache goes
  std::vector<std::unique_ptr<RequestFeed>> endless_;  // --seconds: each cache walks the same streams at its own pace
  std::unique_ptr<ThreadTeam> team_;                   // from Open on
  Series series_;
};

}  // namespace

Status ServeCache(const ReplayOptions& options, size_t number, Channel* channel, SharedWindow* window,
                  const std::atomic<bool>& stop) {
  CacheWorker worker(options, options.caches[number], channel, window, stop);
  json command;
  do {
    MEZZ_RETURN_IF_ERROR(channel->Receive(&command));
  } while (!worker.Answer(command));
  return Status::Ok();
}

}  // namespace mezz
