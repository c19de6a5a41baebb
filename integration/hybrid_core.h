// SPDX-License-Identifier: Apache-2.0
// What the hybrid caches of every RocksDB release share: the SCM tier, the policy, and the steps between the tiers that
// need no RocksDB type.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/block_hash.h"
#include "admission/decision_counters.h"
#include "admission/policy.h"
#include "admission/tier_flow.h"
#include "cache/scm_tier.h"
#include "integration/cache_curve.h"
#include "integration/dram_tier.h"
#include "integration/live_tiers.h"
#include "integration/metrics.h"
#include "integration/miss_latency.h"
#include "integration/move_gate.h"
#include "integration/options.h"
#include "integration/policy_in_force.h"
#include "integration/read_back.h"
#include "integration/warm_dram.h"

namespace mezz {

class MetricsEndpoint;
struct CoreFigures;

// By which URI a cache of this kind is opened.
enum class UriKind { kHybrid, kScmSecondary };

// What a DRAM tier holds now.
struct DramTierUse {
  uint64_t bytes = 0;
  uint64_t pinned_bytes = 0;  // of them: in use
};

// Thread-safe like its parts. No exception leaves it but what a block's source throws.
class HybridCore final : private SurvivorJudge {
 public:
  // Judges the SCM side of the options only: who brings the DRAM tier judges that.
  static Status Open(const HybridCacheOptions& options, std::unique_ptr<HybridCore>* core);

  // Writes options().curve_file.
  ~HybridCore();
  HybridCore(const HybridCore&) = delete;
  HybridCore& operator=(const HybridCore&) = delete;

  // For a cache that is told of every change of a key: from now on a block is moved only inside of a MoveGate::Window,
  // and not where a change overtook it. Before the first look-up. Who is not told, of an Insert above all, does not
  // call it: then each eviction that finds a record compares the bytes, and replaces them where they differ.
  MoveGate& GuardMoves() {
    gate_ = std::make_unique<MoveGate>();
    return *gate_;
  }
  // For a cache whose DRAM tier is ours to resize: resize(bytes) does it. Before the first look-up, after GuardMoves.
  void OwnDramTier(std::function<void(uint64_t bytes)> resize) {
    dram_.Own(std::move(resize), *gate_);
    warm_->Open();
  }
  // For a cache with GuardMoves that is being closed, and is asked nothing more: whoever has the DRAM tier calls Save
  // for each of its blocks, the hottest first, as long as save_left(). False: for none of them (WarmDram::StartSaving).
  bool StartSaving();
  uint64_t save_left() const { return warm_->save_left(); }  // bytes

  // REQUIRES: GuardMoves().
  MoveGate& gate() { return *gate_; }

  // A look-up that the DRAM tier did not answer. A compaction's leaves the block's heat as it is, or
  // takes it for the block's heirs.
  PinnedBlock Find(const BlockKey& key, BlockRole role_for_miss_counter);

  // The same look-up found no block, or none that could be served: the caller reads flash. And it inserts what it has
  // read. Together they tell what a miss costs, where the pack mode follows it; a compaction's reads ahead, and are not
  // counted. (Under a stock cache, which inserts without us, nothing is measured.)
  void NoteMiss(const BlockKey& key, BlockRole role) {
    if (curve_ != nullptr) curve_->NoteLookUp(BlockHash(key), role, [] { return size_t{0}; });
    if (measures_misses_ && RolePacks(role)) StartMissTimer(key);
  }
  void NoteInsert(const BlockKey& key) {
    if (measures_misses_) StopMissTimer(key);
  }

  // What was read after a miss of a block that may be demoted, for the live curve. `size_of()`: its bytes; rarely
  // asked.
  template <typename SizeOf>
  void NoteInsertedSize(const BlockKey& key, SizeOf&& size_of) {
    if (curve_ != nullptr) curve_->NoteSize(BlockHash(key), size_of);
  }

