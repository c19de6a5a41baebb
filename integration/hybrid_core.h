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
#include "admission/curves/live_curve.h"
#include "admission/decision_counters.h"
#include "admission/policy.h"
#include "admission/tier_flow.h"
#include "cache/scm_tier.h"
#include "integration/dram_budget.h"
#include "integration/dram_hit_bits.h"
#include "integration/dram_hits.h"
#include "integration/metrics.h"
#include "integration/miss_latency.h"
#include "integration/move_gate.h"
#include "integration/options.h"
#include "integration/read_back.h"
#include "integration/warm_budget.h"

namespace mezz {

// Smaller blocks are copied. A copy of one costs less than its pin, on every medium; and glibc loads and stores its
// smallest copies (up to 512 bytes with 64-byte vectors) whatever the addresses, so adopting would write to the medium.
inline constexpr size_t kInPlaceBytesMin = 1024;

class MetricsEndpoint;
struct CoreFigures;

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
  void GuardMoves() { gate_ = std::make_unique<MoveGate>(); }
  // For a cache whose DRAM tier is ours to resize: resize(bytes) does it. Before the first look-up, after GuardMoves.
  void OwnDramTier(std::function<void(uint64_t bytes)> resize);
  // For a cache with GuardMoves that is being closed, and is asked nothing more. False: the next life finds nothing of
  // what DRAM holds, or is not to (warm_dram). Else whoever has the DRAM tier calls Save for each of its blocks, the
  // hottest first, as long as saves().
  bool StartSaving();
  bool saves() const { return save_left_ != 0; }
  uint64_t save_left() const { return save_left_; }  // bytes

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
  void KeepHitBits(uint64_t dram_bytes);
  // The DRAM tier answered a look-up of a block that may be demoted. `size_of()`: its bytes; rarely asked.
  template <typename SizeOf>
  void NoteDramHit(const BlockKey& key, BlockRole role, SizeOf&& size_of) {
    if (!notes_dram_hits_) return;
    if (hit_bits_ == nullptr) return curve_->NoteLookUp(BlockHash(key), role, size_of);
    const uint64_t hash = BlockHash(key);
    if (!hit_bits_->IsSettled(hash)) [[unlikely]]
      NoteUnsettledHit(hash, role, size_of);
  }

  // The same for a compaction, which is no evidence that a user wants the block; the live curve counts all look-ups.
  template <typename SizeOf>
  void NoteDramRead(const BlockKey& key, BlockRole role, SizeOf&& size_of) {
    if (curve_ != nullptr) curve_->NoteLookUp(BlockHash(key), role, size_of);
  }

  // What a DRAM tier hands over as evicted. `persistable`: there is an object, and it can tell its size and save
  // itself.
  struct Evicted {
    std::string_view key;
    BlockRole role;
    bool was_hit;
    bool persistable;
  };
  // The whole of an eviction callback: refuses, each reason with its counter, what cannot be stored, and passes the
  // rest to OnDramEviction. `size_of()` gives the block's bytes and `source_of(bytes)` a BlockSource; either may throw,
  // which is a refusal too.
  template <typename SizeOf, typename SourceOf>
  void Offer(const Evicted& evicted, SizeOf size_of, SourceOf source_of) noexcept;

