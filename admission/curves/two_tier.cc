// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/two_tier.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <span>

#include "admission/curves/block_key.h"
#include "admission/tier_flow.h"

namespace mezz::sim {
namespace {

constexpr size_t kBlocksAhead = 12;  // that are prefetched
constexpr uint64_t kNsPerUs = 1000;

ScmModelOptions WithSharesOf(const Policy& policy, ScmModelOptions options) {
  options.requeue_percent = policy.requeue_percent();
  return options;
}

template <typename Dram>
class TwoTier final : public TwoTierRun {
 public:
  // As TierFlow needs the tiers.
  using Block = BlockId;

  TwoTier(const BlockTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock)
      : trace_(trace),
        options_(options),
        policy_(policy),
        clock_(clock),
        charges_(options.dram_charges),
        dram_(trace.unique(), charges_, options.dram),
        pack_(MakePack(trace, options)),
        scm_(trace.unique(), options.record_units, WithSharesOf(*policy, options.scm), pack_.get()),
        flow_(this),
        judge_([this](const ScmModel::Reached& reached) { return Judge(reached); }) {
    if (packs()) TellCapacity();
    if (!follows_events()) return;
    found_.resize(trace.unique());
    dead_.resize(trace.unique());
  }

  void Run(size_t from, size_t to) override {
    assert(from <= to && to <= trace_.accesses().size());
    RunRange(from, to);
    counted_ += to - from;
  }

  void StartCounting() override {
    counted_ = 0;
    events_before_ = events_;
    decisions_before_ = decisions_;
    scm_before_ = scm_.counts();
    slow_before_ = scm_.counts(Level::kSlow);
    slow_hits_ = {};
    if (!packs()) return;
    tries_before_ = pack_->tries();
    rejected_before_ = pack_->rejected();
  }

  SimCounts Counts() override {
    flow_.TellDramHits();
    SimCounts counts = CountsOf(counted_, events_ - events_before_, decisions_ - decisions_before_, scm_before_);
    counts.slow = CountsOfSlow();
    if (!packs()) return counts;
    counts.pack_tries = pack_->tries() - tries_before_;
    counts.pack_rejected = pack_->rejected() - rejected_before_;
    return counts;
  }

  void Audit(std::vector<std::string>* violations) const override {
    dram_.Audit(violations);
    scm_.Audit(violations);
  }

  BlockFacts FactsOf(BlockId block) const {
    return {.key = BlockKeyOf(trace_.key(block)),
            .role = trace_.role(block),
            .bytes = BytesOf(block),
            .scm_sparse = scm_.sparse()};
  }
  Policy& policy() const { return *policy_; }
  bool keeps_blobs_from_dram() const { return false; }
  bool NoteDramEviction(BlockId block) { return scm_.NoteDramEviction(block); }
  void NotePromoted(BlockId block) { scm_.SetDram(block, true); }
  void Erase(BlockId block) { scm_.Erase(block); }
  bool packs() const { return pack_ != nullptr; }
  std::optional<Codec> codec() const { return options_.pack->codec; }
  void UseCodec(std::optional<Codec>) {}  // never asked: the codec is fixed
  unsigned ZstdPercent() const { return 0; }
  bool grows() const { return false; }
  uint32_t PackedBytes(uint32_t bytes) const { return pack_->PackedBytes(bytes); }
  uint32_t ImageBytes(BlockId) const { return 0; }
  bool Put(BlockId block, Generation generation, Form form) {
    if (packs()) NotePacking();
    scm_.SetYoungPercent(policy_->young_percent());
    return scm_.Put(block, generation, form, judge_);
  }
  void Count(Event event, BlockRole role) {
    CounterSnapshot& counts = compacts_ && IsAnswer(event) ? compaction_events_ : events_;
    ++counts.by_role[static_cast<size_t>(event)][static_cast<size_t>(role)];
  }
  void Count(DecisionPoint point, const Decision& decision, BlockRole role) { decisions_.Add(point, decision, role); }
  uint64_t DramHits() const { return events_[Event::kDramHit] + compaction_events_[Event::kDramHit]; }