  // For a DRAM tier that does not tell, or not reliably, whether what it evicts was hit: from now on NoteDramHit
  // remembers. Before the first look-up.
  void KeepHitBits(uint64_t dram_bytes) {
    dram_.KeepHitBits(dram_bytes);
    notes_dram_hits_ = true;
  }
  // The DRAM tier answered a look-up of a block that may be demoted. `size_of()`: its bytes; rarely asked.
  template <typename SizeOf>
  void NoteDramHit(const BlockKey& key, BlockRole role, SizeOf&& size_of) {
    if (!notes_dram_hits_) return;
    if (dram_.hit_bits() == nullptr) return curve_->NoteLookUp(BlockHash(key), role, size_of);
    const uint64_t hash = BlockHash(key);
    if (!dram_.hit_bits()->IsSettled(hash)) [[unlikely]]
      NoteUnsettledHit(hash, role, size_of);
  }

  // The same for a compaction, which is no evidence that a user wants the block; the live curve counts all look-ups.
  template <typename SizeOf>
  void NoteDramRead(const BlockKey& key, BlockRole role, SizeOf&& size_of) {
    if (curve_ != nullptr) curve_->NoteLookUp(BlockHash(key), role, size_of);
  }

  // The whole of an eviction callback: refuses, each reason with its counter, what cannot be stored, and passes the
  // rest to OnDramEviction. `size_of()` gives the block's bytes and `source_of(bytes)` a BlockSource; either may throw,
  // which is a refusal too.
  template <typename SizeOf, typename SourceOf>
  void Offer(const DramBlock& evicted, SizeOf size_of, SourceOf source_of) noexcept;

  // Has the next life bring the block back into DRAM (WarmDram). As Offer. REQUIRES: StartSaving().
  template <typename SizeOf, typename SourceOf>
  void Save(const DramBlock& block, SizeOf size_of, SourceOf source_of) noexcept;
  // Worth saving before others: DRAM was right to keep it, as far as we know.
  bool SavedFirst(const BlockKey& key, BlockRole role) const {
    return IsMetadata(role) || (dram_.hit_bits() != nullptr && dram_.hit_bits()->Has(BlockHash(key)));
  }

  // A block leaves the DRAM tier: asks the policy, writes if told so, counts. `source` copies the block's bytes.
  // `was_hit`: as the DRAM tier tells.
  void OnDramEviction(const BlockKey& key, BlockRole role, size_t bytes, bool was_hit, BlockSource source);

  using Placement = mezz::Placement;
  // `image`: how the block's file holds it; null: not known, or not compressed.
  // `warms`: whoever inserts the block does not want it now, as after a flush or a compaction: it was written, not
  // read.
  Placement OnMiss(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Image* image = nullptr,
                   bool warms = false);
  // RocksDB has written the block and offers it; nobody waits for it. As OnMiss.
  Placement OnWarm(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Lineage& lineage) {
    if (lineage.kind == Lineage::Kind::kFlushed) {
      NoteOfferedByFlush();
    } else {
      offered_.by_compactions.fetch_add(1, std::memory_order_relaxed);
    }
    return flow_.OnWarm({key, role, bytes, &source}, lineage);
  }
  // RocksDB has offered a block that a flush wrote, and OnWarm is not asked; for the report.
  void NoteOfferedByFlush() { offered_.by_flushes.fetch_add(1, std::memory_order_relaxed); }
  // A compaction has looked a data block up; for the report.
  void NoteReadByCompaction() { offered_.read_by_compactions.fetch_add(1, std::memory_order_relaxed); }
  // A block of a compaction's new file was read back for the cache, and nobody waits for it: as OnWarm.
  Placement OnReadBack(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Lineage& lineage) {
    const Placement placement = flow_.OnWarm({key, role, bytes, &source}, lineage);
    if (placement == Placement::kScm) read_back_->NoteTaken(key);
    return placement;
  }
  // What reads heirs back into `cache`, which this is the core of, and is told of in the report. Null: heirs=off. Ends
  // before this does. Once, before the first look-up.
  std::unique_ptr<ReadBack> MakeReadBack(rocksdb::Cache* cache);
  // How often the block was asked for lately, as the policy knows.
  uint8_t Frequency(const BlockKey& key) const { return flow_.Frequency(key); }

