// SPDX-License-Identifier: Apache-2.0
#include "integration/made_cache.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/steady_clock.h"
#include "cache/base/text.h"
#include "fmt/format.h"
#include "integration/operator_io.h"
#include "integration/option_table.h"
#include "integration/reporter.h"
#include "integration/tell.h"

namespace mezz {
namespace {

using std::chrono::milliseconds;

// So many caches without a tier are told one by one, as they become more than ever; then each time they have doubled.
constexpr size_t kToldSinglyMax = 32;
constexpr size_t kNamedMax = 8;  // in a report

std::string SecondsText(milliseconds time) { return fmt::format("{} s", static_cast<double>(time.count()) / 1000); }

// All that the report says of a cache that has another's tier.
std::string ShareText(const HybridStats& stats, const std::string& share) {
  std::string text;
  for (const DatabaseFigures& it : stats.SharedBy()) {
    if (it.name == share) text += ToText(it);
  }
  return text;
}

std::string Caches(size_t count) { return count == 1 ? "1 cache" : fmt::format("{} caches", count); }

// Never destroyed: caches may outlive our statics.
struct Registry {
  std::mutex mutex;
  std::unordered_map<const rocksdb::Cache*, MadeCache*> made;  // GUARDED_BY(mutex), as all here
  size_t most_without = 0;
  std::weak_ptr<rocksdb::Cache> shared;  // with share=*: the hybrid cache whose tier the others share

