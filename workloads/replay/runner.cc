// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "workloads/replay/cache_factory.h"
#include "workloads/replay/database.h"
#include "workloads/replay/window.h"
#include "workloads/replay/workload.h"

namespace mezz {
namespace {

// One stretch of the workload, replayed on every cache before the next begins.
struct PlannedWindow {
  bool cold = false;  // warm-up: timed, but not in the rows
  uint64_t requests = 0;
  double seconds = 0;
};

Status PlanWindows(const ReplayOptions& o, uint64_t requests, std::vector<PlannedWindow>* plan) {
  const unsigned cold = o.warmup > 0 ? std::max(o.cold_windows, 1u) : 0;
  if (o.seconds > 0) {
    const double warmup_seconds = o.seconds * o.repeats * o.warmup / (1 - o.warmup);
    for (unsigned i = 0; i < cold; ++i) plan->push_back({true, 0, warmup_seconds / cold});
    for (unsigned i = 0; i < o.repeats; ++i) plan->push_back({false, 0, o.seconds});
    return Status::Ok();
  }
  const auto warmup_requests = static_cast<uint64_t>(static_cast<double>(requests) * o.warmup);
  const auto cut = [&](bool is_cold, uint64_t total, unsigned windows) {
    for (unsigned i = 0; i < windows; ++i)
      plan->push_back({is_cold, total * (i + 1) / windows - total * i / windows, 0});
  };
  cut(true, warmup_requests, cold);
  cut(false, requests - warmup_requests, o.repeats);
  for (const PlannedWindow& window : *plan) {
    if (window.requests < o.threads) {
      return Status::InvalidArgument(fmt::format(
          "{} requests are too few for {} windows and {} threads; use more --ops or fewer --repeats, --cold_windows",
          requests, plan->size(), o.threads));
    }
  }
  return Status::Ok();
}

// From RocksDB's own table by level; what it does not name stays 0.
BackgroundWork BackgroundWorkOf(rocksdb::DB* db) {
  std::map<std::string, std::string> stats;
  db->GetMapProperty(rocksdb::DB::Properties::kCFStats, &stats);
  const auto number = [&](const char* name) { return std::strtod(stats[name].c_str(), nullptr); };
  BackgroundWork work;
  work.flushes = static_cast<uint64_t>(number("compaction.L0.CompCount"));
  work.compactions = static_cast<uint64_t>(number("compaction.Sum.CompCount")) - work.flushes;
  work.written_gb = number("compaction.Sum.WriteGB");
  return work;
}

// A cache, its clone of the database, and what was measured. The database is closed before the cache goes.
struct CacheUnderTest {
  BuiltCache built;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<std::unique_ptr<RequestFeed>> endless;  // --seconds: each cache walks the same streams at its own pace
  WindowResult total;
  Series series;
  CacheRow row;

  bool available() const { return built.unavailable.empty(); }
};

class Runner {
 public:
  Runner(const ReplayOptions& options, Progress* progress, const std::atomic<bool>& stop, ReplayReport* report)
      : options_(options), progress_(progress), stop_(stop), report_(report) {}

  Status Run() {
    MEZZ_RETURN_IF_ERROR(options_.Validate());
    MEZZ_RETURN_IF_ERROR(Workload::Open(options_, progress_, &workload_));
    std::vector<PlannedWindow> plan;
    MEZZ_RETURN_IF_ERROR(PlanWindows(options_, workload_->requests(), &plan));
    MEZZ_RETURN_IF_ERROR(Database::Claim(options_, *workload_, &database_));
    MEZZ_RETURN_IF_ERROR(BuildCaches());
    MEZZ_RETURN_IF_ERROR(database_->Load(*workload_, progress_, stop_));
    if (!stopped()) MEZZ_RETURN_IF_ERROR(OpenClones());
    for (size_t i = 0; i < plan.size() && !stopped(); ++i)
      MEZZ_RETURN_IF_ERROR(RunOnEveryCache(plan[i], i, plan.size()));
    Summarize();
    CloseClones();
    progress_->End();
    return Status::Ok();
  }

