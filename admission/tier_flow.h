// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>

#include "admission/codec_choice.h"
#include "admission/decision_counters.h"
#include "admission/form_rule.h"
#include "admission/policy.h"
#include "cache/counters.h"
#include "cache/survivor_judge.h"
#include "cache/types.h"

namespace mezz {

// Where a block that comes from flash goes. With kScm and kBoth it has already been written to SCM.
enum class Placement : uint8_t { kDram, kScm, kBoth, kNowhere };

// Whether the change of a capacity is large enough to tell policies: an eighth. They start tuning themselves anew with
// each.
inline bool IsCapacityStep(uint64_t told, uint64_t now) {
  return now != told && (now >= told + told / 8 || now + told / 8 <= told);
}

// The steps of a block between flash, DRAM and SCM: where the policy is asked, what it is told, what each of its
// answers does, and what is counted. The live cache and mezz_sim are two instances of this over their own tiers, so
// they cannot differ in any of it.
//
//   look-up misses DRAM    OnDramMiss; then the tiers look in SCM
//   SCM hit                OnScmHit -> kInPlace: serve it. kPromote, kMove: insert it into DRAM, then OnPromoted
//   miss in both           OnMiss -> kDram: insert it into DRAM. kScm: SCM has it already. kBoth: insert it into DRAM
//                          too; its image is in SCM, so its eviction will be clean. kNowhere: do nothing
//   flush, compaction      OnWarm -> as OnMiss, but not kBoth. Nobody waits for the block
//   DRAM evicts            OnDramEviction: written, kept, or refused
//   reclaim reaches it     OnReclaim -> its fate; of ordered media OnDemotion, if that lets it go from the fast ones
//   a record is written    FormOf: raw or packed
//   a miss was measured    OnFlashRead: what records are packed with may change
//
// An answer that is not allowed at its point is counted as such (DecisionSnapshot::invalid), and replaced by what the
// tiers would do without a policy: DRAM on a miss and for written blocks, in place on a hit, refuse on an eviction,
// drop on reclaim.
//
// `Tiers` has what the flow needs of both tiers. Calls are direct and inlined:
//
//   using Block                                       names a block; has its bytes when it is passed to Put
//   BlockFacts FactsOf(const Block&) const            key, role and bytes
//   Policy& policy() const                            the present policy
//   bool keeps_blobs_from_dram() const                FactsOf may say bypass_dram; constant
//   bool NoteDramEviction(const Block&)               the block leaves DRAM; true: SCM has a record of it
//   bool packs() const                                records may be packed; constant
//   optional<Codec> codec() const                     the codec; empty: CodecChoice chooses it. REQUIRES: packs()
//   unsigned ZstdPercent() const                      for CodecChoice
//   void UseCodec(optional<Codec>)                    the codec that CodecChoice chose; empty: do not pack
//   bool grows() const                                SCM does not have its whole size yet, so there will be room
//   uint32_t PackedBytes(uint32_t bytes) const        the size of a packed record of a block of `bytes`
//   uint32_t ImageBytes(const Block&) const           OnMiss: the size of a record of its image; 0: there is none
//   bool Put(const Block&, Generation, Form)          writes a record, packed from the image if there is one; false:
//                                                     there is no room, which is counted
//   void NotePromoted(const Block&)                   SCM's record, if it is still there, is a second copy now
//   void Erase(const Block&)                          forgets the record
//   void Count(Event, BlockRole)
//   void Count(DecisionPoint, const Decision&, BlockRole)
//   uint64_t DramHits() const                         all DRAM hits so far
//
// As thread-safe as its tiers. Neither blocks nor allocates.
template <typename Tiers>
class TierFlow {
 public:
  using Block = typename Tiers::Block;

  // `tiers` must outlive this; it may be the object that owns this.
  explicit TierFlow(Tiers* tiers) : tiers_(*tiers) {}
  TierFlow(const TierFlow&) = delete;
  TierFlow& operator=(const TierFlow&) = delete;

  // Call it when a look-up missed the DRAM tier, whatever happens next. Each thread's every kTellEvery-th call passes
  // on how many hits the DRAM tier had meanwhile; doing that at each hit would cost more than the hit.
  void OnDramMiss() {
    std::atomic<uint32_t>& misses = stripes_[StripeOfThisThread()].misses;
    const uint32_t counted = misses.load(std::memory_order_relaxed) + 1;
    misses.store(counted, std::memory_order_relaxed);
    if (counted % kTellEvery == 0) TellDramHits();
  }

  // Tells the policy of DRAM hits that no policy was told of yet.
  void TellDramHits() {
    const uint64_t hits = tiers_.DramHits();
    uint64_t reported = reported_hits_.load(std::memory_order_relaxed);
    while (hits > reported) {
      if (reported_hits_.compare_exchange_weak(reported, hits, std::memory_order_relaxed, std::memory_order_relaxed))
        return tiers_.policy().OnDramHits(hits - reported);
    }
  }