  // Has the next life bring the block back into DRAM: its record is marked, and written where the SCM tier has none, as
  // long as saves(). As Offer. REQUIRES: StartSaving().
  template <typename SizeOf, typename SourceOf>
  void Save(const Evicted& block, SizeOf size_of, SourceOf source_of) noexcept;
  // Worth saving before others: DRAM was right to keep it, as far as we know.
  bool SavedFirst(const BlockKey& key, BlockRole role) const {
    return IsMetadata(role) || (hit_bits_ != nullptr && hit_bits_->Has(BlockHash(key)));
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
  // The bytes of a hit, for who has them copied: where they lie, or unpacked into memory of this thread, good until its
  // next call. Nothing: the block could not be unpacked, which is counted; a miss. Charges the model. An image is such
  // a miss: whoever has the file's decompressor unpacks that.
  std::optional<std::span<const std::byte>> BytesToCopy(const PinnedBlock& block);
  // The block is in the DRAM tier now, as `serve` (kPromote or kMove) said.
  void OnPromoted(const BlockKey& key, BlockRole role, Serve serve);

  // From now on the policy of this name decides; docs/explanation/synchronization.md has the word. Each name's policy
  // is made once and kept: one that comes back remembers what it knew when it was replaced. Refuses
  // an unknown name. As FollowDram.
  Status SetPolicy(std::string_view name);
  std::string_view policy_name() const { return policy().name(); }
  // The DRAM tier is to have so many bytes: it is resized, and OnDramCapacity. With dram_total: that follows too.
  // REQUIRES: OwnDramTier().
  void SetDramCapacity(uint64_t bytes);
  // With dram_total: resizes the DRAM tier, as above, where our structures have grown or left enough since. Cheap where
  // not, and next to nothing without. Not from within an eviction.
  void FollowDram() {
    if (budget_.limited()) FollowTotal();
  }
  // Our own DRAM now.
  DramUse dram_use() const;
  // The DRAM tier has so many bytes from now on. Hit bits follow; every policy is told, once the tier has moved by an
  // eighth, and those that are made later. Waits for SetPolicy.
  void OnDramCapacity(uint64_t bytes);
  // As ScmTier::SetCapacity, and tells.
  Status SetScmCapacity(uint64_t bytes);
  Policy& policy() const { return *policy_.load(std::memory_order_acquire); }

  ScmTier& scm() { return *scm_; }
  Counters& counters() { return scm_->counters(); }
  // As counters().Add(Event::kDramHit, role), at a fraction of its cost.
  // A block that may be demoted is larger than any record: told once, with what would hold it.
  void TellTooLarge(BlockRole role, size_t bytes);
  void CountDramHit(BlockRole role) { dram_hits_->Add(role); }
  // All of it: what both have counted.
  CounterSnapshot Snapshot() const;
  DecisionSnapshot Decisions() const { return decisions_.Snapshot(); }
  const HybridCacheOptions& options() const { return options_; }  // as opened: the policy may be another now

  // With options.curve: hit ratios at half, once, twice and four times each tier's present size, as the latest look-ups
  // would have had them; takes up to some seconds. kNotSupported without; kNotFound: too few look-ups, and what to do.
  Status MakeCurve(plan::Curve* curve) const;
  // The same as a file that mezz_plan reads and merges. A reader of `path` sees the old file or the new, whole.
  Status DumpCurve(const std::string& path) const;

  // All figures, as monitoring has them. With a curve: takes up to some seconds now and then, as Report.
  MetricFamilies Metrics() const;
  // The cache is whole: options.metrics is served from now on. `dram_use()`, of any thread until StopMetrics;
  // empty: nobody knows. Before the first look-up.
  void ServeMetrics(std::function<DramTierUse()> dram_use = {});
  // Nobody is served any more, and `dram_use()` is not called. By whom it refers to, before that goes.
  void StopMetrics();

  // What the hit bits take; 0 without.
  size_t hit_bits_bytes() const { return hit_bits_ == nullptr ? 0 : hit_bits_->dram_bytes(); }
  // What this takes beside the SCM tier, policies, hit bits and what threads keep of what they compact (Heirs).
  static uint64_t OwnBytes();

  // Counters and configuration as text, one "name: value" a line. The first line is the URI of a hybrid cache, or of a
  // secondary one. A curve is simulated if the last one is old, which takes up to some seconds, or is the last one that
  // there is.
  enum class UriKind { kHybrid, kScmSecondary };
  enum class CurveIs { kRecent, kLast };
  std::string Report(UriKind uri = UriKind::kHybrid, CurveIs curve_is = CurveIs::kRecent) const;
  // For GetPrintableOptions: RocksDB may hold its mutex, and all writes with it.
  std::string QuickReport() const { return Report(UriKind::kHybrid, CurveIs::kLast); }

 private:
  explicit HybridCore(const HybridCacheOptions& options);
  void OpenCurve();

  // Both tiers, as the flow between them needs them.
  class Tiers {
   public:
    struct Block {
      const BlockKey& key;
      BlockRole role;
      size_t bytes;
      const BlockSource* source = nullptr;  // not null where it may come to a Put
      const Image* image = nullptr;         // of a block that comes from flash, if it is known
      bool evicted = false;                 // a move of bytes that DRAM had: a change of the key may overtake it
    };

    explicit Tiers(HybridCore* core) : core_(*core) {}
    BlockFacts FactsOf(const Block& block) const {
      return {.key = block.key,
              .role = block.role,
              .bytes = static_cast<uint32_t>(block.bytes),
              .scm_hollow = block.evicted && core_.scm_->IsHollow(),
              .past_dram = block.role == BlockRole::kBlob && keeps_blobs_from_dram()};
    }
    Policy& policy() const { return core_.policy(); }
    bool keeps_blobs_from_dram() const { return core_.options_.blobs == BlobPlacement::kScm; }
    bool NoteDramEviction(const Block& block);
    bool packs() const { return core_.options_.scm.pack != PackMode::kOff; }
    std::optional<Codec> codec() const {
      return core_.measures_misses_ ? std::nullopt : CodecOf(core_.options_.scm.pack);
    }
    void UseCodec(std::optional<Codec> codec);
    unsigned ZstdPercent() const { return core_.scm_->zstd_percent(); }
    bool grows() const {
      return core_.scm_->ready_bytes() < core_.scm_->capacity_bytes() && core_.scm_->PrepareStatus().ok();
    }
    uint32_t PackedBytes(uint32_t bytes) const { return core_.scm_->PackedBytesExpected(bytes); }
    uint32_t ImageBytes(const Block& block) const;
    void NotePromoted(const Block& block) { core_.scm_->NotePromoted(block.key); }
    void Erase(const Block& block) { core_.scm_->Erase(block.key); }
    bool Put(const Block& block, Generation generation, Form form);
    void Count(Event event, BlockRole role) { core_.counters().Add(event, role); }
    void Count(DecisionPoint point, const Decision& decision, BlockRole role) {
      core_.decisions_.Add(point, decision, role);
    }
    uint64_t DramHits() const { return core_.Snapshot()[Event::kDramHit]; }

   private:
    HybridCore& core_;
  };

  // Out of line: a hit shall have no more code than it needs.
  template <typename SizeOf>
  [[gnu::noinline]] void NoteUnsettledHit(uint64_t hash, BlockRole role, SizeOf& size_of) {
    hit_bits_->Set(hash);
    if (hit_bits_->IsWatched(hash)) curve_->NoteLookUp(hash, role, size_of);
  }

  Heat HeatOfLookUp() const;
  // SurvivorJudge
  // Bytes of blocks that the SCM tier holds, as they pack at present.
  uint64_t BlockCapacity() const;
  void NotePacking();
  void StartMissTimer(const BlockKey& key);
  void StopMissTimer(const BlockKey& key);
  uint64_t NowNs() const;
  std::string PackedText(const CounterSnapshot& counters) const;
  void TellCapacityLocked();
  void CountPoliciesLocked();
  Status ChoosePolicy(std::string_view name);
  void FollowTotal();
  bool BringsBack(const PinnedBlock& block);
  bool MaySave(const Evicted& block);
  void WriteSaved(const Evicted& block, size_t bytes, BlockSource source);
  void ResizeDram(uint64_t bytes);
  std::string DramText() const;
  std::string HeirsText(const CounterSnapshot& counters) const;
  // REQUIRES: the mutex of latest_curve_ is held. With curve_file, writes it when the curve is new.
  void FollowCurveLocked(uint64_t sampled) const;
  std::string CurveText(CurveIs curve_is) const;
  Status WriteCurve(const plan::Curve& curve, const std::string& path) const;
  plan::LiveCurve::LookUps LookUps() const;
  CoreFigures Figures() const;
  ReadBackCounts read_back_counts() const { return read_back_ == nullptr ? ReadBackCounts{} : read_back_->counts(); }
  void ReadCurve(CoreFigures* figures) const;
  // A tier that opens over a full medium may have to make room before there is a policy.
  Fate Judge(const RecordFacts& record) override {
    if (policy_.load(std::memory_order_acquire) == nullptr) [[unlikely]]
      return FateByHeat(record.heat, record.packable);
    return flow_.OnReclaim(record);
  }
  unsigned young_percent() const override {
    const Policy* const policy = policy_.load(std::memory_order_acquire);
    return policy == nullptr ? kYoungPercentDefault : policy->young_percent();
  }
  void Refuse(Event reason, const Evicted& evicted);

  HybridCacheOptions options_;
  const bool measures_misses_;
  const uint64_t machine_bytes_;
  PolicyOptions policy_options_;  // dram_bytes guarded by policies_mutex_, once opened
  DecisionCounters decisions_;

  mutable std::mutex policies_mutex_;
  uint64_t told_scm_bytes_ = 0;                    // guarded by policies_mutex_: the SCM tier's capacity
  uint64_t told_dram_bytes_ = 0;                   // guarded by policies_mutex_: the DRAM tier's
  uint64_t dram_tier_bytes_ = 0;                   // guarded by policies_mutex_: what it has, which may be nothing
  std::atomic<uint64_t> told_block_capacity_{0};   // stored under policies_mutex_; relaxed: a hint
  std::atomic<uint64_t> policies_bytes_{0};        // stored under policies_mutex_; relaxed: a figure
  std::vector<std::unique_ptr<Policy>> policies_;  // guarded by policies_mutex_; each name once, never removed
  // One of policies_. null --Open--> first --SetPolicy: release store--> another, any number of times. Who loads it
  // (acquire) sees that policy as it was made, and may use it after it was replaced: it lives as long as this object.
  std::atomic<Policy*> policy_{nullptr};

  Tiers tiers_{this};
  TierFlow<Tiers> flow_{&tiers_};

  DramBudget budget_;
  std::unique_ptr<ScmTier> scm_;    // after what its reclaim asks
  std::unique_ptr<MoveGate> gate_;  // null: nobody tells of changes; does not change once blocks are looked up
  std::function<void(uint64_t)> resize_dram_;  // empty: not ours; does not change once blocks are looked up
  std::atomic<bool> told_too_large_{false};    // relaxed: publishes nothing
  std::unique_ptr<DramHits> dram_hits_;
  std::unique_ptr<DramHitBits> hit_bits_;   // null: the DRAM tier tells; does not change once blocks are looked up
  std::unique_ptr<plan::LiveCurve> curve_;  // null: curve=off; does not change once opened
  bool notes_dram_hits_ = false;            // either of them is there
  WarmBudget warm_;                         // does not grow once blocks are looked up
  uint64_t save_left_ = 0;                  // bytes that may still be written; of the closing thread
  uint64_t save_until_ns_ = 0;              // by then all is written; of the closing thread
  struct LatestCurve {
    std::mutex mutex;
    plan::Curve curve;     // guarded by mutex, as what follows
    std::string text;      // of the report; empty: there was none yet
    uint64_t sampled = 0;  // look-ups of which they were made
  };
  std::unique_ptr<LatestCurve> latest_curve_;  // there with curve_
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
void HybridCore::Offer(const Evicted& evicted, SizeOf size_of, SourceOf source_of) noexcept {
  try {
    if (!evicted.persistable) return Refuse(Event::kRefusedNotPersistable, evicted);
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
void HybridCore::Save(const Evicted& block, SizeOf size_of, SourceOf source_of) noexcept {
  try {
    if (!MaySave(block)) return;
    const size_t bytes = size_of();
    const auto source = source_of(bytes);
    if (bytes != 0) WriteSaved(block, bytes, source);
  } catch (...) {
    Refuse(Event::kRefusedFillFailed, block);
  }
}

}  // namespace mezz
