// SPDX-License-Identifier: Apache-2.0
#include "integration/database_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "cache/base/if_memory.h"

namespace mezz {
namespace {

// Of the difference between what a database has and what it should have, a division moves a quarter: hits of one
// moment say little.
constexpr uint64_t kMovedOneIn = 4;
// Less is not moved: each resizing takes time and evicts.
constexpr uint64_t kMovedOneInOfTotalMin = 256;
// Nor more at once: it is the look-up that comes to it that waits.
constexpr uint64_t kMovedMax = 64 << 20;
// Where nobody had a hit all are worth the same.
constexpr double kWorthMin = 1;

double WeightOf(SharePriority priority) {
  return priority == SharePriority::kLow ? 0.5 : priority == SharePriority::kHigh ? 2 : 1;
}

}  // namespace

std::string ToText(const DatabaseFigures& figures) {
  return fmt::format("share.{}: scm {} (reserve {}, max {}), dram {} of {}, dram.hit {}, scm.hit {}, miss {}\n",
                     figures.name.empty() ? "(rest)" : figures.name, figures.scm_bytes, figures.scm_reserved_bytes,
                     figures.scm_max_bytes, figures.dram_bytes, figures.dram_capacity_bytes,
                     figures.counters[Event::kDramHit], figures.counters[Event::kScmHit],
                     figures.counters[Event::kMiss]);
}

void DatabaseShares::OpenRest(DramPart rest) {
  const std::lock_guard lock(mutex_);
  assert(members_.empty());
  total_ = rest.capacity_bytes();
  members_.push_back(std::make_unique<Member>());
  members_[0]->dram = std::move(rest);
}

void DatabaseShares::SetTotal(uint64_t bytes) {
  if (scm_->in_child()) return;
  const std::lock_guard lock(mutex_);
  total_ = bytes;
  if (members_.size() == 1) return members_[0]->dram.resize(bytes);
  (void)IfThereIsMemory([this] { DivideLocked(/*all_at_once=*/true); });  // else the next division does it
}

void DatabaseShares::TellApart(const std::function<void(uint64_t bytes)>& told) const {
  if (scm_->in_child()) return;
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& member : members_) {
    const uint64_t apart = member->dram.resize ? 0 : member->dram.capacity_bytes();
    bytes += std::min(apart, std::numeric_limits<uint64_t>::max() - bytes);  // a stock cache may have no limit
  }
  told(bytes);
}

Status DatabaseShares::Fit(std::string_view name, ShareId share, const ShareLimits& dram) const {
  unsigned others_percent = 0;
  for (const auto& other : members_) {
    if (other->share != share || share == kNoShare) others_percent += other->limits.dram.reserved_percent;
  }
  return CheckLimits(name, dram, others_percent, "dram_");
}

DatabaseShares::Member* DatabaseShares::FindLocked(ShareId share) const {
  const auto found = std::ranges::find_if(members_, [share](const auto& member) { return member->share == share; });
  return found == members_.end() ? nullptr : found->get();
}

Status DatabaseShares::Add(std::string_view name, const DatabaseLimits& limits, DramPart dram, ShareId* share) {
  if (scm_->in_child()) return Status::NotSupported("a forked child cannot share its parent's cache");
  const std::lock_guard lock(mutex_);
  assert(!members_.empty());
  auto made = std::make_unique<Member>();
  made->name = name;
  made->limits = limits;
  made->dram = std::move(dram);
  members_.reserve(members_.size() + 1);
  {
    const std::lock_guard counters(counters_mutex_);
    counting_.reserve(counting_.size() + 1);
    if (gone_ == nullptr) gone_ = std::make_unique<CounterSnapshot>();
  }
  ShareId added = kNoShare;
  MEZZ_RETURN_IF_ERROR(scm_->shares().Add(name, limits.scm, &added));
  if (Status fits = Fit(name, kNoShare, limits.dram); !fits.ok()) {
    scm_->shares().Remove(added);
    return fits;
  }
  made->share = *share = added;
  {
    const std::lock_guard counters(counters_mutex_);
    counting_.push_back(made.get());
  }
  members_.push_back(std::move(made));
  divided_.store(true, std::memory_order_relaxed);
  DivideLocked(/*all_at_once=*/true);
  return Status::Ok();
}

void DatabaseShares::Remove(ShareId share) {
  if (scm_->in_child()) return;
  const std::lock_guard lock(mutex_);
  Member* const gone = FindLocked(share);
  if (gone == nullptr || share == kNoShare) return;
  {
    const std::lock_guard counters(counters_mutex_);
    CounterSnapshot counted;
    gone->dram.add_counters(&counted);
    *gone_ += counted;
    std::erase(counting_, gone);
  }
  std::erase_if(members_, [gone](const auto& member) { return member.get() == gone; });
  scm_->shares().Remove(share);
  divided_.store(members_.size() > 1, std::memory_order_relaxed);
  (void)IfThereIsMemory([this] { DivideLocked(/*all_at_once=*/true); });
}

Status DatabaseShares::SetLimits(ShareId share, const DatabaseLimits& limits) {
  if (scm_->in_child()) return Status::NotSupported("a forked child cannot change its parent's cache");
  const std::lock_guard lock(mutex_);
  Member* const changed = FindLocked(share);
  assert(changed != nullptr && share != kNoShare);
  MEZZ_RETURN_IF_ERROR(Fit(changed->name, share, limits.dram));
  MEZZ_RETURN_IF_ERROR(scm_->shares().Change(share, limits.scm));
  changed->limits = limits;
  DivideLocked(/*all_at_once=*/true);
  return Status::Ok();
}

