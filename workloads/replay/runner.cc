// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/replay/caches/cache_factory.h"
#include "workloads/replay/caches/workload.h"
#include "workloads/replay/engine/window_order.h"
#include "workloads/replay/processes/cache_client.h"
#include "workloads/replay/processes/memory_group.h"
#include "workloads/replay/processes/shared_window.h"

namespace mezz {
namespace {

// What a worker may need beside its cache and the page cache, until it has told.
constexpr uint64_t kProcessBytes = 32 << 20;

// --warmup=settle: windows of a twentieth of the requests, at most twelve of them.
constexpr unsigned kSettleWindowsOfAll = 20;
constexpr unsigned kSettleWindowsMax = 12;

// One stretch of the workload, replayed on every cache before the next begins.
struct PlannedWindow {
  bool cold = false;  // warm-up: timed, but not in the rows
  uint64_t requests = 0;
  double seconds = 0;
};

Status TooFew(const ReplayOptions& o, uint64_t requests, size_t windows) {
  return Status::InvalidArgument(fmt::format(
      "{} requests are too few for {} windows and {} threads; use more --ops or fewer --repeats, --cold_windows",
      requests, windows, o.threads));
}

// Cuts `requests` into windows; --seconds has them of fixed time instead.
std::vector<PlannedWindow> Cut(bool cold, uint64_t requests, unsigned windows, double seconds) {
  std::vector<PlannedWindow> plan;
  for (unsigned i = 0; i < windows; ++i)
    plan.push_back({cold, requests * (i + 1) / windows - requests * i / windows, seconds});
  return plan;
}

// The windows of the warm-up; --warmup=settle may leave some of them out.
Status PlanWarmup(const ReplayOptions& o, uint64_t requests, std::vector<PlannedWindow>* plan) {
  if (o.warmup_settle) {
    *plan = Cut(true, requests * kSettleWindowsMax / kSettleWindowsOfAll, kSettleWindowsMax, o.seconds);
    return Status::Ok();
  }
  uint64_t warmup = o.warmup_ops;
  if (warmup == 0) warmup = static_cast<uint64_t>(static_cast<double>(requests) * o.warmup);
  if (o.seconds == 0 && warmup >= requests) {
    return Status::InvalidArgument(
        fmt::format("--warmup_ops={} leaves nothing to measure of {} requests", o.warmup_ops, requests));
  }
  const bool any = o.warmup > 0 || o.warmup_ops > 0;
  const unsigned windows = any ? std::max(o.cold_windows, 1u) : 0;
  const double seconds = o.seconds * o.repeats * o.warmup / (1 - o.warmup);
  *plan = Cut(true, warmup, windows, o.seconds > 0 ? seconds / std::max(windows, 1u) : 0);
  return Status::Ok();
}

Status CheckPlan(const ReplayOptions& o, uint64_t requests, const std::vector<PlannedWindow>& warmup) {
  if (o.seconds > 0) return Status::Ok();
  uint64_t left = requests;
  for (const PlannedWindow& window : warmup) {
    if (window.requests < o.threads) return TooFew(o, requests, warmup.size() + o.repeats);
    left -= window.requests;
  }
  return left / o.repeats < o.threads ? TooFew(o, requests, warmup.size() + o.repeats) : Status::Ok();
}

// A cache, and what was measured.
struct CacheUnderTest {
  std::unique_ptr<MemoryGroup> group;  // goes after its process
  CacheClient client;
  CacheSpec spec;
  WindowResult total;
  CacheRow row;
};

class Runner {
 public:
  Runner(const ReplayOptions& options, const WorkerLauncher& launcher, Progress* progress,
         const std::atomic<bool>& stop, ReplayReport* report)
      : options_(options), launcher_(launcher), progress_(progress), stop_(stop), report_(report) {}

