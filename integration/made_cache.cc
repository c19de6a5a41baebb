// SPDX-License-Identifier: Apache-2.0
#include "integration/made_cache.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"
#include "fmt/format.h"
#include "integration/operator_io.h"
#include "integration/option_table.h"
#include "integration/reporter.h"
#include "integration/tell.h"

namespace mezz {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWaitMax = std::chrono::hours(24);
// Between two questions: a restart is short, so the first come soon.
constexpr int64_t kPauseMinNs = 20'000'000;
constexpr int64_t kPauseMaxNs = 1'000'000'000;
// So many caches without a tier are told one by one, as they become more than ever; then each time they have doubled.
constexpr size_t kToldSinglyMax = 32;
constexpr size_t kNamedMax = 8;  // in a report

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

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

Status ParseWait(std::string_view text, milliseconds* wait) {
  const bool in_ms = text.ends_with("ms");
  const std::string_view digits = text.substr(0, text.size() - (in_ms ? 2 : text.ends_with("s") ? 1 : 0));
  int64_t count = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool whole = !digits.empty() && parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  const bool has_unit = digits.size() != text.size() || count == 0;
  const milliseconds read = in_ms || count > kWaitMax.count() ? milliseconds(count) : std::chrono::seconds(count);
  if (!whole || !has_unit || count < 0 || read > kWaitMax) {
    return Status::InvalidArgument(
        fmt::format("MEZZANINE_WAIT={}: accepted are 0 and a whole number with s or ms, of a day at most", text));
  }
  *wait = read;
  return Status::Ok();
}

// --- the right ---

TierRight& TierRight::Get() {
  static auto* const right = new TierRight;  // never destroyed, as above
  return *right;
}

bool TierRight::MayAsk(const void* who) const {
  const void* const holder = this->holder();
  if (holder != nullptr) return holder == who;
  const int64_t at_ns = ask_at_ns_.load(std::memory_order_relaxed);
  return at_ns == 0 || NowNs() >= at_ns;
}

bool TierRight::Take(const void* who) {
  const void* none = nullptr;
  return holder_.compare_exchange_strong(none, who, std::memory_order_acq_rel, std::memory_order_relaxed);
}

void TierRight::Free(const void* who) {
  if (holder() == who) holder_.store(nullptr, std::memory_order_release);
}

bool TierRight::Postpone(bool first, milliseconds wait) {
  const int64_t now_ns = NowNs();
  const int64_t wait_ns = std::chrono::nanoseconds(wait).count();
  if (waits_since_ns_ == 0 || (first && now_ns - waits_since_ns_ >= wait_ns)) {
    waits_since_ns_ = now_ns;
    pause_ns_ = kPauseMinNs;
  }
  const int64_t left_ns = waits_since_ns_ + wait_ns - now_ns;
  if (left_ns <= 0) return false;
  ask_at_ns_.store(now_ns + std::min(pause_ns_, left_ns), std::memory_order_relaxed);
  pause_ns_ = std::min(2 * pause_ns_, kPauseMaxNs);
  return true;
}

milliseconds TierRight::EndWait() {
  const int64_t waited_ns = waits_since_ns_ == 0 ? 0 : NowNs() - waits_since_ns_;
  waits_since_ns_ = 0;
  ask_at_ns_.store(0, std::memory_order_relaxed);
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(waited_ns));
}

// --- a cache ---

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
  if (!WantsTier() || NowNs() < join_at_ns_) return true;
  std::string name;
  const Status joined = NoThrow([&] { return JoinAs(main, &name); });
  if (joined.ok()) {
    HasJoined(name);
  } else if (joined.code() == Status::Code::kNoSpace || joined.code() == Status::Code::kBusy) {
    join_at_ns_ = NowNs() + kPauseMaxNs;  // others may leave
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
