// SPDX-License-Identifier: Apache-2.0
// What the hybrid caches of every RocksDB release share: the SCM tier, the policy, and the steps between the tiers that
// need no RocksDB type.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admission/decision_counters.h"
#include "admission/policy.h"
#include "admission/tier_flow.h"
#include "cache/scm_tier.h"
#include "integration/cache_curve.h"
#include "integration/database_shares.h"
#include "integration/dram_tier.h"
#include "integration/live_tiers.h"
#include "integration/look_up_observers.h"
#include "integration/metrics.h"
#include "integration/move_gate.h"
#include "integration/offered_counts.h"
#include "integration/options.h"
#include "integration/policy_in_force.h"
#include "integration/read_back.h"
#include "integration/too_large.h"
#include "integration/warm_dram.h"
#include "rocksdb/env.h"

namespace mezz {

class MetricsEndpoint;
struct CoreFigures;

// The kind of URI that opens a cache.
enum class UriKind { kHybrid, kScmSecondary };

// How much a DRAM tier holds now.
struct DramTierUse {
  uint64_t bytes = 0;
  uint64_t pinned_bytes = 0;  // the part of `bytes` that is in use
};

// Thread-safe, except for the functions that must be called before the first look-up. It throws nothing of its own;
// what a block's source throws passes through.
class HybridCore final : private SurvivorJudge {
 public:
  // Judges the SCM side of the options only. The caller, who brings the DRAM tier, judges the rest.
  static Status Open(const HybridCacheOptions& options, std::unique_ptr<HybridCore>* core);

  // Writes options().curve_file.
  ~HybridCore();
  HybridCore(const HybridCore&) = delete;
  HybridCore& operator=(const HybridCore&) = delete;

  // From now on a block is moved only inside a MoveGate::Window, and only if no change of its key has overtaken the
  // move. For a cache that is told of every change of a key, to be called before the first look-up. A cache that is not
  // told, above all not of an Insert, does not call it. There each eviction that finds a record compares the bytes, and
  // replaces them if they differ.
  MoveGate& GuardMoves() {
    gate_ = std::make_unique<MoveGate>();
    return *gate_;
  }
  // Says that we may resize the DRAM tier. After GuardMoves, before the first look-up.
  void OwnDramTier(DatabaseShares::DramPart tier) {
    databases_.OpenRest(std::move(tier));
    dram_.Own([this](uint64_t bytes) { databases_.SetTotal(bytes); }, *gate_);
    warm_->Open();
  }
  // The databases that share the cache, each with an adapter and a DRAM tier of its own, whose blocks it names by the
  // share.
  DatabaseShares& databases() { return databases_; }
  const DatabaseShares& databases() const { return databases_; }
  // Tells policies what the DRAM tiers with a size of their own have together.
  void TellDramApart() {
    databases_.TellApart([this](uint64_t bytes) { dram_.StandBeside(bytes); });
  }
  // REQUIRES: GuardMoves().
  MoveGate& gate() { return *gate_; }
  bool guards_moves() const { return gate_ != nullptr; }
  // What is saved at the close, and comes back. For a cache with GuardMoves.
  WarmDram& warm() { return *warm_; }

  // Looks up a block that the DRAM tier did not have. A compaction's look-up leaves the block's heat as it is, or
  // passes it to the block's heirs.
  PinnedBlock Find(const BlockKey& key, BlockRole role_for_miss_counter);

  // Whom the adapters tell of look-ups.
  LookUpObservers& observers() { return observers_; }
  // Whom they tell of what RocksDB offers, and of what compactions look up.
  OfferedCounts& offered() { return offered_; }

  // A block leaves the DRAM tier. Asks the policy, writes the block to SCM if the policy says so, and counts. `source`
  // copies the block's bytes. `was_hit` is what the DRAM tier says.
  void OnDramEviction(const BlockKey& key, BlockRole role, size_t bytes, bool was_hit, BlockSource source,
                      ShareId share = kNoShare);

