// SPDX-License-Identifier: Apache-2.0
// What moves, decided by pure logic: facts in, a decision with a named reason out. No bytes, no blocking, no
// allocation after construction. The live cache, the simulator and the planner run the same objects.
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
#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

// What is known of a block at the moment of a decision.
struct BlockFacts {
  BlockKey key;
  BlockRole role = BlockRole::kOther;
  uint32_t bytes = 0;                         // of the block; OnReclaim: of its record's payload, as stored
  uint32_t packed_bytes = 0;                  // what a record of it, written now, would take packed; 0: it would be raw
  std::optional<Codec> codec = std::nullopt;  // what the SCM tier packs with now; nothing: it does not pack
  uint32_t image_bytes = 0;      // OnMiss: what a record of its image would take (types.h); 0: there is none to take
  bool was_hit_in_dram = false;  // since it entered the DRAM tier; false where nobody can tell
  bool in_scm = false;           // the SCM tier holds a valid record
  bool scm_hollow = false;       // OnDramEviction: segments full of deleted files' blocks are reclaimed first
  bool packed = false;           // OnScmHit, OnReclaim: the record is packed
  bool packable = false;         // OnReclaim: it is raw, and may be worth packing
  bool in_dram = false;          // OnReclaim: the DRAM tier holds it too, as far as the SCM tier knows
  bool by_compaction = false;    // a compaction reads, not a user
  bool past_dram = false;        // DRAM is not for it: OnMiss may not send it there, nor OnScmHit (KeptFromDram)
  bool proven = false;           // OnReclaim: the record lies among the proven (Decision::proven, or spared)
  uint8_t scm_heat = 0;          // 0..3: RecordFacts::heat

  // Of the payload that a write of it would cost.
  uint32_t write_bytes() const { return packed_bytes != 0 ? packed_bytes : bytes; }
};

enum class Action : uint8_t {
  kToDram,   // OnMiss, OnWarm: into the DRAM tier
  kToScm,    // OnMiss, OnWarm: into the SCM tier.  OnDramEviction: demote
  kBypass,   // OnMiss, OnWarm: into neither tier
  kToBoth,   // OnMiss: into the DRAM tier, and its image into the SCM tier. REQUIRES: image_bytes
  kDrop,     // OnDramEviction, OnReclaim: forget
  kKeep,     // OnDramEviction: the SCM tier has it already; nothing is written
  kInPlace,  // OnScmHit: serve where it lies
  kPromote,  // OnScmHit: copy to the DRAM tier; the record stays
  kMove,     // OnScmHit: copy to the DRAM tier and forget the record
  kSpare,    // OnReclaim: write the record anew, a second chance; packed, if it is packable
  kPack,     // OnReclaim: a packable record that is not spared: write it anew, packed.  Form of a new record: packed
  kRaw,      // Form of a new record: raw
  kCount
};
inline constexpr size_t kActions = static_cast<size_t>(Action::kCount);

// Why. One counter each; append only.
enum class Reason : uint8_t {
  kPolicyDefault,  // the policy does this with every block
  kClean,          // the SCM tier holds the block already
  kCompaction,     // read by a compaction: no evidence that a user wants it
  kRole,           // the block's role; blobs=scm too
  kFilling,        // the SCM tier is not full yet, or is hollow
  kHit,            // it was hit where it lay
  kNoHit,          // it was not
  kGhost,          // it was refused or dropped not long ago, and came back
  kNoEvidence,     // neither hit nor remembered
  kFrequency,      // asked for more often than what it would displace
  kTooCold,        // asked for less often than what it would displace
  kInDram,         // the DRAM tier holds it anyway
  kChurn,          // the write governor: too many bytes written for the look-ups served
  kWriteBudget,    // the write budget of the medium is spent
  kProbe,          // no evidence, but what the SCM tier holds is of no use either
  kWindowClosed,   // what comes from flash leaves DRAM before it is hit there
  kFull,           // not everything fits raw any more
  kFlashFast,      // a miss costs too little for packing to pay: CodecChoice
  kFlashMedium,    // it pays with LZ4, and no better with zstd
  kFlashSlow,      // it pays with zstd
  kFlushed,        // a flush wrote it: its keys were in no block before
  kHeirOfDram,     // a compaction wrote it, and one of its parents, the best, lies in DRAM
  kHeirOfHot,      // in SCM, hit there
  kHeirOfCold,     // in SCM, not hit
  kHeirOfNothing,  // in neither tier
  kHeirOfUnknown,  // nobody can tell its parents
  kRenewed,        // files are replaced so fast that nothing is known of their blocks
  kCount
};
inline constexpr size_t kReasons = static_cast<size_t>(Reason::kCount);
std::string_view ToString(Action action);
std::string_view ToString(Reason reason);