  Status Run() {
    MEZZ_RETURN_IF_ERROR(options_.Validate());
    MEZZ_RETURN_IF_ERROR(Workload::Open(options_, progress_, &workload_));
    std::vector<PlannedWindow> warmup;
    MEZZ_RETURN_IF_ERROR(PlanWarmup(options_, workload_->requests(), &warmup));
    MEZZ_RETURN_IF_ERROR(CheckPlan(options_, workload_->requests(), warmup));
    MEZZ_RETURN_IF_ERROR(workload_->ClaimStore(&store_));
    MEZZ_RETURN_IF_ERROR(SharedWindow::Create(&window_));
    MEZZ_RETURN_IF_ERROR(BuildCaches());
    MEZZ_RETURN_IF_ERROR(store_->Load(progress_, stop_));
    if (!stopped()) MEZZ_RETURN_IF_ERROR(OpenStore());
    if (!contestants_.empty()) MEZZ_RETURN_IF_ERROR(RunWindows(warmup));
    MEZZ_RETURN_IF_ERROR(Summarize());
    progress_->End();
    return Status::Ok();
  }

 private:
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  // Whether warm-up may end early.
  bool Settled() const {
    return options_.warmup_settle && std::all_of(caches_.begin(), caches_.end(), [](const CacheUnderTest& cache) {
             return !cache.client.usable() || HitRatioSettled(cache.row.cold_windows);
           });
  }

  Status BuildCaches() {
    progress_->Phase(fmt::format("building {} caches", options_.caches.size()));
    unsigned scm_files = 0;
    for (size_t i = 0; i < options_.caches.size(); ++i) {
      const CacheSpec& spec = options_.caches[i];
      CacheUnderTest& cache =
          caches_.emplace_back(CacheUnderTest{nullptr, {spec.name, progress_, stop_}, spec, {}, {}});
      MEZZ_RETURN_IF_ERROR(Launch(cache, i));
      progress_->Phase(fmt::format("building {}", spec.name), /*announce=*/false);
      MEZZ_RETURN_IF_ERROR(cache.client.Build(scm_files));
      if (UsesScmFile(spec)) ++scm_files;
    }
    if (FirstUsable() != nullptr) return Status::Ok();
    const CacheClient& first = caches_.front().client;
    return Status::NotSupported(fmt::format("none of --caches is available: {}: {}", first.name(),
                                            first.failure().empty() ? first.facts().unavailable : first.failure()));
  }

  // What its tiers have; what else the process needs, memtables above all, the others have on top too.
  uint64_t GroupBytes(const CacheSpec& spec, uint64_t other_bytes) const {
    const ReplayOptions sized = options_.SizedFor(spec);
    return sized.dram_bytes() + sized.scm_bytes() + other_bytes;
  }

  Status Launch(CacheUnderTest& cache, size_t number) {
    WorkerOrder order{.number = number, .window_fd = window_->fd(), .group_fd = -1, .lock_fd = store_->lock_fd()};
    if (cache.spec.kind == CacheKind::kPageCache && options_.flash == nullptr) {
      const Status made = MemoryGroup::Create(GroupBytes(cache.spec, kProcessBytes), &cache.group);
      if (made.code() == Status::Code::kNotSupported) {
        cache.client.SetUnavailable(made.message());
        return Status::Ok();
      }
      MEZZ_RETURN_IF_ERROR(made);
      order.group_fd = cache.group->procs_fd();
    }
    const Status launched = cache.client.Launch(launcher_, order);
    if (launched.code() != Status::Code::kNotSupported) return launched;
    cache.client.SetUnavailable(launched.message());
    return Status::Ok();
  }