 private:
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  Status BuildCaches() {
    progress_->Phase(fmt::format("building {} caches", options_.caches.size()));
    unsigned scm_files = 0;
    for (const CacheSpec& spec : options_.caches) {
      CacheUnderTest& cache = caches_.emplace_back();
      MEZZ_RETURN_IF_ERROR(BuildCache(options_, spec, scm_files, progress_, &cache.built));
      if (UsesScmFile(spec)) ++scm_files;
    }
    const bool any = std::any_of(caches_.begin(), caches_.end(), [](const auto& cache) { return cache.available(); });
    return any ? Status::Ok()
               : Status::NotSupported(fmt::format("none of --caches is available: {} {}",
                                                  caches_.front().built.spec.name, caches_.front().built.unavailable));
  }

  Status OpenClones() {
    unsigned number = 0;
    for (CacheUnderTest& cache : caches_) {
      if (!cache.available()) continue;
      progress_->Phase(fmt::format("opening a database for {}", cache.built.spec.name), /*announce=*/false);
      MEZZ_RETURN_IF_ERROR(database_->OpenClone(number++, cache.built.cache, &cache.db));
      MEZZ_RETURN_IF_ERROR(SetBackgroundWork(cache, false));
      for (unsigned thread = 0; options_.seconds > 0 && thread < options_.threads; ++thread) {
        cache.endless.push_back(workload_->EndlessFeed(thread));
      }
    }
    return Status::Ok();
  }

  // One cache's flushes and compactions must not run in another's window.
  Status SetBackgroundWork(CacheUnderTest& cache, bool on) {
    const rocksdb::Status done = on ? cache.db->ContinueBackgroundWork() : cache.db->PauseBackgroundWork();
    if (done.ok()) return Status::Ok();
    return Status::IoError(fmt::format("cache {}: background work: {}", cache.built.spec.name, done.ToString()));
  }

  // The order rotates, so that no cache always follows the same one.
  Status RunOnEveryCache(const PlannedWindow& window, size_t number, size_t windows) {
    if (options_.seconds == 0) MEZZ_RETURN_IF_ERROR(workload_->NextWindow(window.requests));
    progress_->Phase(fmt::format("window {} of {}{}", number + 1, windows, window.cold ? " (warm-up)" : ""));
    std::vector<std::pair<CacheUnderTest*, WindowRow>> rows;
    for (size_t i = 0; i < caches_.size() && !stopped(); ++i) {
      CacheUnderTest& cache = caches_[(i + number) % caches_.size()];
      if (!cache.available()) continue;
      progress_->Phase(fmt::format("window {} of {}{}: {}", number + 1, windows, window.cold ? " (warm-up)" : "",
                                   cache.built.spec.name),
                       /*announce=*/false);
      WindowRow row;
      MEZZ_RETURN_IF_ERROR(RunOne(window, cache, &row));
      rows.emplace_back(&cache, row);
    }
    if (!stopped()) KeepRows(window.cold, rows);
    return Status::Ok();
  }

  Status RunOne(const PlannedWindow& window, CacheUnderTest& cache, WindowRow* row) {
    std::vector<std::unique_ptr<RequestFeed>> owned;
    std::vector<RequestFeed*> feeds;
    for (unsigned thread = 0; thread < options_.threads; ++thread) {
      if (options_.seconds == 0) owned.push_back(workload_->WindowFeed(thread));
      feeds.push_back(options_.seconds > 0 ? cache.endless[thread].get() : owned.back().get());
    }
    const WindowSettings settings{.threads = options_.threads,
                                  .seconds = window.seconds,
                                  .expected_ops = window.requests,
                                  .pacing = PacingOf(),
                                  .target = {.verify = options_.verify,
                                             .may_be_missing = workload_->has_deletes(),
                                             .put_value_bytes = options_.value_bytes,
                                             .mean_block_bytes = database_->mean_block_bytes()}};
    WindowResult result;
    MEZZ_RETURN_IF_ERROR(SetBackgroundWork(cache, true));
    MEZZ_RETURN_IF_ERROR(RunWindow(cache.db.get(), cache.built, settings, feeds, progress_, stop_,
                                   window.cold ? nullptr : &cache.series, &result));
    MEZZ_RETURN_IF_ERROR(SetBackgroundWork(cache, false));
    *row = Digest(result);
    if (!window.cold && !stopped()) cache.total.Add(result);
    return Status::Ok();
  }