  // False: OnMiss would answer kDram, so it need not be asked.
  bool wants_misses() const { return flow_.wants_misses(); }
  bool takes_images() const { return TakesImages(options_.scm.pack); }

  // The form for a record of a block that comes another way: as FormRule says, and counted.
  Form FormOf(BlockRole role) { return flow_.FormOf(role); }

  // What to do with an SCM hit. kMove: as kPromote, and the record goes.
  enum class Serve { kInPlace, kCopy, kPromote, kMove };
  Serve OnScmHit(const BlockKey& key, const PinnedBlock& block);
  // The block is in the DRAM tier now, as `serve` (kPromote or kMove) said.
  void OnPromoted(const BlockKey& key, BlockRole role, Serve serve);

  // From now on the policy of this name decides (PolicyInForce). Refuses an unknown name. As FollowDram.
  Status SetPolicy(std::string_view name);
  std::string_view policy_name() const { return policy().name(); }
  // The DRAM tier is to have so many bytes: it is resized, and OnDramCapacity. With dram_total: that follows too.
  // REQUIRES: OwnDramTier().
  void SetDramCapacity(uint64_t bytes) { dram_.SetCapacity(bytes, dram_use().total()); }
  // With dram_total: resizes the DRAM tier, as above, where our structures have grown or left enough since. Cheap where
  // not, and next to nothing without. Not from within an eviction.
  void FollowDram() {
    dram_.Follow([this] { return dram_use().total(); });
  }
  // Our own DRAM now.
  DramUse dram_use() const;
  // The DRAM tier has so many bytes from now on. Hit bits follow; every policy is told, once the tier has moved by an
  // eighth, and those that are made later. Waits for SetPolicy.
  void OnDramCapacity(uint64_t bytes) { dram_.OnCapacity(bytes); }
  // As ScmTier::SetCapacity, and tells.
  Status SetScmCapacity(uint64_t bytes);
  Policy& policy() const { return policy_.get(); }

  ScmTier& scm() { return *scm_; }
  Counters& counters() { return scm_->counters(); }
  // A block that may be demoted is larger than any record: told once, with what would hold it.
  void TellTooLarge(BlockRole role, size_t bytes);
  void CountDramHit(BlockRole role) { dram_.CountHit(role); }
  // All of it: what both have counted.
  CounterSnapshot Snapshot() const { return tiers_.Counters(); }
  DecisionSnapshot Decisions() const { return decisions_.Snapshot(); }
  const HybridCacheOptions& options() const { return options_; }  // as opened: the policy may be another now

  // As CacheCurve's. kNotSupported: curve=off.
  Status MakeCurve(plan::Curve* curve) const;
  Status DumpCurve(const std::string& path) const;

  // All figures, as monitoring has them. With a curve: takes up to some seconds now and then, as Report.
  MetricFamilies Metrics() const;
  // The cache is whole: options.metrics is served from now on. `dram_use()`, of any thread until StopMetrics;
  // empty: nobody knows. Before the first look-up.
  void ServeMetrics(std::function<DramTierUse()> dram_use = {});
  // Nobody is served any more, and `dram_use()` is not called. By whom it refers to, before that goes.
  void StopMetrics();

  // What the hit bits take; 0 without.
  size_t hit_bits_bytes() const { return dram_.hit_bits_bytes(); }
  // What this takes beside the SCM tier, policies, hit bits and what threads keep of what they compact (Heirs).
  static uint64_t OwnBytes();

  // The figures as text (core_figures.h), with the curve's, which may take some seconds.
  std::string Report(UriKind uri = UriKind::kHybrid, CacheCurve::Which curve = CacheCurve::Which::kRecent) const;

 private:
  explicit HybridCore(const HybridCacheOptions& options);
  void OpenCurve();
  void WriteLastCurve() const;

  // Out of line: a hit shall have no more code than it needs.
  template <typename SizeOf>
  [[gnu::noinline]] void NoteUnsettledHit(uint64_t hash, BlockRole role, SizeOf& size_of) {
    dram_.hit_bits()->Set(hash);
    if (dram_.hit_bits()->IsWatched(hash)) curve_->NoteLookUp(hash, role, size_of);
  }