  Status OpenStore() {
    unsigned number = 0;
    for (CacheUnderTest& cache : caches_) {
      if (!cache.client.usable()) continue;
      progress_->Phase(fmt::format("opening {} for {}", options_.db_dir, cache.spec.name), /*announce=*/false);
      OpenCommand command;
      command.mean_block_bytes = store_->mean_block_bytes();
      command.may_be_missing = workload_->has_deletes();
      MEZZ_RETURN_IF_ERROR(store_->PathFor(number++, &command.path));
      MEZZ_RETURN_IF_ERROR(cache.client.Open(command));
      if (cache.client.usable()) contestants_.push_back(&cache);
    }
    return Status::Ok();
  }

  // Of those that can run: one that dies later leaves the order of the others as it is.
  std::vector<CacheUnderTest*> InOrder(size_t round) {
    std::vector<CacheUnderTest*> ordered;
    for (const size_t number : WindowOrder(contestants_.size(), options_.seed).Round(round))
      ordered.push_back(contestants_[number]);
    return ordered;
  }

  Status RunWindows(const std::vector<PlannedWindow>& warmup) {
    uint64_t used = 0;
    for (size_t i = 0; i < warmup.size() && !stopped() && !Settled(); ++i) {
      MEZZ_RETURN_IF_ERROR(RunOnEveryCache(warmup[i], i, warmup.size()));
      used += warmup[i].requests;
    }
    report_->warmup_settled = !options_.warmup_settle || Settled();
    const auto plan = Cut(false, workload_->requests() - used, options_.repeats, options_.seconds);
    for (size_t i = 0; i < plan.size() && !stopped(); ++i)
      MEZZ_RETURN_IF_ERROR(RunOnEveryCache(plan[i], i, plan.size()));
    return Status::Ok();
  }

  Status RunOnEveryCache(const PlannedWindow& window, size_t number, size_t windows) {
    if (options_.seconds == 0) {
      MEZZ_RETURN_IF_ERROR(workload_->NextWindow(window.requests));
      MEZZ_RETURN_IF_ERROR(window_->Write(workload_->window()));
    }
    const WindowCommand command{.cold = window.cold,
                                .seconds = window.seconds,
                                .requests = window.requests,
                                .first_time_us = workload_->window_first_time_us()};
    const std::string phase = fmt::format("{}window {} of {}", window.cold ? "warm-up " : "", number + 1, windows);
    progress_->Phase(phase);
    std::vector<std::pair<CacheUnderTest*, WindowResult>> results;
    for (CacheUnderTest* const cache : InOrder(number)) {
      if (stopped() || !cache->client.usable()) continue;
      progress_->Phase(fmt::format("{}: {}", phase, cache->spec.name), /*announce=*/false);
      WindowResult result;
      MEZZ_RETURN_IF_ERROR(cache->client.Run(command, &result));
      if (cache->group != nullptr) cache->group->SetLimit(GroupBytes(cache->spec, result.other_bytes));
      if (cache->client.usable()) results.emplace_back(cache, std::move(result));
    }
    if (!stopped()) Keep(window.cold, results);
    return Status::Ok();
  }

  void Keep(bool cold, const std::vector<std::pair<CacheUnderTest*, WindowResult>>& results) {
    if (!cold) {
      std::vector<std::string>& order = report_->window_order.emplace_back();
      for (const auto& [cache, result] : results) order.push_back(cache->spec.name);
    }
    for (const auto& [cache, result] : results) {
      if (!cold) cache->total.Add(result);
      (cold ? cache->row.cold_windows : cache->row.windows).push_back(Digest(result));
    }
  }

  const CacheUnderTest* FirstUsable() const {
    const auto first = std::find_if(caches_.begin(), caches_.end(), [](const auto& c) { return c.client.usable(); });
    return first == caches_.end() ? nullptr : &*first;
  }

  // Of all windows to the first cache that came to the end: to one cache throughout, whoever else did not.
  void SetRatios(const CacheUnderTest& first) {
    const auto divide = [](const std::vector<WindowRow>& base, std::vector<WindowRow>* windows) {
      for (size_t i = 0; i < windows->size() && i < base.size(); ++i) {
        const double ops_per_s = base[i].ops_per_s();
        (*windows)[i].ratio = ops_per_s > 0 ? (*windows)[i].ops_per_s() / ops_per_s : 0;
      }
    };
    for (CacheUnderTest& cache : caches_) {
      divide(first.row.cold_windows, &cache.row.cold_windows);
      divide(first.row.windows, &cache.row.windows);
    }
  }