void DatabaseShares::Divide() {
  if (scm_->in_child()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) (void)IfThereIsMemory([this] { DivideLocked(/*all_at_once=*/false); });
}

// What each should have: its reserve, and of the rest a share by its worth, up to its maximum; what a maximum leaves
// goes to the others.
std::vector<uint64_t> DatabaseShares::TargetsOf(const std::vector<Member*>& members, uint64_t total) {
  std::vector<uint64_t> targets(members.size());
  std::vector<bool> is_full(members.size());
  uint64_t left = total;
  for (size_t i = 0; i < members.size(); ++i) {
    targets[i] = PercentOf(total, members[i]->limits.dram.reserved_percent);
    left -= std::min(left, targets[i]);
  }
  for (size_t round = 0; round < members.size() && left > members.size(); ++round) {
    double worth = 0;
    for (size_t i = 0; i < members.size(); ++i) worth += is_full[i] ? 0 : members[i]->worth;
    if (worth == 0) break;
    uint64_t given = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (is_full[i]) continue;
      const uint64_t most = std::max(PercentOf(total, members[i]->limits.dram.max_percent), targets[i]);
      const auto part = static_cast<uint64_t>(static_cast<double>(left) * (members[i]->worth / worth));
      const uint64_t gets = std::min(part, most - targets[i]);
      is_full[i] = gets < part;
      targets[i] += gets;
      given += gets;
    }
    left -= std::min(left, given);
  }
  // What all maxima leave, and what was rounded away, is the rest's: it is the first.
  targets[0] += left;
  return targets;
}

// Those that get less go first, so that all together never have more than the total.
void DatabaseShares::DivideLocked(bool all_at_once) {
  std::vector<Member*> divided;
  for (const auto& member : members_) {
    if (member->dram.resize) divided.push_back(member.get());
  }
  if (divided.empty()) return;
  for (Member* const it : divided) {
    const CounterSnapshot now = CountersOf(*it);
    const uint64_t hits = now[Event::kDramHit] + now[Event::kScmHit];
    const double weight = WeightOf(it->limits.dram.priority);
    const uint64_t since = hits - std::min(hits, it->hits_before);
    it->worth = std::max(kWorthMin, it->worth / 2 + static_cast<double>(since) * weight);
    it->hits_before = hits;
  }
  const std::vector<uint64_t> targets = TargetsOf(divided, total_);
  const uint64_t moved_min = std::min(total_ / kMovedOneInOfTotalMin, kMovedMax);
  for (const bool shrinks : {true, false}) {
    uint64_t free = total_;
    for (const Member* const it : divided)
      free -= std::min(free, std::max(it->dram.capacity_bytes(), it->dram.bytes()));
    for (size_t i = 0; i < divided.size(); ++i) {
      const uint64_t bytes = divided[i]->dram.capacity_bytes();
      const bool less = targets[i] < bytes;
      if (less != shrinks) continue;
      const uint64_t apart = less ? bytes - targets[i] : targets[i] - bytes;
      const uint64_t wanted = all_at_once ? apart : std::min(apart / kMovedOneIn, kMovedMax);
      const uint64_t moved = less ? wanted : std::min(wanted, free);
      if (moved == 0 || (!all_at_once && moved < moved_min)) continue;
      if (!less) free -= moved;
      divided[i]->dram.resize(less ? bytes - moved : bytes + moved);
    }
  }
  uint64_t given = 0;
  for (const Member* const it : divided) given += it == members_[0].get() ? 0 : it->dram.capacity_bytes();
  given_.store(given, std::memory_order_relaxed);
}

void DatabaseShares::AddTo(CounterSnapshot* sum) const {
  if (scm_->in_child()) return;
  CounterSnapshot counted;
  {
    const std::lock_guard lock(counters_mutex_);
    if (gone_ != nullptr) counted = *gone_;
    for (const Member* const member : counting_) member->dram.add_counters(&counted);
  }
  counted.by_role[static_cast<size_t>(Event::kScmHit)] = {};
  *sum += counted;
}

// The rest's SCM hits are counted by themselves: the tier's without the databases' could fall from one look to the
// next.
CounterSnapshot DatabaseShares::CountersOf(const Member& member) const {
  CounterSnapshot counters;
  member.dram.add_counters(&counters);
  if (member.share != kNoShare) return counters;
  auto& hits = counters.by_role[static_cast<size_t>(Event::kScmHit)];
  hits = {};
  for (const Stripe& stripe : rest_scm_hits_) {
    for (size_t role = 0; role < kBlockRoles; ++role)
      hits[role] += stripe.by_role[role].load(std::memory_order_relaxed);
  }
  return counters;
}

std::vector<DatabaseFigures> DatabaseShares::Figures() const {
  if (scm_->in_child()) return {};
  const std::lock_guard lock(mutex_);
  std::vector<DatabaseFigures> figures;
  if (members_.size() < 2) return figures;
  for (const auto& member : members_) {
    DatabaseFigures& made = figures.emplace_back();
    made.name = member->name;
    made.limits = member->limits;
    const ShareUse use = scm_->shares().UseOf(member->share);
    made.scm_bytes = use.bytes;
    made.scm_reserved_bytes = use.reserved_bytes;
    made.scm_max_bytes = use.max_bytes;
    made.dram_bytes = member->dram.bytes();
    made.dram_pinned_bytes = member->dram.pinned_bytes();
    made.dram_capacity_bytes = member->dram.capacity_bytes();
    made.counters = CountersOf(*member);
  }
  return figures;
}

}  // namespace mezz