 private:
  // As the tiers take it.
  uint32_t BytesOf(BlockId block) const {
    return options_.dram_charges.empty() ? trace_.unit_bytes() : trace_.bytes(block);
  }
  static std::unique_ptr<PackModel> MakePack(const BlockTrace& trace, const TwoTierOptions& options) {
    if (!options.pack) return nullptr;
    return std::make_unique<PackModel>(options.pack->codec, trace, options.pack->block_bytes,
                                       options.pack->codec_bytes);
  }

  Fate Judge(const ScmModel::Reached& reached) {
    return flow_.OnReclaim(
        {.key = BlockKeyOf(trace_.key(reached.block)),
         .role = trace_.role(reached.block),
         .payload_bytes = reached.packed ? pack_->payload_bytes(reached.block) : BytesOf(reached.block),
         .generation = reached.generation,
         .heat = scm_.heat(reached.block),
         .in_dram = scm_.dram(reached.block),
         .packed = reached.packed,
         .packable = reached.packable,
         .demotable = reached.demotable});
  }

  void NotePacking() {
    if (IsCapacityStep(reported_capacity_, flow_.BlockCapacity(options_.pack->scm_bytes))) TellCapacity();
  }
  void TellCapacity() {
    reported_capacity_ = flow_.BlockCapacity(options_.pack->scm_bytes);
    policy_->OnCapacity(options_.pack->dram_bytes, reported_capacity_);
  }

  void RunRange(size_t from, size_t to) {
    const std::vector<BlockId>& accesses = trace_.accesses();
    for (size_t at = from; at < to; ++at) {
      if (at + kBlocksAhead < to) {
        dram_.Prefetch(accesses[at + kBlocksAhead]);
        scm_.Prefetch(accesses[at + kBlocksAhead]);
      }
      if (trace_.has_time()) {
        clock_->now_ns = std::max(clock_->now_ns, trace_.time_us()[at] * kNsPerUs);
      } else {
        clock_->now_ns += options_.access_ns;
      }
      if (follows_events()) FollowEvents(at);
      Access(accesses[at]);
    }
  }

  // Where a look-up found its block.
  static bool IsAnswer(Event event) {
    return event == Event::kDramHit || event == Event::kServedInPlace || event == Event::kServedCopied ||
           event == Event::kPromotion || event == Event::kScmPackedHit || event == Event::kMiss;
  }
  bool follows_events() const { return options_.heirs && !trace_.events().events.empty(); }
  // Those that come before this access.
  void FollowEvents(size_t at) {
    const TraceEvents& events = trace_.events();
    for (; next_event_ < events.events.size() && events.events[next_event_].before <= at; ++next_event_) {
      const TraceEvent& event = events.events[next_event_];
      clock_->now_ns = std::max(clock_->now_ns, event.time_us * kNsPerUs);
      switch (event.kind) {
        case BlockEventKind::kCompactionLookUp:
          compacts_ = true;
          found_[event.block] = FindForCompaction(event);
          compacts_ = false;
          break;
        case BlockEventKind::kFlushed:
        case BlockEventKind::kCompacted:
          Warm(event);
          break;
        case BlockEventKind::kFileDeleted:
          for (const BlockId block : events.DeadOf(event)) {
            dead_[block] = true;
            scm_.EraseDead(block);
          }
          break;
      }
    }
  }