  using Placement = mezz::Placement;
  // Asks the policy where a block that RocksDB inserts goes. `image` is the block as its file holds it, or null if that
  // is not known or not compressed. `warms` is true if the block was written by a flush or a compaction, not read, so
  // that nobody wants it yet.
  Placement OnMiss(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Image* image = nullptr,
                   bool warms = false, ShareId share = kNoShare);
  // The same for a block that RocksDB has written and offers to the cache. Nobody waits for the block, but the
  // compaction does for this call, so the block is packed later. The caller counts it (offered()).
  Placement OnWarm(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Lineage& lineage,
                   ShareId share = kNoShare) {
    return flow_.OnWarm(
        {.key = key, .role = role, .bytes = bytes, .source = &source, .packed_by = PackedBy::kStage, .share = share},
        lineage);
  }
  // The same as OnWarm for a block of a compaction's new file that was read back for the cache. Nobody waits for this
  // call either.
  Placement OnReadBack(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Lineage& lineage,
                       ShareId share = kNoShare) {
    return flow_.OnWarm({.key = key, .role = role, .bytes = bytes, .source = &source, .share = share}, lineage);
  }
  // Makes what reads heirs back into `cache`, whose core this is. Null with heirs=off. It must be destroyed before
  // this.
  std::unique_ptr<ReadBack> MakeReadBack(rocksdb::Cache* cache);
  // Our DRAM figures include what this one takes, which may be null. Call it once, before the first look-up.
  void ShowReadBack(const ReadBack* read_back) { read_back_ = read_back; }
  // The policy's estimate of how often the block was asked for lately.
  uint8_t Frequency(const BlockKey& key) const { return flow_.Frequency(key); }

  // False if OnMiss would always answer kDram, so that it need not be called.
  bool wants_misses() const { return flow_.wants_misses(); }

  // The form in which to write a block that comes another way. FormRule decides, and the decision is counted.
  Form FormOf(BlockRole role) { return flow_.FormOf(role); }

  // What to do with an SCM hit. kMove is kPromote, and erases the record as well.
  enum class Serve { kInPlace, kCopy, kPromote, kMove };
  Serve OnScmHit(const BlockKey& key, const PinnedBlock& block);
  // The block is now in the DRAM tier, as `serve` (kPromote or kMove) demanded.
  void OnPromoted(const BlockKey& key, BlockRole role, Serve serve);

  // From now on the policy of this name decides (PolicyInForce). Refuses an unknown name. Resizes the DRAM tier as
  // FollowDram does.
  Status SetPolicy(std::string_view name);
  std::string_view policy_name() const { return policy().name(); }
  // Resizes the DRAM tier to so many bytes, and does what OnDramCapacity does. With dram_total, the total changes too.
  // REQUIRES: OwnDramTier().
  void SetDramCapacity(uint64_t bytes) { dram_.SetCapacity(bytes, dram_use().total()); }
  // With dram_total, resizes the DRAM tier if our structures have grown, or shrunk enough, since the last time. Cheap
  // if they have not, and next to nothing without dram_total. Do not call it within an eviction.
  void FollowDram() {
    dram_.Follow([this] { return dram_use().total(); });
  }
  // The DRAM that our own structures take now.
  DramUse dram_use() const;
  // The DRAM tier has so many bytes from now on. The hit bits grow with it. Policies are told once the size has changed
  // by an eighth, and policies that are made later are told too. Waits for a SetPolicy that is running.
  void OnDramCapacity(uint64_t bytes) { dram_.OnCapacity(bytes); }
  // ScmTier::SetCapacity; then policies are told.
  Status SetScmCapacity(uint64_t bytes);
  // ScmTier::SetMemberCapacity, of the medium that the report calls medium.NUMBER; then policies are told.
  Status SetMediumCapacity(size_t number, uint64_t bytes);
  Policy& policy() const { return policy_.get(); }