// Aligned so that it is returned in one register and read back as one word.
struct alignas(4) Decision {
  Action action;
  Reason reason;
  // kToScm: the block has come back before, so the SCM tier keeps it with those that survived a reclaim, for a whole
  // turn of its log, and not among the young, which leave soon.
  bool proven = false;
};

// What a policy is told when it is made. Sizes may be estimates: they scale its memory and its thresholds.
struct PolicyOptions {
  uint64_t dram_bytes = 0;      // capacity of the DRAM tier; 0: not known
  uint64_t scm_bytes = 0;       // capacity of the SCM tier; if it packs, OnCapacity tells how much more blocks fit
  uint32_t block_bytes = 4096;  // expected mean payload of a block
  // Bytes that may be written to the medium in a second, in the long run; 0: no limit.
  uint64_t write_budget_bytes_per_second = 0;
  // Monotonic nanoseconds; the simulator passes its own. Empty: std::chrono::steady_clock.
  std::function<uint64_t()> now_ns;
  uint64_t seed = 0;   // of the policy's own hashes
  bool packs = false;  // the SCM tier may pack records, and OnCapacity tell of up to four times scm_bytes
};

// Thread-safe: every method may be called from any thread at any time. None blocks, allocates or throws.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;

  // Whether OnMiss may ever answer anything but kToDram; constant. Callers that hear no need not ask it.
  virtual bool may_divert_misses() const = 0;
  // A block was read from flash and is about to enter the cache.  -> kToDram | kToScm | kBypass | kToBoth
  virtual Decision OnMiss(const BlockFacts& block) = 0;
  // RocksDB has written the block, and offers it before anybody asked for it.  -> kToDram | kToScm | kBypass
  // The default: what a flush wrote to DRAM, as RocksDB asks; an heir to where its parents lay, but to SCM instead of
  // DRAM, among the proven if they were hit; metadata to DRAM.
  virtual Decision OnWarm(const BlockFacts& block, const Lineage& lineage);
  // How often the block was asked for lately, 0 to 15, as far as the policy knows: what its heirs begin with.
  virtual uint8_t Frequency(const BlockKey& key) const;
  // A block leaves the DRAM tier.  -> kToScm | kKeep | kDrop
  virtual Decision OnDramEviction(const BlockFacts& block) = 0;
  // A look-up missed the DRAM tier and found the block in the SCM tier.  -> kInPlace | kPromote | kMove
  virtual Decision OnScmHit(const BlockFacts& block) = 0;
  // Reclaim reached the block's record. The tier may still have to drop what is spared, when nearly everything is.
  // -> kSpare | kPack | kDrop. The default spares what was hit and is not in DRAM, or is packed there: a cheap copy.
  // What was not hit and may be packed is packed: reclaim wants room, and gets it so.
  virtual Decision OnReclaim(const BlockFacts& block);

  // Share of the SCM tier for the young, in percent. The default serves policies that admit everything:
  // S3-FIFO takes 10, more was better on some traces and worse on others (docs/explanation/decisions.md).
  virtual unsigned young_percent() const { return kYoungPercentDefault; }
  // Of the records of a proven segment, how many percent must be hot for reclaim to queue it again instead of asking
  // OnReclaim about each (ScmTier::SetRequeuePercent); constant. 0: never.
  virtual unsigned requeue_percent() const { return 0; }

  // Look-ups that the DRAM tier answered since the last call; told now and then, in bulk.
  virtual void OnDramHits(uint64_t /*count*/) {}

  // The tiers hold so much from now on (as PolicyOptions says it); 0: not known, or nothing. Told when a capacity was
  // changed, or blocks turn out to pack better or worse, hence hardly ever on a request's path: may wait for a mutex,
  // but not allocate. A policy keeps the memory it was made with, so one that was made for a fraction of the size
  // remembers that fraction; what it tunes itself by follows. With PolicyOptions::packs it may have reserved more, and
  // take it now (dram_bytes).
  virtual void OnCapacity(uint64_t /*dram_bytes*/, uint64_t /*scm_bytes*/) {}

  // DRAM used by the policy, itself included.
  virtual size_t dram_bytes() const = 0;
};

// Why a policy treats a block that RocksDB has written as it does, as far as its lineage says.
Reason ReasonOf(const Lineage& lineage);

// What becomes of a policy's answer to OnMiss or OnScmHit about a block with past_dram, whether or not the policy knows
// of that: past DRAM into the SCM tier, or served where it lies, for kRole, instead of into DRAM; else as it is.
Decision KeptFromDram(const Decision& decision);

// What a cache uses that names none.
inline constexpr std::string_view kDefaultPolicyName = "adaptive";

// The names MakePolicy knows, in the order they are shown.
const std::vector<std::string_view>& PolicyNames();

// Refuses an unknown name, listing the known.
Status MakePolicy(std::string_view name, const PolicyOptions& options, std::unique_ptr<Policy>* policy);

}  // namespace mezz