  // Neither hit nor miss is a user's, and what is missed is not kept.
  Parent FindForCompaction(const TraceEvent& event) {
    const BlockId block = event.block;
    Parent found{.frequency = flow_.Frequency(BlockKeyOf(trace_.key(block))),
                 .entries = static_cast<uint16_t>(std::clamp<uint32_t>(event.keys, 1, UINT16_MAX))};
    if (dram_.HitByCompaction(block)) {
      Count(Event::kDramHit, trace_.role(block));
      found.standing = Standing::kDram;
      return found;
    }
    flow_.OnDramMiss();
    if (!scm_.Contains(block)) {
      Count(Event::kMiss, trace_.role(block));
      return {};
    }
    const uint8_t heat = scm_.HandOver(block);
    ServeFromScm(block, heat);
    found.standing = heat > 0 ? Standing::kScmHot : Standing::kScmCold;
    return found;
  }

  void Warm(const TraceEvent& event) {
    if (flow_.OnWarm(event.block, LineageOf(event)) != Placement::kDram) return;
    // As RocksDB inserts what it warms the cache with.
    InsertToDram(event.block, event.kind == BlockEventKind::kCompacted ? DramPriority::kBottom : DramPriority::kLow);
  }

  // By where its parents stood when they were looked up: as Heirs does it.
  Lineage LineageOf(const TraceEvent& event) const {
    const std::span<const ParentShare<BlockId>> shares = trace_.events().SharesOf(event);
    if (shares.empty()) return event.lineage;
    Lineage::Sum sum;
    for (size_t at = 0; at < shares.size();) {
      const uint32_t keys = shares[at].keys;
      Parent best;
      do {
        const BlockId parent = shares[at].parent;
        if (parent != shares[at].kNoParent && found_[parent].standing >= best.standing) best = found_[parent];
      } while (++at < shares.size() && shares[at].keys == 0);
      for (uint32_t key = 0; key < keys; ++key) sum.Add(best);
    }
    return sum.Result();
  }

  void Access(BlockId block) {
    if (dram_.Hit(block)) return Count(Event::kDramHit, trace_.role(block));
    flow_.OnDramMiss();
    if (scm_.Contains(block)) {
      ScmHit(block);
    } else {
      Count(Event::kMiss, trace_.role(block));
      if (!flow_.wants_misses() || flow_.OnMiss(block, /*by_compaction=*/false) == Placement::kDram)
        InsertToDram(block);
    }
  }

  void ScmHit(BlockId block) { ServeFromScm(block, scm_.Warm(block)); }

  void ServeFromScm(BlockId block, uint8_t heat) {
    const Form form = scm_.form(block);
    const bool packed = form == Form::kPacked;
    if (packed) Count(Event::kScmPackedHit, trace_.role(block));
    const Action action = flow_.OnScmHit(block, heat, compacts_, form);
    if (scm_.level(block) == Level::kSlow && !compacts_) CountSlowHit(action, packed);
    if (action == Action::kInPlace)
      return Count(packed ? Event::kServedCopied : Event::kServedInPlace, trace_.role(block));
    InsertToDram(block);
    flow_.OnPromoted(block, action);
  }

  void CountSlowHit(Action action, bool packed) {
    if (action == Action::kInPlace) {
      ++(packed ? slow_hits_.unpacked : slow_hits_.in_place);
    } else {
      ++slow_hits_.promotions;
      slow_hits_.packed_promotions += packed;
    }
  }

  void InsertToDram(BlockId block) { InsertToDram(block, PriorityOf(trace_.role(block))); }
  void InsertToDram(BlockId block, DramPriority priority) {
    dram_.Insert(block, priority, [this](BlockId leaving, bool was_hit) {
      if (follows_events() && dead_[leaving]) return Count(Event::kRefusedDeadFile, trace_.role(leaving));
      flow_.OnDramEviction(leaving, was_hit);
    });
  }