  ScmTier& scm() { return *scm_; }
  Counters& counters() { return scm_->counters(); }
  DramHits& dram_hits() { return dram_.hits(); }
  // A block that may be demoted is larger than any record can be.
  void TellTooLarge(BlockRole role, size_t bytes) {
    too_large_.Tell(scm_->options(), scm_->figures().max_block_bytes(), role, bytes);
  }
  // The counters of both tiers.
  CounterSnapshot Snapshot() const { return tiers_.Counters(); }
  DecisionSnapshot Decisions() const { return decisions_.Snapshot(); }
  const HybridCacheOptions& options() const { return options_; }  // as opened; the policy may be another now

  Status MakeCurve(plan::Curve* curve) const { return observers_.MakeCurve(curve); }
  Status DumpCurve(const std::string& path) const { return observers_.DumpCurve(path); }

  // All figures, as monitoring gets them. With a curve, this takes up to some seconds now and then, as Report does.
  MetricFamilies Metrics() const;
  // The cache is complete, so options.metrics is served from now on. `dram_use()` tells what the DRAM tier holds, and
  // is called by any thread until StopMetrics; it may be empty. Before the first look-up.
  void ServeMetrics(std::function<DramTierUse()> dram_use = {});
  // Ends the serving: `dram_use()` is not called any more. To be called by the object that `dram_use()` refers to,
  // before its destruction.
  void StopMetrics();

  // The bytes of the hit bits; 0 if there are none.
  size_t hit_bits_bytes() const { return dram_.hit_bits_bytes(); }
  // The bytes that this takes beside the SCM tier, policies, hit bits and the tables of compacting threads (Heirs).
  static uint64_t OwnBytes();

  // Logs what went wrong so far, by these counters: a line each. `log` may be null.
  void LogProblems(const CounterSnapshot& counters, rocksdb::Logger* log) const;
  // The figures as text (core_figures.h), with those of the curve, which may take some seconds.
  std::string Report(UriKind uri = UriKind::kHybrid, CacheCurve::Which curve = CacheCurve::Which::kRecent) const;

 private:
  explicit HybridCore(const HybridCacheOptions& options);
  void OpenCurve();
  void TellScmCapacity();

  Status Fits(const Policy& made) const;
  Heat HeatOfLookUp() const;
  // How many bytes of blocks the SCM tier can hold, as blocks pack at present.
  uint64_t BlockCapacity() const;
  CoreFigures Figures() const;
  // Of SurvivorJudge. A tier that opens over a full medium may have to make room before there is a policy.
  Fate Judge(const RecordFacts& record) override {
    if (!policy_.is_chosen()) [[unlikely]]
      return SecondChance(record.heat, record.packable, record.demotable);
    return flow_.OnReclaim(record);
  }
  unsigned young_percent() const override {
    return policy_.is_chosen() ? policy().young_percent() : kYoungPercentDefault;
  }

  HybridCacheOptions options_;
  PolicyInForce policy_;
  DramTier dram_{options_, policy_};
  DecisionCounters decisions_;
  DatabaseShares databases_{scm_};

  LiveTiers tiers_{{.options = options_,
                    .policy = policy_,
                    .decisions = decisions_,
                    .scm = scm_,
                    .gate = gate_,
                    .dram = dram_,
                    .databases = databases_}};
  TierFlow<LiveTiers> flow_{&tiers_};

  std::unique_ptr<ScmTier> scm_;    // declared after the members that its reclaim asks
  std::unique_ptr<MoveGate> gate_;  // null if nobody tells of changes; does not change once blocks are looked up
  TooLargeWarning too_large_;
  LookUpObservers observers_{options_, dram_, flow_};
  std::optional<WarmDram> warm_;  // set once the cache is open
  OfferedCounts offered_;
  ReadBackCounters read_back_counters_;         // of this cache and of all databases that share it
  const ReadBack* read_back_ = nullptr;         // null if nothing is read back; does not change once in use
  std::function<DramTierUse()> dram_tier_use_;  // empty if not known; does not change once blocks are looked up
  std::unique_ptr<MetricsEndpoint> metrics_;    // null without metrics=; last, so that its thread ends first
};

}  // namespace mezz
