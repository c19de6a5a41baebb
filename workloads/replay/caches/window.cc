// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/window.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>

#include "integration/read_back.h"
#include "workloads/replay/caches/block_target.h"
#include "workloads/replay/caches/database_target.h"
#include "workloads/replay/engine/replay_loop.h"

namespace mezz {
namespace {

constexpr uint64_t kProgressEveryNs = 150'000'000;

struct ProcessUsage {
  double cpu_seconds = 0;
  uint64_t context_switches = 0;

  static ProcessUsage Now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw)};
  }
};

// What the kernel has read from devices for a thread of this process, ahead of it too.
uint64_t DeviceBytesRead(pid_t thread) {
  constexpr char kField[] = "read_bytes:";
  std::ifstream io(fmt::format("/proc/self/task/{}/io", thread));
  for (std::string line; std::getline(io, line);) {
    if (line.starts_with(kField)) return std::strtoull(line.c_str() + sizeof(kField) - 1, nullptr, 10);
  }
  return 0;
}

template <typename Target>
struct ReplayThread {
  ReplayThread(std::unique_ptr<Target> its_target, bool counts_device)
      : counts_device_bytes(counts_device), target(std::move(its_target)) {}

  void Run(RequestFeed* feed, const Pacing& pacing, uint64_t start_ns, const LoopEnd& end) {
    if (counts_device_bytes) {
      device_bytes_before = DeviceBytesRead(gettid());
      thread.store(gettid(), std::memory_order_release);
    }
    ReplayLoop<ReplayClock, Target> loop(&clock, target.get(), &latencies);
    target->Begin();
    loop.Run(feed, pacing, start_ns, end);
    target->End();
    end_ns = loop.end_ns() - loop.fed_ns();
    fed_ns = loop.fed_ns();
  }

  // Since Run began; not those of compactions, which are other threads.
  uint64_t DeviceBytes() const {
    const pid_t its = thread.load(std::memory_order_acquire);
    return its == 0 ? 0 : DeviceBytesRead(its) - device_bytes_before;
  }

  const bool counts_device_bytes;
  std::atomic<pid_t> thread{0};  // 0 -> the thread's, once, after device_bytes_before is written: release, acquire
  uint64_t device_bytes_before = 0;
  ReplayClock clock;
  const std::unique_ptr<Target> target;
  LatencyHistogram latencies;
  uint64_t end_ns = 0;  // as if requests had cost nothing to draw
  uint64_t fed_ns = 0;
};

uint64_t Less(uint64_t all, uint64_t some) { return all - std::min(all, some); }
// The replay's threads count their own look-ups; a cache counts those of compactions, too.
uint64_t ByUsers(const CounterSnapshot& counts, Event all, Event by_compaction) {
  return Less(counts[all], counts[by_compaction]);
}

// The counters of a cache of ours at one moment.
struct OurCounts {
  CounterSnapshot events;
  DecisionSnapshot decisions;

  static OurCounts Of(const BuiltCache& cache) {
    return cache.stats == nullptr ? OurCounts{} : OurCounts{cache.stats->Counters(), cache.stats->Decisions()};
  }
};

template <typename Target>
class Window {
 public:
  Window(const TargetFactory<Target>& make_target, const BuiltCache& cache, const WindowSettings& settings,
         ThreadTeam* team)
      : cache_(cache), settings_(settings), team_(*team) {
    for (unsigned i = 0; i < team->size(); ++i)
      threads_.push_back(std::make_unique<ReplayThread<Target>>(make_target(), cache.buffered));
  }

  Status Run(const std::vector<RequestFeed*>& feeds, Progress* progress, const std::atomic<bool>& stop, Series* series,
             WindowResult* result) {
    const OurCounts ours = OurCounts::Of(cache_);
    base_ = Tiers();
    uint64_t deadline_ns = std::numeric_limits<uint64_t>::max();
    const ProcessUsage before = ProcessUsage::Now();
    start_ns_ = ReplayClock::NowNs();
    if (settings_.seconds > 0) deadline_ns = start_ns_ + static_cast<uint64_t>(settings_.seconds * 1e9);
    team_.Start([&](unsigned i) { threads_[i]->Run(feeds[i], settings_.pacing, start_ns_, {deadline_ns, stop}); });
    Watch(progress, series);
    const uint64_t ended_ns = ReplayClock::NowNs();
    MEZZ_RETURN_IF_ERROR(settings_.settle());
    result->settle_seconds = static_cast<double>(ReplayClock::NowNs() - ended_ns) * 1e-9;
    const ProcessUsage after = ProcessUsage::Now();
    MEZZ_RETURN_IF_ERROR(Sum(ours, result));
    if (settings_.settle_within) result->seconds += result->settle_seconds;
    result->context_switches = after.context_switches - before.context_switches;
    result->cpu_seconds = std::max(0.0, after.cpu_seconds - before.cpu_seconds - HarnessSeconds());
    if (series != nullptr) Sample(start_ns_ + static_cast<uint64_t>(result->seconds * 1e9), series);
    return Status::Ok();
  }

