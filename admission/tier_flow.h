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

// Where a block that comes from flash goes. kScm, kBoth: it is written to SCM already.
enum class Placement : uint8_t { kDram, kScm, kBoth, kNowhere };

// Policies follow a tier's capacity by steps of an eighth: what they tune themselves by begins anew with each.
inline bool IsCapacityStep(uint64_t told, uint64_t now) {
  return now != told && (now >= told + told / 8 || now + told / 8 <= told);
}

// The steps of a block between flash, DRAM and SCM: where the policy is asked, what it is told, what each of its
// answers does, and what is counted. The live cache and mezz_sim are two instances of it over their own tiers, so that
// they cannot differ in any of that.
//
//   look-up misses DRAM    OnDramMiss; then the tiers look in SCM
//   SCM hit                OnScmHit -> kInPlace: serve it. kPromote, kMove: insert it into DRAM, then OnPromoted
//   miss in both           OnMiss -> kDram: insert it into DRAM. kScm: it lies there already. kBoth: insert it as well;
//                          its image lies in SCM, and its eviction will be clean. kNowhere
//   flush, compaction      OnWarm -> as OnMiss, but not kBoth. Nobody waits for the block
//   DRAM evicts            OnDramEviction: written, kept, or refused
//   reclaim reaches it     OnReclaim -> its fate
//   a record is written    FormOf: raw or packed
//   a miss was measured    OnFlashRead: what records are packed with may change
//
// An answer that its point does not allow is counted as such (DecisionSnapshot::invalid) and does what the tiers would
// do without a policy: DRAM on a miss and for what was written, in place on a hit, refuse on an eviction, drop on
// reclaim.
//
// `Tiers` is what the flow needs of both tiers, all of it called directly and inlined:
//
//   using Block                                       names a block; has its bytes, if it comes to Put
//   BlockFacts FactsOf(const Block&) const            key, role and bytes
//   Policy& policy() const                            the one of the moment
//   bool keeps_blobs_from_dram() const                FactsOf may say past_dram; constant
//   bool NoteDramEviction(const Block&)               it leaves DRAM; true: SCM has a record of it
//   bool packs() const                                records may be packed; constant
//   optional<Codec> codec() const                     with this; nothing: with what CodecChoice says. REQUIRES: packs()
//   unsigned ZstdPercent() const                      for CodecChoice
//   void UseCodec(optional<Codec>)                    CodecChoice says: with this from now on; nothing: not at all
//   bool grows() const                                SCM has not its whole size yet: there will be room
//   uint32_t PackedBytes(uint32_t bytes) const        what a packed record of so many would take
//   uint32_t ImageBytes(const Block&) const           OnMiss: of a record of its image, if that is to be had; else 0
//   bool Put(const Block&, Generation, Form)          writes a record, packed of the image if there is one; false:
//                                                     there is no room, and that is counted
//   void NotePromoted(const Block&)                   SCM's record is a copy now, if it is still there
//   void Erase(const Block&)                          forgets the record
//   void Count(Event, BlockRole)
//   void Count(DecisionPoint, const Decision&, BlockRole)
//   uint64_t DramHits() const                         all there were
//
// Thread-safe as its tiers are. Neither blocks nor allocates.
template <typename Tiers>
class TierFlow {
 public:
  using Block = typename Tiers::Block;

  // `tiers` outlives this; it may be the owner.
  explicit TierFlow(Tiers* tiers) : tiers_(*tiers) {}
  TierFlow(const TierFlow&) = delete;
  TierFlow& operator=(const TierFlow&) = delete;

  // A look-up missed the DRAM tier, whatever comes of it. Every kTellEvery-th of a thread passes on how many hits the
  // DRAM tier had meanwhile: asking at each of those would cost more than the hit.
  void OnDramMiss() {
    std::atomic<uint32_t>& misses = stripes_[StripeOfThisThread()].misses;
    const uint32_t counted = misses.load(std::memory_order_relaxed) + 1;
    misses.store(counted, std::memory_order_relaxed);
    if (counted % kTellEvery == 0) TellDramHits();
  }

  // Tells the policy of the hits that no policy was told of yet.
  void TellDramHits() {
    const uint64_t hits = tiers_.DramHits();
    uint64_t told = told_.load(std::memory_order_relaxed);
    while (hits > told) {
      if (told_.compare_exchange_weak(told, hits, std::memory_order_relaxed, std::memory_order_relaxed))
        return tiers_.policy().OnDramHits(hits - told);
    }
  }

  // The SCM tier has the block that DRAM has not. `heat`: of the record, with this hit.
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