  Status Fits(const Policy& made) const;
  Heat HeatOfLookUp() const;
  // Bytes of blocks that the SCM tier holds, as they pack at present.
  uint64_t BlockCapacity() const;
  void StartMissTimer(const BlockKey& key);
  void StopMissTimer(const BlockKey& key);
  uint64_t NowNs() const;
  CoreFigures Figures() const;
  // SurvivorJudge. A tier that opens over a full medium may have to make room before there is a policy.
  Fate Judge(const RecordFacts& record) override {
    if (!policy_.is_chosen()) [[unlikely]]
      return FateByHeat(record.heat, record.packable);
    return flow_.OnReclaim(record);
  }
  unsigned young_percent() const override {
    return policy_.is_chosen() ? policy().young_percent() : kYoungPercentDefault;
  }
  void Refuse(Event reason, const DramBlock& evicted);

  HybridCacheOptions options_;
  const bool measures_misses_;
  PolicyInForce policy_;
  DramTier dram_{options_, policy_};
  DecisionCounters decisions_;

  LiveTiers tiers_{
      {.options = options_, .policy = policy_, .decisions = decisions_, .scm = scm_, .gate = gate_, .dram = dram_}};
  TierFlow<LiveTiers> flow_{&tiers_};

  std::unique_ptr<ScmTier> scm_;             // after what its reclaim asks
  std::unique_ptr<MoveGate> gate_;           // null: nobody tells of changes; does not change once blocks are looked up
  std::atomic<bool> told_too_large_{false};  // relaxed: publishes nothing
  std::unique_ptr<CacheCurve> curve_;        // null: curve=off; does not change once opened
  bool notes_dram_hits_ = false;             // by hit bits, or for the curve
  std::optional<WarmDram> warm_;             // of an open cache
  // Blocks that RocksDB offered as written, and look-ups of what compactions read. Relaxed: figures.
  struct Offered {
    std::atomic<uint64_t> by_flushes{0}, by_compactions{0}, read_by_compactions{0};
  } offered_;
  ReadBack* read_back_ = nullptr;               // null: nothing is read back; does not change once in use
  MissLatency miss_latency_;                    // with measures_misses_
  std::function<DramTierUse()> dram_tier_use_;  // empty: not known; does not change once blocks are looked up
  std::unique_ptr<MetricsEndpoint> metrics_;    // null: metrics= is not set; last, so that its thread ends first
};

template <typename SizeOf, typename SourceOf>
void HybridCore::Offer(const DramBlock& evicted, SizeOf size_of, SourceOf source_of) noexcept {
  try {
    if (!evicted.can_be_read) return Refuse(Event::kRefusedNotPersistable, evicted);
    if (evicted.key.size() != BlockKey::kBytes) return Refuse(Event::kRefusedKeySize, evicted);
    if (scm_->IsForgotten(BlockKey::FromBytes(evicted.key.data()).file()))
      return Refuse(Event::kRefusedDeadFile, evicted);
    const size_t bytes = size_of();
    if (bytes == 0) return Refuse(Event::kRefusedNotPersistable, evicted);
    const auto source = source_of(bytes);
    OnDramEviction(BlockKey::FromBytes(evicted.key.data()), evicted.role, bytes, evicted.was_hit, source);
  } catch (...) {
    Refuse(Event::kRefusedFillFailed, evicted);
  }
}

template <typename SizeOf, typename SourceOf>
void HybridCore::Save(const DramBlock& block, SizeOf size_of, SourceOf source_of) noexcept {
  try {
    if (!warm_->WantsWrite(block, NowNs())) return;
    const size_t bytes = size_of();
    const auto source = source_of(bytes);
    const bool proven = block.was_hit || IsMetadata(block.role) || dram_.hit_bits() == nullptr;
    if (bytes != 0) warm_->Write(block, bytes, source, proven);
  } catch (...) {
    Refuse(Event::kRefusedFillFailed, block);
  }
}

}  // namespace mezz