 private:
  // Until every replay thread has ended.
  void Watch(Progress* progress, Series* series) {
    sampled_ns_ = start_ns_;
    uint64_t sample_at = start_ns_ + MissingNs(series);
    for (;;) {
      const uint64_t now = ReplayClock::NowNs();
      const uint64_t wake = progress->wants_updates() ? std::min(sample_at, now + kProgressEveryNs) : sample_at;
      if (team_.WaitFor(std::chrono::nanoseconds(wake - std::min(wake, now)))) return;
      if (const uint64_t at = ReplayClock::NowNs(); at >= sample_at) {
        if (series != nullptr) Sample(at, series);
        sample_at = at + MissingNs(series);
      }
      ShowProgress(progress);
    }
  }

  static uint64_t MissingNs(const Series* series) {
    constexpr double kSecondNs = 1e9;
    return static_cast<uint64_t>(kSecondNs * (series == nullptr ? 1.0 : std::max(series->missing_seconds(), 0.01)));
  }

  void ShowProgress(Progress* progress) const {
    if (settings_.seconds > 0) {
      return progress->Update(ReplayClock::NowNs() - start_ns_, static_cast<uint64_t>(settings_.seconds * 1e9));
    }
    uint64_t done = 0;
    for (const auto& thread : threads_) done += thread->latencies.count();
    progress->Update(done, settings_.expected_ops);
  }

  void Sample(uint64_t now_ns, Series* series) {
    LatencyHistogram latencies;
    for (const auto& thread : threads_) latencies.Add(thread->latencies);
    const TierCounts tiers = Tiers() - base_;
    const LatencyHistogram since = latencies.Since(sampled_latencies_);
    series->Advance(static_cast<double>(now_ns - std::min(sampled_ns_, now_ns)) * 1e-9, since.count(),
                    tiers - sampled_tiers_, since);
    sampled_ns_ = now_ns;
    sampled_tiers_ = tiers;
    sampled_latencies_ = latencies;
  }

  // What the threads published, and what a cache of ours counts itself (since it was built).
  TierCounts Tiers() const {
    BlockCounts counts;
    for (const auto& thread : threads_) counts += thread->target->published().Read();
    const uint64_t mean_bytes = settings_.mean_block_bytes;
    const uint64_t block_bytes = cache_.second_tier == SecondTier::kStock ? counts.StoredBytes(mean_bytes) : mean_bytes;
    TierCounts tiers{.hits = counts.hits,
                     .flash_reads = counts.flash_reads,
                     .read_ahead = counts.read_ahead,
                     .flash_bytes = counts.flash_bytes};
    if (cache_.second_tier == SecondTier::kStock) {
      tiers.second_hits = counts.second_hits;
      tiers.scm_bytes_written = counts.second_inserts * block_bytes;
    } else if (cache_.second_tier == SecondTier::kWholeCache) {
      tiers.second_hits = counts.hits;
    }
    uint64_t read_blocks = tiers.second_hits, packed_hits = 0, packed_bytes = 0;
    if (cache_.stats != nullptr) {
      const CounterSnapshot ours = cache_.stats->Counters();
      read_blocks = ours[Event::kScmHit];
      tiers.second_hits = ByUsers(ours, Event::kScmHit, Event::kScmHitByCompaction);
      packed_hits = ours[Event::kScmPackedHit];
      packed_bytes = ours[Event::kScmPackedHitStored];
      tiers.scm_bytes_written = ours[Event::kScmWrittenBytes];
    }
    if (!cache_.buffered && cache_.stats != nullptr) {
      if (ReadBack* const reader = cache_.stats->read_back()) {
        tiers.flash_reads += reader->counts().reads;
        tiers.flash_bytes += reader->counts().bytes;
      }
    }
    if (cache_.buffered) {
      // What RocksDB reads from files comes from the page cache mostly; the kernel counts what comes from the device.
      tiers.flash_bytes = 0;
      for (const auto& thread : threads_) tiers.flash_bytes += thread->DeviceBytes();
      tiers.flash_reads = std::min(counts.flash_reads, tiers.flash_bytes / mean_bytes);
      tiers.hits += counts.flash_reads - tiers.flash_reads;
    }
    if (cache_.allocator != nullptr) tiers.scm_bytes_written = cache_.allocator->allocated_bytes();
    // Both are counted while others run: a hit may be in one of them only.
    tiers.scm_bytes_read = (read_blocks - std::min(packed_hits, read_blocks)) * block_bytes + packed_bytes;
    return tiers;
  }