  // Call it when the SCM tier has a block that DRAM does not have. `heat`: of the record, including this hit.
  Action OnScmHit(const Block& block, uint8_t heat, bool by_compaction, Form form = Form::kRaw) {
    BlockFacts facts = tiers_.FactsOf(block);
    facts.in_scm = true;
    facts.packed = form == Form::kPacked;
    if (facts.packed) facts.codec = codec();
    facts.scm_heat = heat;
    facts.by_compaction = by_compaction;
    const Decision decision = ForTier(facts, tiers_.policy().OnScmHit(facts));
    const Action action = Counted(DecisionPoint::kScmHit, decision, facts.role).action;
    return action == Action::kPromote || action == Action::kMove ? action : Action::kInPlace;
  }

  // Call it when the block is in the DRAM tier, as `action` of OnScmHit asked. If it is evicted meanwhile, that counts
  // as clean, and after kMove the block is then in neither tier; a cache may forget.
  void OnPromoted(const Block& block, Action action) {
    assert(action == Action::kPromote || action == Action::kMove);
    if (action == Action::kMove) {
      tiers_.Erase(block);
    } else {
      tiers_.NotePromoted(block);
    }
    tiers_.Count(Event::kPromotion, tiers_.FactsOf(block).role);
  }

  // False: OnMiss would always answer kDram, so it need not be called.
  bool wants_misses() const { return tiers_.policy().may_divert_misses() || tiers_.keeps_blobs_from_dram(); }
  Placement OnMiss(const Block& block, bool by_compaction) {
    BlockFacts facts = tiers_.FactsOf(block);
    facts.by_compaction = by_compaction;
    const Decision form = FormToBe(&facts);
    if (form.action == Action::kPack) facts.image_bytes = tiers_.ImageBytes(block);
    if (facts.image_bytes != 0) facts.packed_bytes = facts.image_bytes;
    const Decision decision = Counted(DecisionPoint::kMiss, ForTier(facts, tiers_.policy().OnMiss(facts)), facts.role);
    switch (decision.action) {
      case Action::kToScm:
        if (!Put(block, GenerationOf(decision), form, facts.role)) return WithoutRoom(facts);
        tiers_.Count(Event::kInsertToScm, facts.role);
        return Placement::kScm;
      case Action::kToBoth:
        if (facts.image_bytes == 0 || !Put(block, GenerationOf(decision), form, facts.role)) return Placement::kDram;
        tiers_.Count(Event::kInsertToBoth, facts.role);
        tiers_.NotePromoted(block);  // before the block can be evicted
        return Placement::kBoth;
      case Action::kBypass:
        tiers_.Count(Event::kInsertBypassed, facts.role);
        return Placement::kNowhere;
      default:
        return Placement::kDram;
    }
  }

  // Call it when RocksDB has written the block and offers it. If SCM has no room it is dropped, as nobody asked for it
  // yet.
  Placement OnWarm(const Block& block, const Lineage& lineage) {
    BlockFacts facts = tiers_.FactsOf(block);
    const Decision form = FormToBe(&facts);
    const Decision decision =
        Counted(DecisionPoint::kWarm, ForTier(facts, tiers_.policy().OnWarm(facts, lineage)), facts.role);
    if (decision.action == Action::kToScm && Put(block, GenerationOf(decision), form, facts.role)) {
      tiers_.Count(Event::kInsertToScm, facts.role);
      return Placement::kScm;
    }
    if (decision.action != Action::kToScm && decision.action != Action::kBypass) return Placement::kDram;
    tiers_.Count(Event::kInsertBypassed, facts.role);
    return Placement::kNowhere;
  }
  // How often the block was asked for lately, as the policy knows.
  uint8_t Frequency(const BlockKey& key) const { return tiers_.policy().Frequency(key); }

  // Call it when DRAM evicts the block. It is not known whether a compaction inserted the block, and the evicting
  // thread does not tell. A policy that does not want such blocks refuses them at the miss.
  void OnDramEviction(const Block& block, bool was_hit) {
    BlockFacts facts = tiers_.FactsOf(block);
    tiers_.Count(Event::kDramEviction, facts.role);
    facts.was_hit_in_dram = was_hit;
    facts.in_scm = tiers_.NoteDramEviction(block);
    const Decision form = FormToBe(&facts);
    const Decision decision = Counted(DecisionPoint::kDramEviction, tiers_.policy().OnDramEviction(facts), facts.role);
    switch (decision.action) {
      case Action::kKeep:
        return tiers_.Count(Event::kCleanEviction, facts.role);
      case Action::kToScm:
        if (Put(block, GenerationOf(decision), form, facts.role)) tiers_.Count(Event::kDemotion, facts.role);
        return;
      default:
        return tiers_.Count(Event::kRefusedPolicy, facts.role);
    }
  }