  Status Summarize() {
    std::vector<CacheEnd> ends(caches_.size());
    for (size_t i = 0; i < caches_.size(); ++i) MEZZ_RETURN_IF_ERROR(caches_[i].client.Finish(&ends[i]));
    const auto first = std::ranges::find_if(contestants_, [](const CacheUnderTest* cache) {
      return cache->client.failure().empty();  // nor when it was asked for its end
    });
    if (first != contestants_.end()) SetRatios(**first);
    for (size_t i = 0; i < caches_.size(); ++i) {
      FillRow(caches_[i], ends[i]);
      report_->rows.push_back(caches_[i].row);
    }
    report_->complete = !stopped();
    report_->database_reused = store_->reused();
    report_->workload = workload_->Description();
    report_->requests = workload_->requests();
    report_->distinct_keys = workload_->distinct_keys();
    report_->database_bytes = store_->bytes();
    report_->mean_block_bytes = store_->mean_block_bytes();
    DescribeMedium();
    return Status::Ok();
  }

  static void FillRow(CacheUnderTest& cache, const CacheEnd& end) {
    CacheRow& row = cache.row;
    const CacheFacts& facts = cache.client.facts();
    row.cache = cache.spec.name;
    row.unavailable = facts.unavailable;
    row.failure = cache.client.failure();
    row.medium = facts.medium;
    row.emulated = facts.emulated;
    row.dram_shards = facts.dram_shards;
    row.dram_shards_usual = facts.dram_shards_usual;
    std::vector<double> rates;
    std::vector<double> ratios;
    for (const WindowRow& window : row.windows) {
      rates.push_back(window.ops_per_s());
      ratios.push_back(window.ratio);
    }
    row.ops_per_s = SpreadOf(rates);
    row.ratio = SpreadOf(ratios);
    row.noise = NoiseOf(rates);
    row.total = Digest(cache.total);
    row.latency_cdf = ReportedCdf(cache.total.latencies);
    row.second_tier_idle = facts.has_second_tier && !row.windows.empty() && cache.total.tiers.second_hits == 0;
    row.series = end.series;
    row.counters = end.counters;
    row.peak_rss_bytes = end.peak_rss_bytes;
    row.dram_tier_bytes = end.dram_tier_bytes;
    row.dram_beside_bytes = end.dram_beside_bytes;
    row.pages = end.pages;
  }

  void DescribeMedium() {
    report_->medium = "none";
    report_->emulated = false;
    for (const bool ours : {false, true}) {  // ours has the last word
      for (const CacheUnderTest& cache : caches_) {
        const CacheFacts& facts = cache.client.facts();
        if (!facts.unavailable.empty() || !facts.has_second_tier || facts.ours != ours) continue;
        report_->medium = facts.medium;
        report_->emulated = facts.emulated;
      }
    }
  }

  const ReplayOptions& options_;
  const WorkerLauncher& launcher_;
  Progress* progress_;
  const std::atomic<bool>& stop_;
  ReplayReport* report_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<BackingStore> store_;
  std::unique_ptr<SharedWindow> window_;
  std::vector<CacheUnderTest*> contestants_;  // of caches_, once they are all there
  std::vector<CacheUnderTest> caches_;        // after store_: the workers close what it gave them before it goes
};

}  // namespace

Status RunReplay(const ReplayOptions& options, const WorkerLauncher& launcher, Progress* progress,
                 const std::atomic<bool>& stop, ReplayReport* report) {
  return Runner(options, launcher, progress, stop, report).Run();
}

}  // namespace mezz