  // Processor time that went into waiting and drawing.
  double HarnessSeconds() const {
    double seconds = 0;
    for (const auto& thread : threads_) seconds += static_cast<double>(thread->clock.spun_ns() + thread->fed_ns) * 1e-9;
    return seconds;
  }

  Status Sum(const OurCounts& before, WindowResult* result) {
    uint64_t end_ns = start_ns_;
    for (const auto& thread : threads_) {
      if (!thread->target->error().empty()) {
        return Status::IoError(fmt::format("cache {}: {}", cache_.spec.name, thread->target->error()));
      }
      end_ns = std::max(end_ns, thread->end_ns);
      result->latencies.Add(thread->latencies);
      thread->target->AddTo(result);
      if (cache_.second_tier == SecondTier::kStock)
        result->demotions += thread->target->published().Read().second_inserts;
    }
    result->scm_writes = result->demotions;
    result->ops = result->latencies.count();
    result->seconds = static_cast<double>(end_ns - start_ns_) * 1e-9;
    result->tiers = Tiers() - base_;
    result->second_hits_by_role |= cache_.second_tier != SecondTier::kStock;
    if (cache_.second_tier == SecondTier::kWholeCache) {
      for (RoleCounts& role : result->roles) role.second_hits = role.hits;
    }
    if (cache_.stats != nullptr) AddOurs(before, result);
    return Status::Ok();
  }

  void AddOurs(const OurCounts& before, WindowResult* result) const {
    const OurCounts now = OurCounts::Of(cache_);
    const CounterSnapshot events = now.events - before.events;
    const DecisionSnapshot decisions = now.decisions - before.decisions;
    const auto slot = [&](RoleSlot role) { return &result->roles[static_cast<size_t>(role)].second_hits; };
    const auto of_role = [&](BlockRole role) {
      return Less(events.of(Event::kScmHit, role), events.of(Event::kScmHitByCompaction, role));
    };
    *slot(RoleSlot::kIndex) = of_role(BlockRole::kIndex);
    *slot(RoleSlot::kFilter) = of_role(BlockRole::kFilter);
    *slot(RoleSlot::kData) = Less(ByUsers(events, Event::kScmHit, Event::kScmHitByCompaction),
                                  *slot(RoleSlot::kIndex) + *slot(RoleSlot::kFilter));
    result->demotions = events[Event::kDemotion];
    result->promotions = events[Event::kPromotion];
    result->scm_writes = events[Event::kScmPut] + events[Event::kScmSecondChance] + events[Event::kScmPackedAtReclaim];
    result->packed = {.hits = ByUsers(events, Event::kScmPackedHit, Event::kScmPackedHitByCompaction),
                      .writes = events[Event::kScmPackedPut],
                      .bytes = events[Event::kScmPackedPutBytes],
                      .stored = events[Event::kScmPackedPutStored]};
    result->clean_evictions = events[Event::kCleanEviction];
    for (size_t i = 0; i < kEvents; ++i) {
      const auto event = static_cast<Event>(i);
      if (ToString(event).starts_with("refused.") && event != Event::kRefusedPolicy && events[event] > 0)
        result->refusals[std::string(ToString(event).substr(8))] = events[event];
    }
    for (size_t i = 0; i < kReasons; ++i) {
      const auto reason = static_cast<Reason>(i);
      const uint64_t dropped = decisions.of(DecisionPoint::kDramEviction, Action::kDrop, reason);
      if (dropped > 0) result->refusals[fmt::format("policy.{}", ToString(reason))] = dropped;
    }
  }

  const BuiltCache& cache_;
  const WindowSettings& settings_;
  ThreadTeam& team_;
  std::vector<std::unique_ptr<ReplayThread<Target>>> threads_;
  uint64_t start_ns_ = 0;
  TierCounts base_;  // of the cache, before the window

  uint64_t sampled_ns_ = 0;  // the last sample, since the window began
  TierCounts sampled_tiers_;
  LatencyHistogram sampled_latencies_;
};

}  // namespace

template <typename Target>
Status RunWindow(const TargetFactory<Target>& make_target, const BuiltCache& cache, const WindowSettings& settings,
                 ThreadTeam* team, const std::vector<RequestFeed*>& feeds, Progress* progress,
                 const std::atomic<bool>& stop, Series* series, WindowResult* result) {
  return Window(make_target, cache, settings, team).Run(feeds, progress, stop, series, result);
}

template Status RunWindow(const TargetFactory<BlockTarget>&, const BuiltCache&, const WindowSettings&, ThreadTeam*,
                          const std::vector<RequestFeed*>&, Progress*, const std::atomic<bool>&, Series*,
                          WindowResult*);
template Status RunWindow(const TargetFactory<DatabaseTarget>&, const BuiltCache&, const WindowSettings&, ThreadTeam*,
                          const std::vector<RequestFeed*>&, Progress*, const std::atomic<bool>&, Series*,
                          WindowResult*);

}  // namespace mezz