  // What the policy wants reclaim to do with the record.
  Fate OnReclaim(const RecordFacts& record) {
    if (!form_rule_.reclaimed() && !tiers_.grows()) form_rule_.OnReclaim();
    const BlockFacts facts{.key = record.key,
                           .role = record.role,
                           .bytes = record.payload_bytes,
                           .packed_bytes = record.packable ? tiers_.PackedBytes(record.payload_bytes) : 0,
                           .codec = codec(),
                           .in_scm = true,
                           .packed = record.packed,
                           .packable = record.packable,
                           .demotable = record.demotable,
                           .in_dram = record.in_dram,
                           .proven = record.generation == Generation::kProven,
                           .scm_heat = record.heat};
    Decision decision = tiers_.policy().OnReclaim(facts);
    if (decision.action == Action::kDrop && facts.demotable && !facts.in_dram)
      decision = tiers_.policy().OnDemotion(facts);
    switch (Counted(DecisionPoint::kReclaim, decision, facts.role).action) {
      case Action::kSpare:
        return Fate::kSpare;
      case Action::kPack:
        return Fate::kPack;
      case Action::kDemote:
        return Fate::kDemote;
      default:
        return Fate::kDrop;
    }
  }

  // The form of a record that is written without asking the policy.
  Form FormOf(BlockRole role) {
    if (!tiers_.packs()) return Form::kRaw;
    return ToForm(Counted(DecisionPoint::kForm, FormDecision(role), role));
  }
  // Whether new records are packed, if their role allows it.
  bool packs_now() const { return codec().has_value() && form_rule_.reclaimed(); }
  // The codec of new records. Empty: they are raw.
  std::optional<Codec> codec() const {
    if (!tiers_.packs()) return std::nullopt;
    const std::optional<Codec> fixed = tiers_.codec();
    return fixed ? fixed : codec_choice_.codec();
  }

  // The bytes of blocks that an SCM tier of `scm_bytes` holds, as blocks pack at present.
  uint64_t BlockCapacity(uint64_t scm_bytes) const {
    if (!packs_now()) return scm_bytes;
    constexpr uint32_t kUnit = 1 << 12;
    constexpr double kMostPerByte = 4;  // as far as the index grows, and as PolicyOptions::packs says
    const double packed = std::max(1u, tiers_.PackedBytes(kUnit));
    return static_cast<uint64_t>(static_cast<double>(scm_bytes) * std::min(kUnit / packed, kMostPerByte));
  }

  // Tells how long a miss took until its block was there, for CodecChoice.
  void OnFlashRead(uint64_t ns) {
    if (!codec_choice_.OnMiss(ns, tiers_.ZstdPercent())) return;
    // The thread that tells last has seen the last choice.
    for (std::optional<Codec> told;
         told = codec_choice_.codec(), tiers_.UseCodec(told), told != codec_choice_.codec();) {
    }
  }
  // The mean time of a flash read. 0: none was measured.
  uint64_t flash_read_ns() const { return codec_choice_.mean_ns(); }
  // Tells that the SCM tier was enlarged.
  void OnScmGrown() { form_rule_.OnGrown(); }

  static constexpr uint32_t kTellEvery = 1024;

 private:
  static Generation GenerationOf(const Decision& decision) {
    return decision.proven ? Generation::kProven : Generation::kYoung;
  }
  static Decision ForTier(const BlockFacts& facts, const Decision& decision) {
    return facts.bypass_dram ? KeptFromDram(decision) : decision;
  }
  Placement WithoutRoom(const BlockFacts& facts) {
    if (!facts.bypass_dram) return Placement::kDram;
    tiers_.Count(Event::kInsertBypassed, facts.role);
    return Placement::kNowhere;
  }
  static Form ToForm(const Decision& decision) { return decision.action == Action::kPack ? Form::kPacked : Form::kRaw; }
  Decision FormDecision(BlockRole role) const {
    const Decision form = form_rule_.OnPut(role);
    return form.action == Action::kPack && !tiers_.codec() ? codec_choice_.OnPut() : form;
  }
  Decision FormToBe(BlockFacts* facts) const {
    if (!tiers_.packs()) return {Action::kRaw, Reason::kPolicyDefault};
    facts->codec = codec();
    const Decision form = FormDecision(facts->role);
    if (form.action == Action::kPack) facts->packed_bytes = tiers_.PackedBytes(facts->bytes);
    return form;
  }
  // Writes a record. `form` is counted if the tiers can pack.
  bool Put(const Block& block, Generation generation, const Decision& form, BlockRole role) {
    if (tiers_.packs()) Counted(DecisionPoint::kForm, form, role);
    return tiers_.Put(block, generation, ToForm(form));
  }
  Decision Counted(DecisionPoint point, const Decision& decision, BlockRole role) {
    tiers_.Count(point, decision, role);
    return decision;
  }

  // Look-ups that missed DRAM, counted by each stripe of threads. Relaxed load and store: threads of the shared stripe
  // may lose a count, so that the next telling comes a little later.
  struct alignas(kLineBytes) Stripe {
    std::atomic<uint32_t> misses{0};
  };

  Tiers& tiers_;
  FormRule form_rule_;
  CodecChoice codec_choice_;
  std::array<Stripe, kStripes> stripes_;
  // How many DRAM hits policies were told of. It grows by a relaxed CAS; the thread that wins tells of these hits, so
  // each is told once.
  std::atomic<uint64_t> reported_hits_{0};
};

}  // namespace mezz
