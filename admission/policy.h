// SPDX-License-Identifier: Apache-2.0
// Policies decide what moves between the tiers: they get facts, and return a decision with a named reason. They touch
// no bytes, never block, and allocate only when they are made. The live cache, the simulator and the planner run the
// same objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/lineage.h"
#include "cache/base/words.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

// What is known of a block at the moment of a decision.
struct BlockFacts {
  BlockKey key;
  BlockRole role = BlockRole::kOther;
  uint32_t bytes = 0;                         // of the block; OnReclaim: of its record's payload, as stored
  uint32_t packed_bytes = 0;                  // the size of a record of it, if written packed now; 0: it would be raw
  std::optional<Codec> codec = std::nullopt;  // what the SCM tier packs with now; empty: it does not pack
  uint32_t image_bytes = 0;      // OnMiss: the size of a record of its image (types.h); 0: there is no image
  bool was_hit_in_dram = false;  // since it entered the DRAM tier; false where that is not known
  bool in_scm = false;           // the SCM tier holds a valid record
  bool scm_sparse = false;       // OnDramEviction: segments full of deleted files' blocks are reclaimed first
  bool packed = false;           // OnScmHit, OnReclaim: the record is packed
  bool packable = false;         // OnReclaim: it is raw, and may be worth packing
  bool demotable = false;        // OnReclaim: it lies on the fast ones of ordered media (OnDemotion)
  bool in_dram = false;          // OnReclaim: the DRAM tier holds it too, as far as the SCM tier knows
  bool by_compaction = false;    // a compaction reads, not a user
  bool bypass_dram = false;      // it must not go to DRAM, neither by OnMiss nor by OnScmHit (KeptFromDram)
  bool proven = false;           // OnReclaim: the record lies among the proven (Decision::proven, or spared)
  uint8_t scm_heat = 0;          // 0..3: RecordFacts::heat

  // The bytes of payload that a write of the block would take.
  uint32_t write_bytes() const { return packed_bytes != 0 ? packed_bytes : bytes; }
};

enum class Action : uint8_t {
  kToDram,   // OnMiss, OnWarm: into the DRAM tier
  kToScm,    // OnMiss, OnWarm: into the SCM tier.  OnDramEviction: demote
  kBypass,   // OnMiss, OnWarm: into neither tier
  kToBoth,   // OnMiss: into the DRAM tier, and its image into the SCM tier. REQUIRES: image_bytes
  kDrop,     // OnDramEviction, OnReclaim: forget the block
  kKeep,     // OnDramEviction: the SCM tier has the block already; nothing is written
  kInPlace,  // OnScmHit: serve where it lies
  kPromote,  // OnScmHit: copy to the DRAM tier; the record stays
  kMove,     // OnScmHit: copy to the DRAM tier and forget the record
  kSpare,    // OnReclaim: write the record anew, as a second chance; packed if it is packable
  kPack,     // OnReclaim: do not spare the record, but write it anew, packed.  Form of a new record: packed
  kRaw,      // Form of a new record: raw
  kDemote,   // OnDemotion: write the record anew on the slow media
  kCount
};
inline constexpr size_t kActions = static_cast<size_t>(Action::kCount);
template <>
inline constexpr Words<kActions> kWordsOf<Action> = {"to_dram", "to_scm",   "bypass",  "to_both", "drop",
                                                     "keep",    "in_place", "promote", "move",    "spare",
                                                     "pack",    "raw",      "demote"};

// The reason of a decision. Each has a counter. Append only.
enum class Reason : uint8_t {
  kPolicyDefault,  // the policy does this with every block
  kClean,          // the SCM tier holds the block already
  kCompaction,     // read by a compaction: no evidence that a user wants it
  kRole,           // the block's role; blobs=scm too
  kFilling,        // the SCM tier is not full yet, or is sparse
  kHit,            // it was hit where it lay
  kNoHit,          // it was not hit where it lay
  kGhost,          // it was refused or dropped not long ago, and came back
  kNoEvidence,     // neither hit nor remembered
  kFrequency,      // asked for more often than what it would displace
  kTooCold,        // asked for less often than what it would displace
  kInDram,         // the DRAM tier holds it anyway
  kChurn,          // the write governor: too many bytes written for the look-ups served
  kWriteBudget,    // the write budget of the medium is spent
  kProbe,          // no evidence, but the blocks in the SCM tier are useless too
  kWindowClosed,   // blocks that come from flash leave DRAM before they are hit there
  kFull,           // not everything fits raw any more
  kFlashFast,      // a miss costs too little for packing to pay: CodecChoice
  kFlashMedium,    // packing pays with LZ4, and no better with zstd
  kFlashSlow,      // packing pays with zstd
  kFlushed,        // a flush wrote it: its keys were in no block before
  kHeirOfDram,     // a compaction wrote it, and the best of its parents lies in DRAM
  kHeirOfHot,      // the best of its parents lies in SCM, and was hit there
  kHeirOfCold,     // the best of its parents lies in SCM, and was not hit
  kHeirOfNothing,  // none of its parents lies in a tier
  kHeirOfUnknown,  // its parents are not known
  kRenewed,        // files are replaced so fast that nothing is known of their blocks
  kCount
};
inline constexpr size_t kReasons = static_cast<size_t>(Reason::kCount);
template <>
inline constexpr Words<kReasons> kWordsOf<Reason> = {
    "policy_default",  "clean",           "compaction",  "role",          "filling",     "hit",
    "no_hit",          "ghost",           "no_evidence", "frequency",     "too_cold",    "in_dram",
    "churn",           "write_budget",    "probe",       "window_closed", "full",        "flash_fast",
    "flash_medium",    "flash_slow",      "flushed",     "heir_of_dram",  "heir_of_hot", "heir_of_cold",
    "heir_of_nothing", "heir_of_unknown", "renewed"};

