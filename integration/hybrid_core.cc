// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <span>
#include <utility>

#include "integration/compaction_thread.h"
#include "rocksdb/version.h"

namespace mezz {
namespace {

// Making a block of DRAM for a copy: allocation, and the store half of the copy. On memory of the same speed a copied
// hit of a 3.7 KB block costs 150 ns more than one in place.
constexpr double kCopyFixedNs = 40;
constexpr double kCopyNsPerByte = 0.03;

// Below this a copy costs less than a pin, on every medium, and may not be adopted (AdoptingAllocator).
constexpr size_t kInPlaceBytesMin = 1024;

// What serve=auto weighs: the two charges of the model, and what a copy costs besides. In place, a search pays one
// dependent read of the medium for each line it touches, and what is read whole a stream. A copy pays one such read,
// streams the rest at the thread's bandwidth, and pays for the copy itself; its search is then free. So in place wins
// where few lines of a large block are read: filters, and data blocks from a size on that grows with the medium's
// latency over its bandwidth. Blobs are read whole either way: in place saves the copy. Dictionaries are read whole and
// then held for a table's life: a copy spares their segments that pin.
bool InPlaceIsCheaper(const MediumModel& model, BlockRole role, std::span<const std::byte> payload) {
  if (role == BlockRole::kDictionary) return false;
  const auto bytes = static_cast<double>(payload.size());
  const double copy_ns =
      OwnNs(model, {.lines = 1, .stream_bytes = payload.size()}) + kCopyFixedNs + kCopyNsPerByte * bytes;
  return OwnNs(model, HowReadInPlace(model, role, payload)) < copy_ns;
}

// True about once in kTellEvery calls on a thread. By chance rather than by count: threads that use several caches in
// turn would otherwise always hit upon the same one.
bool TimeToTell() {
  constexpr unsigned kTellEveryLog2 = 10;
  thread_local constinit uint32_t state = 0;
  state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator: its upper bits are good
  return state >> (32 - kTellEveryLog2) == 0;
}

void AppendCounters(const CounterSnapshot& counters, std::string* text) {
  for (size_t e = 0; e < kEvents; ++e) {
    const auto event = static_cast<Event>(e);
    fmt::format_to(std::back_inserter(*text), "{}: {}{}\n", ToString(event), counters[event],
                   RolesText(counters.by_role[e]));
  }
}

Generation GenerationOf(const Decision& decision) { return decision.proven ? Generation::kProven : Generation::kYoung; }

}  // namespace

HybridCore::HybridCore(const HybridCacheOptions& options)
    : options_(options),
      policy_options_{.dram_bytes = options.dram_bytes,
                      .scm_bytes = options.scm.capacity_bytes,
                      .block_bytes = options.scm.expected_block_bytes,
                      .write_budget_bytes_per_second = options.write_budget_bytes_per_second,
                      .now_ns = {},
                      .seed = 0} {}

Status HybridCore::Open(const HybridCacheOptions& options, std::unique_ptr<HybridCore>* core) {
  MEZZ_RETURN_IF_ERROR(options.ValidateScmSide());
  std::unique_ptr<HybridCore> opened(new HybridCore(options));
  opened->options_.scm.host_version = ROCKSDB_MAJOR * 1'000'000 + ROCKSDB_MINOR * 1'000 + ROCKSDB_PATCH;
  MEZZ_RETURN_IF_ERROR(ScmTier::Open(opened->options_.scm, &opened->scm_, opened.get()));
  MEZZ_RETURN_IF_ERROR(opened->SetPolicy(options.policy));  // before the first put, so before the first reclaim
  opened->dram_hits_ = std::make_unique<DramHits>(opened->counters());
  *core = std::move(opened);
  return Status::Ok();
}

Status HybridCore::SetPolicy(std::string_view name) {
  const std::lock_guard lock(policies_mutex_);
  auto found = std::find_if(policies_.begin(), policies_.end(), [&](const auto& kept) { return kept->name() == name; });
  if (found == policies_.end()) {
    try {
      std::unique_ptr<Policy> made;
      MEZZ_RETURN_IF_ERROR(options_.MakePolicy(name, policy_options_, &made));
      found = policies_.insert(policies_.end(), std::move(made));
    } catch (const std::bad_alloc&) {
      return Status::NoSpace(fmt::format("no memory for policy={}", name));
    }
  }
  policy_.store(found->get(), std::memory_order_release);
  scm_->SetYoungPercent((*found)->young_percent());
  return Status::Ok();
}

Decision HybridCore::Counted(DecisionPoint point, const Decision& decision, BlockRole role) {
  decisions_.Add(point, decision, role);
  return decision;
}

void HybridCore::KeepHitBits(uint64_t dram_bytes) {
  hit_bits_ = std::make_unique<DramHitBits>(dram_bytes / std::max<uint64_t>(1, options_.scm.expected_block_bytes));
}

PinnedBlock HybridCore::Find(const BlockKey& key, BlockRole role_for_miss_counter) {
  if (TimeToTell()) TellDramHits();
  return scm_->Find(key, role_for_miss_counter, OnCompactionThread() ? Heat::kKeep : Heat::kRaise);
}

void HybridCore::TellDramHits() {
  const uint64_t hits = Snapshot()[Event::kDramHit];
  uint64_t told = dram_hits_told_.load(std::memory_order_relaxed);
  while (hits > told) {
    if (dram_hits_told_.compare_exchange_weak(told, hits, std::memory_order_relaxed, std::memory_order_relaxed)) {
      return policy().OnDramHits(hits - told);
    }
  }
}

// Who inserted the block is not recorded, so it is not known whether a compaction did: a policy that minds refuses at
// the miss. The evicting thread says nothing about the block.
void HybridCore::OnDramEviction(const BlockKey& key, BlockRole role, size_t bytes, bool was_hit, BlockSource source) {
  counters().Add(Event::kDramEviction, role);
  if (hit_bits_ != nullptr) was_hit = hit_bits_->Take(key) || was_hit;
  const BlockFacts facts{.key = key,
                         .role = role,
                         .bytes = static_cast<uint32_t>(bytes),
                         .was_hit_in_dram = was_hit,
                         .in_scm = scm_->NoteDramEviction(key)};
  const Decision decision = Counted(DecisionPoint::kDramEviction, policy().OnDramEviction(facts), role);
  switch (decision.action) {
    case Action::kKeep:
      return counters().Add(Event::kCleanEviction, role);
    case Action::kToScm:
      if (scm_->Put(key, role, bytes, source, GenerationOf(decision)) == PutResult::kStored) {
        counters().Add(Event::kDemotion, role);
      }
      return;
    default:
      return counters().Add(Event::kRefusedPolicy, role);
  }
}

HybridCore::Placement HybridCore::OnMiss(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source) {
  const BlockFacts facts{
      .key = key, .role = role, .bytes = static_cast<uint32_t>(bytes), .by_compaction = OnCompactionThread()};
  switch (Counted(DecisionPoint::kMiss, policy().OnMiss(facts), role).action) {
    case Action::kToScm:
      if (scm_->Put(key, role, bytes, source) != PutResult::kStored) return Placement::kDram;
      counters().Add(Event::kInsertToScm, role);
      return Placement::kScm;
    case Action::kBypass:
      counters().Add(Event::kInsertBypassed, role);
      return Placement::kNowhere;
    default:
      return Placement::kDram;
  }
}

HybridCore::Serve HybridCore::OnScmHit(const BlockKey& key, const PinnedBlock& block) {
  const size_t bytes = block.payload().size();
  const BlockFacts facts{.key = key,
                         .role = block.role(),
                         .bytes = static_cast<uint32_t>(bytes),
                         .in_scm = true,
                         .by_compaction = OnCompactionThread(),
                         .scm_heat = block.heat()};
  switch (Counted(DecisionPoint::kScmHit, policy().OnScmHit(facts), block.role()).action) {
    case Action::kPromote:
      return Serve::kPromote;
    case Action::kMove:
      return Serve::kMove;
    default:
      break;
  }
  if (options_.serve == ServeMode::kCopy || bytes < kInPlaceBytesMin || scm_->PinPressure()) return Serve::kCopy;
  if (options_.serve == ServeMode::kInPlace || scm_->throttle() == nullptr) return Serve::kInPlace;
  return InPlaceIsCheaper(scm_->throttle()->model(), block.role(), block.payload()) ? Serve::kInPlace : Serve::kCopy;
}

// An eviction of the block that runs between its promotion and the erasure of its record counts as clean, and the block
// is then in neither tier. A cache may forget.
void HybridCore::OnPromoted(const BlockKey& key, BlockRole role, Serve serve) {
  if (serve == Serve::kMove) {
    scm_->Erase(key);
  } else {
    scm_->NotePromoted(key);
  }
  counters().Add(Event::kPromotion, role);
}

bool HybridCore::Spare(const RecordFacts& record) {
  const BlockFacts facts{.key = record.key,
                         .role = record.role,
                         .bytes = record.payload_bytes,
                         .in_scm = true,
                         .in_dram = record.in_dram,
                         .proven = record.generation == Generation::kProven,
                         .scm_heat = record.heat};
  return Counted(DecisionPoint::kReclaim, policy().OnReclaim(facts), record.role).action == Action::kSpare;
}

CounterSnapshot HybridCore::Snapshot() const {
  CounterSnapshot sum = scm_->counters().Snapshot();
  dram_hits_->AddTo(sum);
  return sum;
}

std::string HybridCore::Report(UriKind uri) const {
  const MediumInfo& medium = scm_->medium_info();
  const Policy& policy = this->policy();
  HybridCacheOptions current = options_;
  current.policy = policy.name();
  std::string text = fmt::format(
      "options: {}\n"
      "policy: {}\n"
      "policy.dram_bytes: {}\n"
      "medium: {}\n"
      "medium.emulated: {}\n"
      "medium.store_granularity: {}\n"
      "medium.persistent_memory: {}\n"
      "medium.model: {}\n"
      "scm.capacity_bytes: {}\n"
      "scm.usage_bytes: {}\n"
      "scm.pinned_bytes: {}\n"
      "scm.pin_pressure: {}\n"
      "scm.resident_blocks: {}\n"
      "scm.dram_bytes: {}\n",
      uri == UriKind::kHybrid ? current.ToUri() : current.ToScmSecondaryUri(), policy.name(), policy.dram_bytes(),
      medium.description, medium.emulated, ToString(medium.granularity), medium.persistent_memory,
      ToString(options_.scm.model), scm_->capacity_bytes(), scm_->usage_bytes(), scm_->pinned_bytes(),
      scm_->PinPressure(), scm_->resident_blocks(), scm_->dram_bytes());
  AppendCounters(Snapshot(), &text);
  return text + Decisions().ToString();
}

}  // namespace mezz