  // What OnScmHit said with `action` is done: the block is in the DRAM tier. An eviction of it that runs meanwhile
  // counts as clean, and after kMove the block is then in neither tier. A cache may forget.
  void OnPromoted(const Block& block, Action action) {
    assert(action == Action::kPromote || action == Action::kMove);
    if (action == Action::kMove) {
      tiers_.Erase(block);
    } else {
      tiers_.NotePromoted(block);
    }
    tiers_.Count(Event::kPromotion, tiers_.FactsOf(block).role);
  }

  // False: OnMiss would answer kDram, so it need not be asked.
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
        tiers_.NotePromoted(block);  // before it can be evicted
        return Placement::kBoth;
      case Action::kBypass:
        tiers_.Count(Event::kInsertBypassed, facts.role);
        return Placement::kNowhere;
      default:
        return Placement::kDram;
    }
  }

  // RocksDB has written the block and offers it. What finds no room in SCM is dropped: nobody asked for it yet.
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

  // Who inserted the block is not recorded, so it is not known whether a compaction did: a policy that minds refuses at
  // the miss. The evicting thread says nothing about the block.
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

  // What the policy wants to become of the record.
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
                           .in_dram = record.in_dram,
                           .proven = record.generation == Generation::kProven,
                           .scm_heat = record.heat};
    switch (Counted(DecisionPoint::kReclaim, tiers_.policy().OnReclaim(facts), facts.role).action) {
      case Action::kSpare:
        return Fate::kSpare;
      case Action::kPack:
        return Fate::kPack;
      default:
        return Fate::kDrop;
    }
  }

  // Of a record that is written without the policy having been asked.
  Form FormOf(BlockRole role) {
    if (!tiers_.packs()) return Form::kRaw;
    return ToForm(Counted(DecisionPoint::kForm, FormDecision(role), role));
  }
  // New records are packed, if their role allows it.
  bool packs_now() const { return codec().has_value() && form_rule_.reclaimed(); }
  // What new records are packed with; nothing: they stay raw.
  std::optional<Codec> codec() const {
    if (!tiers_.packs()) return std::nullopt;
    const std::optional<Codec> fixed = tiers_.codec();
    return fixed ? fixed : codec_choice_.codec();
  }

  // Bytes of blocks that an SCM tier of so many bytes holds, as they pack at present.
  uint64_t BlockCapacity(uint64_t scm_bytes) const {
    if (!packs_now()) return scm_bytes;
    constexpr uint32_t kUnit = 1 << 12;
    constexpr double kMostPerByte = 4;  // what the index grows to, and Policy is promised
    const double packed = std::max(1u, tiers_.PackedBytes(kUnit));
    return static_cast<uint64_t>(static_cast<double>(scm_bytes) * std::min(kUnit / packed, kMostPerByte));
  }

  // A miss took so long, until its block was there. Matters where CodecChoice says what to pack with.
  void OnFlashRead(uint64_t ns) {
    if (!codec_choice_.OnMiss(ns, tiers_.ZstdPercent())) return;
    // Who tells last has seen what was chosen last.
    for (std::optional<Codec> told;
         told = codec_choice_.codec(), tiers_.UseCodec(told), told != codec_choice_.codec();) {
    }
  }
  // As far as it was measured; 0: not at all.
  uint64_t flash_read_ns() const { return codec_choice_.mean_ns(); }
  // The SCM tier was enlarged.
  void OnScmGrown() { form_rule_.OnGrown(); }

  static constexpr uint32_t kTellEvery = 1024;

 private:
  static Generation GenerationOf(const Decision& decision) {
    return decision.proven ? Generation::kProven : Generation::kYoung;
  }
  static Decision ForTier(const BlockFacts& facts, const Decision& decision) {
    return facts.past_dram ? KeptFromDram(decision) : decision;
  }
  Placement WithoutRoom(const BlockFacts& facts) {
    if (!facts.past_dram) return Placement::kDram;
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
  // `form` is counted where a record of it is wanted.
  bool Put(const Block& block, Generation generation, const Decision& form, BlockRole role) {
    if (tiers_.packs()) Counted(DecisionPoint::kForm, form, role);
    return tiers_.Put(block, generation, ToForm(form));
  }
  Decision Counted(DecisionPoint point, const Decision& decision, BlockRole role) {
    tiers_.Count(point, decision, role);
    return decision;
  }

  // Look-ups that missed DRAM, counted apart by each stripe of threads. Relaxed load and store: threads of the
  // shared stripe may lose a count, and the next telling comes a little later.
  struct alignas(kLineBytes) Stripe {
    std::atomic<uint32_t> misses{0};
  };

  Tiers& tiers_;
  FormRule form_rule_;
  CodecChoice codec_choice_;
  std::array<Stripe, kStripes> stripes_;
  // How many DRAM hits policies were told of. Grows by CAS (relaxed): each hit is told once, by whoever wins.
  std::atomic<uint64_t> told_{0};
};

}  // namespace mezz