  SimCounts CountsOf(uint64_t accesses, const CounterSnapshot& events, const DecisionSnapshot& decisions,
                     const ScmCounts& scm_before) const {
    const ScmCounts scm = scm_.counts() - scm_before;
    return {.accesses = accesses,
            .dram_hits = events[Event::kDramHit],
            .scm_in_place = events[Event::kServedInPlace],
            .scm_unpacked = events[Event::kServedCopied],
            .promotions = events[Event::kPromotion],
            .packed_promotions = events[Event::kScmPackedHit] - events[Event::kServedCopied],
            .moves = decisions.of(DecisionPoint::kScmHit, Action::kMove),
            .misses = events[Event::kMiss],
            .demotions = events[Event::kDemotion],
            .inserts_to_scm = events[Event::kInsertToScm],
            .second_chances = scm.second_chances,
            .packed_second_chances = scm.packed_second_chances,
            .packed_at_reclaim = scm.packed_at_reclaim,
            .requeued_segments = scm.requeued_segments,
            .level_demotions = scm.demoted,
            .level_demoted_units = scm.demoted_units,
            .packed_level_demotions = scm.packed_demoted,
            .scm_written_units = scm.written_units,
            .packed_writes = scm.packed_writes,
            .packed_bytes = scm.packed_units,
            .scm_refused = scm.refused,
            .spare_refused = scm.spare_refused,
            .ghost_hits = decisions.of(Reason::kGhost),
            .decisions = decisions,
            .events = events};
  }
  SlowCounts CountsOfSlow() const {
    const ScmCounts scm = scm_.counts(Level::kSlow) - slow_before_;
    SlowCounts slow = slow_hits_;
    slow.second_chances = scm.second_chances;
    slow.packed_second_chances = scm.packed_second_chances;
    slow.packed_at_reclaim = scm.packed_at_reclaim;
    return slow;
  }

  const BlockTrace& trace_;
  const TwoTierOptions& options_;
  Policy* const policy_;
  SimClock* const clock_;
  const Charges charges_;
  Dram dram_;
  const std::unique_ptr<PackModel> pack_;  // null: all is raw
  ScmModel scm_;
  TierFlow<TwoTier> flow_;
  const ScmLevelModel::Judge judge_;  // calls Judge()
  CounterSnapshot events_;
  DecisionSnapshot decisions_;
  uint64_t reported_capacity_ = 0;  // to the policy
  // Of a trace with events:
  size_t next_event_ = 0;
  bool compacts_ = false;              // a compaction looks a block up
  CounterSnapshot compaction_events_;  // its answers
  std::vector<Parent> found_;          // by block, as a compaction found it last
  std::vector<bool> dead_;             // by block: its file is deleted
  // As it was when counting began.
  uint64_t counted_ = 0;
  CounterSnapshot events_before_;
  DecisionSnapshot decisions_before_;
  ScmCounts scm_before_;
  ScmCounts slow_before_;
  SlowCounts slow_hits_;  // since then
  uint64_t tries_before_ = 0;
  uint64_t rejected_before_ = 0;
};

}  // namespace

std::unique_ptr<TwoTierRun> StartTwoTier(const BlockTrace& trace, const TwoTierOptions& options, Policy* policy,
                                         SimClock* clock) {
  if (options.dram_cache == DramCache::kLru) return std::make_unique<TwoTier<LruModel>>(trace, options, policy, clock);
  return std::make_unique<TwoTier<HccModel>>(trace, options, policy, clock);
}

SimCounts RunTwoTier(const BlockTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock,
                     std::vector<std::string>* violations) {
  const std::unique_ptr<TwoTierRun> tiers = StartTwoTier(trace, options, policy, clock);
  const size_t accesses = trace.accesses().size();
  const size_t warmup = std::min<size_t>(options.warmup_accesses, accesses);
  tiers->Run(0, warmup);
  tiers->StartCounting();
  tiers->Run(warmup, accesses);
  const SimCounts counts = tiers->Counts();
  tiers->Audit(violations);
  if (counts.dram_hits + counts.scm_hits() + counts.misses != counts.accesses)
    violations->push_back("hits and misses are not the accesses");
  return counts;
}

}  // namespace mezz::sim