  Pacing PacingOf() const {
    if (options_.rate > 0) return {.ns_per_tick = 1e9 / options_.rate};
    if (options_.timestamps > 0) {
      return {.ns_per_tick = 1e3 / options_.timestamps, .first_tick = workload_->window_first_time_us()};
    }
    return {};
  }

  void KeepRows(bool cold, std::vector<std::pair<CacheUnderTest*, WindowRow>>& rows) {
    const CacheUnderTest* first = FirstAvailable();
    double base = 0;
    for (const auto& [cache, row] : rows) {
      if (cache == first) base = row.ops_per_s;
    }
    for (auto& [cache, row] : rows) {
      row.ratio = base > 0 ? row.ops_per_s / base : 0;
      (cold ? cache->row.cold_windows : cache->row.windows).push_back(row);
    }
  }

  const CacheUnderTest* FirstAvailable() const {
    for (const CacheUnderTest& cache : caches_) {
      if (cache.available()) return &cache;
    }
    return nullptr;
  }

  void Summarize() {
    for (CacheUnderTest& cache : caches_) {
      CacheRow& row = cache.row;
      row.cache = cache.built.spec.name;
      row.unavailable = cache.built.unavailable;
      row.medium = cache.built.medium;
      row.emulated = cache.built.emulated;
      std::vector<double> rates;
      std::vector<double> ratios;
      for (const WindowRow& window : row.windows) {
        rates.push_back(window.ops_per_s);
        ratios.push_back(window.ratio);
      }
      row.ops_per_s = SpreadOf(rates);
      row.ratio = SpreadOf(ratios);
      row.total = Digest(cache.total);
      row.latency_cdf = ReportedCdf(cache.total.latencies);
      row.second_tier_idle =
          cache.built.second_tier != SecondTier::kNone && !row.windows.empty() && cache.total.tiers.second_hits == 0;
      row.series = cache.series.Points();
      if (cache.built.stats != nullptr) row.counters = cache.built.stats->Report();
      if (cache.db != nullptr) row.background = BackgroundWorkOf(cache.db.get());
      report_->rows.push_back(row);
    }
    report_->complete = !stopped();
    report_->database_reused = database_->reused();
    report_->workload = workload_->Description();
    report_->distinct_keys = workload_->distinct_keys();
    report_->database_bytes = database_->base_bytes();
    report_->mean_block_bytes = database_->mean_block_bytes();
    DescribeMedium();
  }

  void DescribeMedium() {
    report_->medium = "none";
    report_->emulated = false;
    for (const bool ours : {false, true}) {  // ours has the last word
      for (const CacheUnderTest& cache : caches_) {
        if (!cache.available() || cache.built.second_tier == SecondTier::kNone) continue;
        if (ours != (cache.built.stats != nullptr)) continue;
        report_->medium = cache.built.medium;
        report_->emulated = cache.built.emulated;
      }
    }
  }

  void CloseClones() {
    for (CacheUnderTest& cache : caches_) {
      if (cache.db == nullptr) continue;
      (void)cache.db->ContinueBackgroundWork();
      cache.db.reset();
    }
    caches_.clear();
  }

  const ReplayOptions& options_;
  Progress* progress_;
  const std::atomic<bool>& stop_;
  ReplayReport* report_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<Database> database_;
  std::vector<CacheUnderTest> caches_;  // after database_: the clones close before their folders go
};

}  // namespace

Status RunReplay(const ReplayOptions& options, Progress* progress, const std::atomic<bool>& stop,
                 ReplayReport* report) {
  return Runner(options, progress, stop, report).Run();
}

}  // namespace mezz