  static Registry& Get() {
    static auto* const registry = new Registry;
    return *registry;
  }
  size_t WithoutLocked() const {
    return static_cast<size_t>(std::ranges::count_if(made, [](const auto& entry) { return entry.second->without(); }));
  }
  // That `cache` goes without, if they are more than ever: so that a program of many caches knows how many. Empty if
  // another sentence tells it.
  std::string LineLocked(const MadeCache& cache) {
    const size_t without = WithoutLocked();
    if (without <= most_without) return "";
    most_without = without;
    const void* const holder = TierRight::Get().holder();
    if (holder == &cache || (without > kToldSinglyMax && !std::has_single_bit(without))) return "";
    if (holder == nullptr) {
      return fmt::format("MEZZANINE_CACHE: the {} waits for the SCM tier, too; {} without now",
                         cache.DescriptionLocked(), Caches(without));
    }
    const auto has = std::ranges::find_if(made, [&](const auto& entry) { return entry.second == holder; });
    return fmt::format(
        "MEZZANINE_CACHE: another cache of this process has the SCM tier, {}, so the {} goes without until that one "
        "has gone; {} without now",
        has == made.end() ? "one that closes" : "the " + has->second->DescriptionLocked(), cache.DescriptionLocked(),
        Caches(without));
  }
};

}  // namespace

void MadeCache::ProgramsWarming::Raised(Warming chosen) {
  int known = asked_.load(std::memory_order_relaxed);
  while (known < static_cast<int>(chosen) &&
         !asked_.compare_exchange_weak(known, static_cast<int>(chosen), std::memory_order_relaxed)) {
  }
}

bool MadeCache::ProgramsWarming::AskedFor(rocksdb::Cache::Priority priority, bool blob) const {
  const int asked = asked_.load(std::memory_order_relaxed);
  if (asked == kAsAsked) return true;
  if (priority == rocksdb::Cache::Priority::BOTTOM)
    return blob || !kWarmsWithCompactions || asked >= static_cast<int>(kBestWarming);
  return asked >= static_cast<int>(Warming::kFlushOnly);
}

void MadeCache::Enter() {
  Registry& registry = Registry::Get();
  const std::lock_guard lock(registry.mutex);
  registry.made[&rocksdb_cache()] = this;
}

void MadeCache::Leave() {
  {
    Registry& registry = Registry::Get();
    const std::lock_guard lock(registry.mutex);
    registry.made.erase(&rocksdb_cache());
  }
  ReportAtEnd(this, "the cache");
}

void MadeCache::UsedBy(const std::string& database) {
  const std::lock_guard lock(Registry::Get().mutex);
  if (database_.empty()) database_ = database;
  databases_ |= database_ != database;
}

std::string MadeCache::DescriptionLocked() const {
  return fmt::format("{} of {}{}{}", kind_, HumanBytes(rocksdb_cache().GetCapacity()),
                     database_.empty() ? "" : " of " + database_, databases_ ? " and others" : "");
}

// With share=* one thread at a time asks for a cache: what is shared is asked for without the right.
void MadeCache::AskForTier() {
  const bool may_share = wanted_.share == kEachDatabase;
  if (may_share && asks_.exchange(true, std::memory_order_acquire)) return;
  if (!may_share || !Join()) AskForRight();
  if (may_share) asks_.store(false, std::memory_order_release);
}

void MadeCache::AskForRight() {
  TierRight& right = TierRight::Get();
  if (right.MayAsk(this) && right.Take(this)) {
    if (WantsTier()) Open(state() == State::kNew);
    if (state() != State::kHas) right.Free(this);
    return;
  }
  const void* const holder = right.holder();
  if (state() != State::kNew || holder == this) return;  // a thread of ours asks
  GoWithout(State::kWithout, holder == nullptr ? "others have its medium, which is asked for again"
                                               : "another cache of this process has it");
}

// Shares the tier that another cache has, if it can. False: there is none. Called by one thread at a time.
bool MadeCache::Join() {
  std::shared_ptr<rocksdb::Cache> main;
  Registry& registry = Registry::Get();
  {
    const std::lock_guard lock(registry.mutex);
    main = registry.shared.lock();
  }
  if (main == nullptr || HasSecondary()) return false;
  if (!WantsTier() || SteadyNs() < join_at_ns_) return true;
  std::string name;
  const Status joined = NoThrow([&] { return JoinAs(main, &name); });
  if (joined.ok()) {
    HasJoined(name);
  } else if (joined.code() == Status::Code::kNoSpace || joined.code() == Status::Code::kBusy) {
    join_at_ns_ = SteadyNs() + TierRight::kPauseMaxNs;  // others may leave
    HasNoShare(State::kWithout, InKeys(joined.message()));
  } else {
    HasNoShare(State::kNever, InKeys(joined.message()));
  }
  return true;
}

// Under the path of its database; other caches of that path, and those of none, have numbers.
Status MadeCache::JoinAs(const std::shared_ptr<rocksdb::Cache>& main, std::string* name) {
  std::string database;
  {
    const std::lock_guard lock(Registry::Get().mutex);
    database = database_;
  }
  Status joined = Status::Busy("");
  for (unsigned number = database.empty() ? 1 : 0; number < kSharesMax && joined.code() == Status::Code::kBusy;
       ++number) {
    *name = number == 0 ? database : fmt::format("{}#{}", database.empty() ? "cache" : database, number);
    joined = JoinTier(main, *name, wanted_.share_limits);
  }
  return joined;
}

void MadeCache::HasNoShare(State to, const std::string& why) {
  (void)IfThereIsMemory([&] {
    std::unique_lock lock(Registry::Get().mutex);
    const bool told = std::exchange(why_, why) == why;
    const std::string line =
        fmt::format("MEZZANINE_CACHE: the {} goes without a share of the SCM tier: {}", DescriptionLocked(), why);
    lock.unlock();
    if (!told) Tell(line);
  });
  state_.store(to, std::memory_order_relaxed);
}

void MadeCache::HasJoined(const std::string& name) {
  state_.store(State::kHas, std::memory_order_relaxed);
  (void)IfThereIsMemory([&] {
    std::unique_lock lock(Registry::Get().mutex);
    share_ = name;
    const bool keep = !std::exchange(kept_, true);
    lock.unlock();
    Tell(fmt::format("MEZZANINE_CACHE: the {} of {} shares the SCM tier as {}", kind_,
                     HumanBytes(rocksdb_cache().GetCapacity()), name));
    if (keep) KeepReported(this, [this] { return Report(); });
  });
}

void MadeCache::Open(bool first) {
  if (HasSecondary()) {
    Tell(fmt::format("MEZZANINE_CACHE: this {} has a secondary cache already, so it is left as it is", kind_));
    state_.store(State::kNever, std::memory_order_relaxed);
    return;
  }
  HybridCacheOptions options = wanted_;
  options.scm.on_prefault = PrefaultLine();
  if (const Status status = NoThrow([&] { return OpenTier(options); }); !status.ok()) return Refused(status, first);
  const bool waited = state() == State::kWithout;
  state_.store(State::kHas, std::memory_order_relaxed);
  const milliseconds outside = TierRight::Get().EndWait();
  (void)IfThereIsMemory([&] {
    Registry& registry = Registry::Get();
    std::unique_lock lock(registry.mutex);
    if (wanted_.share == kEachDatabase) registry.shared = SharedTier();
    const size_t without = registry.WithoutLocked();
    const std::string line = fmt::format(
        "MEZZANINE_CACHE: the {} has the SCM tier now{}{}", DescriptionLocked(),
        outside.count() == 0 ? "" : fmt::format(", after {}", SecondsText(outside)),
        without == 0 ? ""
                     : fmt::format("; {} of this process {} without", Caches(without), without == 1 ? "goes" : "go"));
    const bool keep = !std::exchange(kept_, true);
    lock.unlock();
    if (waited) Tell(line);
    if (keep) KeepReported(this, [this] { return Report(); });
  });
}

// The medium, or its memory, may be another process's that is about to end. All else stays as it is.
void MadeCache::Refused(const Status& status, bool first) {
  const std::string why = InKeys(status.message());
  const bool may_come = status.code() == Status::Code::kBusy || status.code() == Status::Code::kNoSpace;
  if (may_come && TierRight::Get().Postpone(first, wait_)) {
    if (first) {
      Tell(
          fmt::format("MEZZANINE_CACHE: {}; the program goes on with its own cache, and asks again for {} "
                      "(MEZZANINE_WAIT)",
                      why, SecondsText(wait_)));
      GoWithout(State::kWithout, why);
    }
    return;
  }
  GoWithout(State::kNever, why);
  fail_(may_come && !first ? fmt::format("asked for {}, and {}", SecondsText(wait_), why) : why);
}

void MadeCache::GoWithout(State to, const std::string& why) {
  State from = State::kNew;
  if (to == State::kNever) {
    state_.store(to, std::memory_order_relaxed);  // by the holder of the right, so that nobody gives it the tier
  } else if (!state_.compare_exchange_strong(from, to, std::memory_order_relaxed)) {
    return;
  }
  (void)IfThereIsMemory([&] {
    Registry& registry = Registry::Get();
    std::unique_lock lock(registry.mutex);
    why_ = why;
    const std::string line = registry.LineLocked(*this);
    // Else the report of the cache that has the tier names it; and there may be thousands that live shortly.
    const bool keep = TierRight::Get().holder() == this && !std::exchange(kept_, true);
    lock.unlock();
    if (!line.empty()) Tell(line);
    if (keep) KeepReported(this, [this] { return Report(); });
  });
}

std::string MadeCache::Report() {
  HybridStats* const stats = StatsIfArmed();
  Registry& registry = Registry::Get();
  std::unique_lock lock(registry.mutex);
  const std::string share = share_;
  lock.unlock();
  std::string text = stats == nullptr ? "" : share.empty() ? stats->Report() : ShareText(*stats, share);
  lock.lock();
  if (stats == nullptr) return fmt::format("no SCM tier: {}\ncache: {}\n", why_, DescriptionLocked());
  const size_t without = registry.WithoutLocked();
  if (without == 0) return text;
  std::string names;
  size_t named = 0;
  for (const auto& [address, cache] : registry.made) {
    if (!cache->without()) continue;
    if (named++ == kNamedMax) {
      names += ", ...";
      break;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", cache->DescriptionLocked());
  }
  return text + fmt::format("caches without this tier: {} ({}); {} has it\n", without, names, DescriptionLocked());
}

MadeCache* MadeCaches::Find(const rocksdb::Cache* address) {
  Registry& registry = Registry::Get();
  const std::lock_guard lock(registry.mutex);
  const auto found = registry.made.find(address);
  return found == registry.made.end() ? nullptr : found->second;
}

}  // namespace mezz