// Aligned so that it is returned in one register and read back as one word.
struct alignas(4) Decision {
  Action action;
  Reason reason;
  // kToScm: the block has come back before, so the SCM tier keeps it with those that survived a reclaim, for a whole
  // turn of its log, and not among the young, which leave soon.
  bool proven = false;
};

// The options of a policy. Sizes may be estimates: they scale its memory and its thresholds.
struct PolicyOptions {
  uint64_t dram_bytes = 0;      // capacity of the DRAM tier; 0: not known
  uint64_t scm_bytes = 0;       // capacity of the SCM tier; if it packs, OnCapacity tells how many more blocks fit
  uint32_t block_bytes = 4096;  // expected mean payload of a block
  // The most bytes to write to the medium in a second, in the long run; 0: no limit.
  uint64_t write_budget_bytes_per_second = 0;
  // Monotonic nanoseconds; the simulator passes its own. Empty: std::chrono::steady_clock.
  std::function<uint64_t()> now_ns;
  uint64_t seed = 0;   // of the policy's own hashes
  bool packs = false;  // the SCM tier may pack records, so that OnCapacity may tell of up to four times scm_bytes
};

// Decides about blocks. Thread-safe: every method may be called from any thread at any time. None blocks, allocates or
// throws.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;

  // Whether OnMiss may ever answer anything but kToDram. Constant. If false, OnMiss need not be called.
  virtual bool may_divert_misses() const = 0;
  // Called when a block was read from flash and is about to enter the cache.  -> kToDram | kToScm | kBypass | kToBoth
  virtual Decision OnMiss(const BlockFacts& block) = 0;
  // Called when RocksDB has written the block and offers it, before anybody asked for it.  -> kToDram | kToScm |
  // kBypass
  // By default blocks of flushes go to DRAM, as RocksDB asks, and metadata too. An heir goes to SCM if its parents are
  // not known or one lay in a tier, among the proven if one was hit, and nowhere otherwise.
  virtual Decision OnWarm(const BlockFacts& block, const Lineage& lineage);
  // How often the block was asked for lately, 0 to 15, as far as the policy knows. Its heirs begin with that.
  virtual uint8_t Frequency(const BlockKey& key) const;
  // Called when a block leaves the DRAM tier.  -> kToScm | kKeep | kDrop
  virtual Decision OnDramEviction(const BlockFacts& block) = 0;
  // Called when a look-up missed the DRAM tier and found the block in the SCM tier.  -> kInPlace | kPromote | kMove
  virtual Decision OnScmHit(const BlockFacts& block) = 0;
  // Called when reclaim reached the block's record.  -> kSpare | kPack | kDrop
  // The tier may still have to drop a spared record when nearly all are spared. By default a record is spared if it was
  // hit and its block is not in DRAM, or if it was hit and is packed, as that copy is cheap. A record that was not hit
  // and may be packed is packed, which makes room too.
  virtual Decision OnReclaim(const BlockFacts& block);

  // Called when OnReclaim lets a record go that lies on the fast of ordered media, and whose block is not in DRAM.
  // -> kDemote | kDrop  By default the slow media get all of these.
  virtual Decision OnDemotion(const BlockFacts& block);

  // The share of the SCM tier for the young, in percent. The default suits policies that admit everything. S3-FIFO
  // takes 10; more was better on some traces and worse on others (docs/explanation/decisions.md).
  virtual unsigned young_percent() const { return kYoungPercentDefault; }
  // How many percent of a proven segment's records must be hot for reclaim to queue the segment again, instead of
  // asking OnReclaim about each record (ScmTier::SetRequeuePercent). Constant. 0: never.
  virtual unsigned requeue_percent() const { return 0; }

  // Called now and then with the number of look-ups that the DRAM tier answered since the last call.
  virtual void OnDramHits(uint64_t /*count*/) {}

  // Called with the tiers' new sizes, as in PolicyOptions, when a capacity was changed, or blocks turn out to pack
  // better or worse. 0: not known, or nothing. As this is hardly ever on a request's path, it may wait for a mutex, but
  // it may not allocate. A policy keeps the memory that it was made with: one made for a fraction of the size remembers
  // that fraction, and adapts its thresholds. With PolicyOptions::packs it may have reserved more memory, and take it
  // now (dram_bytes).
  virtual void OnCapacity(uint64_t /*dram_bytes*/, uint64_t /*scm_bytes*/) {}

  // The DRAM that the policy uses, itself included.
  virtual size_t dram_bytes() const = 0;
};

// The reason that a lineage gives for what a policy does with a block that RocksDB has written.
Reason ReasonOf(const Lineage& lineage);

// Changes an answer of OnMiss or OnScmHit about a block with bypass_dram, whether or not the policy respects that. An
// answer that sends the block to DRAM becomes, for kRole, one that sends it to SCM or serves it in place. Other answers
// stay.
Decision KeptFromDram(const Decision& decision);

// The policy of a cache that names none.
inline constexpr std::string_view kDefaultPolicyName = "adaptive";

// The names that MakePolicy knows, in the order in which they are shown.
const std::vector<std::string_view>& PolicyNames();

// Makes a policy by its name. For an unknown name, the error lists the known ones.
Status MakePolicy(std::string_view name, const PolicyOptions& options, std::unique_ptr<Policy>* policy);

}  // namespace mezz
