// SPDX-License-Identifier: Apache-2.0
// One counter for each event and each named reason to refuse.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cache/base/stripe.h"
#include "cache/base/words.h"
#include "cache/types.h"

namespace mezz {

// Each event with its name in reports. Every event is counted for each role. A comment says what counts where the name
// does not.
#define MEZZ_EVENTS(X)                                                                           \
  X(kScmHit, "scm.hit")                                                                          \
  X(kScmPackedHit, "scm.packed_hit")              /* of the hits: on packed records */           \
  X(kScmPackedHitStored, "scm.packed_hit_stored") /* bytes of their payloads */                  \
  X(kScmImageHit, "scm.image_hit")                /* of the packed hits: on images */            \
  X(kScmHitByCompaction, "scm.hit_by_compaction") /* of the hits: no user asked */               \
  X(kScmPackedHitByCompaction, "scm.packed_hit_by_compaction")                                   \
  X(kScmMiss, "scm.miss")                                                                        \
  X(kScmPut, "scm.put")                                                                          \
  X(kScmPutBytes, "scm.put_bytes")                /* of the blocks, not as stored */             \
  X(kScmPackedPut, "scm.packed_put")              /* of the puts: stored packed */               \
  X(kScmPackedPutBytes, "scm.packed_put_bytes")   /* of their blocks */                          \
  X(kScmPackedPutStored, "scm.packed_put_stored") /* of their payloads */                        \
  X(kScmImagePut, "scm.image_put")                /* of the packed puts: images */               \
  X(kScmWrittenBytes, "scm.written_bytes")        /* to the medium, for any reason */            \
  X(kScmErase, "scm.erase")                                                                      \
  X(kScmReplaced, "scm.replaced")          /* a put replaced a record of its key */              \
  X(kScmDropped, "scm.dropped")            /* reclaim let it go */                               \
  X(kScmSecondChance, "scm.second_chance") /* kept by reclaim */                                 \
  X(kScmSecondChanceBytes, "scm.second_chance_bytes")                                            \
  X(kScmDemoted, "scm.demoted") /* from the fast media to the slow ones */                       \
  X(kScmDemotedBytes, "scm.demoted_bytes")                                                       \
  X(kScmPackedAtReclaim, "scm.packed_at_reclaim") /* instead of dropped */                       \
  X(kScmDisplaced, "scm.displaced")               /* dropped from a full bucket */               \
  X(kScmDeadDropped, "scm.dead_dropped")          /* of forgotten files */                       \
  X(kScmDeadDroppedBytes, "scm.dead_dropped_bytes")                                              \
  X(kScmFileForgotten, "scm.file_forgotten") /* a hint that a file is deleted */                 \
  X(kScmFileRevived, "scm.file_revived")     /* yet a block of it was asked for */               \
  X(kScmSegmentReclaimed, "scm.segment_reclaimed")                                               \
  X(kScmSegmentRequeued, "scm.segment_requeued") /* kept whole, nothing written */               \
  X(kScmSegmentSparse, "scm.segment_sparse")     /* mostly dead: goes first */                   \
  X(kScmSegmentSkippedPinned, "scm.segment_skipped_pinned")                                      \
  X(kScmChecksumMismatch, "scm.checksum_mismatch")                                               \
  X(kScmDamagedHeader, "scm.damaged_header")                                                     \
  X(kScmUnpackFailed, "scm.unpack_failed")   /* whole, yet no packed block */                    \
  X(kScmNoDictionary, "scm.no_dictionary")   /* its dictionary is not here */                    \
  X(kScmImageFailed, "scm.image_failed")     /* whole, yet create_cb made no such block */       \
  X(kScmImageUnread, "scm.image_unread")     /* the look-up had nothing to unpack it with */     \
  X(kPackRejected, "pack.rejected")          /* packing saved too little: raw */                 \
  X(kPackSkipped, "pack.skipped")            /* its kind does not pack: raw */                   \
  X(kPackCodecChanged, "pack.codec_changed") /* by pack=auto */                                  \
  X(kPackNoMemory, "pack.no_memory")         /* or no workspace was free: raw */                 \
  X(kPackedWithDictionary, "pack.with_dictionary")                                               \
  X(kDictionaryTrained, "dictionary.trained")     /* and used for new records */                 \
  X(kDictionaryUseless, "dictionary.useless")     /* trained, gained too little */               \
  X(kDictionaryCollected, "dictionary.collected") /* its last record is gone */                  \
  X(kDictionaryWritten, "dictionary.written")     /* to the medium, rewrites included */         \
  X(kRefusedTooLarge, "refused.too_large")        /* larger than a segment */                    \
  X(kRefusedAllPinned, "refused.all_pinned")      /* nothing can be reclaimed */                 \
  X(kRefusedNoSpace, "refused.no_space")          /* capacity zero, closed, or busy */           \
  X(kRefusedFillFailed, "refused.fill_failed")    /* the source failed to copy */                \
  X(kRefusedForked, "refused.forked")             /* a put in a forked child */                  \
  X(kRefusedKeySize, "refused.key_size")          /* a key that is not 16 bytes */               \
  X(kRefusedDeadFile, "refused.dead_file")        /* a block of a forgotten file */              \
  X(kRefusedCompressed, "refused.compressed")     /* by a tiered cache */                        \
  X(kRefusedPolicy, "refused.policy")                                                            \
  X(kRefusedChanged, "refused.changed")                /* the key was put or erased meanwhile */ \
  X(kRefusedNotPersistable, "refused.not_persistable") /* helper without size_cb */              \
  X(kDramHit, "dram.hit")                                                                        \
  X(kMiss, "miss") /* in neither tier */                                                         \
  X(kInsert, "insert")                                                                           \
  X(kInsertToScm, "insert.to_scm")      /* the policy sent a miss to SCM */                      \
  X(kInsertToBoth, "insert.to_both")    /* SCM took the image of a miss as well */               \
  X(kInsertBypassed, "insert.bypassed") /* the policy sent a miss to neither */                  \
  X(kDramEviction, "dram.eviction")                                                              \
  X(kCleanEviction, "dram.clean_eviction")     /* SCM held the block already */                  \
  X(kChangedEviction, "dram.changed_eviction") /* SCM held other bytes of the key */             \
  X(kDemotion, "demotion")                                                                       \
  X(kServedInPlace, "served.in_place")                                                           \
  X(kServedCopied, "served.copied")                                                              \
  X(kPromotion, "promotion")                                                                     \
  X(kPromotionRefused, "promotion.refused") /* DRAM tier full and strict */                      \
  X(kAdoptionFailed, "adoption.failed")     /* create_cb did not adopt: copied */                \
  X(kCreateFailed, "create.failed")         /* create_cb failed: a miss */                       \
  X(kAllocationFailed, "allocation.failed")

enum class Event : uint8_t {
#define X(name, text) name,
  MEZZ_EVENTS(X)
#undef X
      kCount
};
inline constexpr size_t kEvents = static_cast<size_t>(Event::kCount);
template <>
inline constexpr Words<kEvents> kWordsOf<Event> = {
#define X(name, text) text,
    MEZZ_EVENTS(X)
#undef X
};

// The counts that are not zero, by role, as " (data 3, index 2)". Empty if all are zero.
std::string RolesText(const std::array<uint64_t, kBlockRoles>& counts);

// The sums of all counters at one moment. Counts of events that happen meanwhile may be in one sum and not in another.
struct CounterSnapshot {
  std::array<std::array<uint64_t, kBlockRoles>, kEvents> by_role{};

  uint64_t operator[](Event event) const;
  uint64_t of(Event event, BlockRole role) const {
    return by_role[static_cast<size_t>(event)][static_cast<size_t>(role)];
  }
  CounterSnapshot operator-(const CounterSnapshot& earlier) const;
  CounterSnapshot& operator+=(const CounterSnapshot& other);
};

// The counters, without contention (base/stripe.h). Thread-safe. The memory order is relaxed, as counts publish
// nothing.
class Counters {
 public:
  Counters();
  ~Counters();

  void Add(Event event, BlockRole role, uint64_t count = 1) {
    const size_t stripe = StripeOfThisThread();
    const size_t place = static_cast<size_t>(event) * kBlockRoles + static_cast<size_t>(role);
    AddInStripe(stripe, words_[stripe * kStripeWords + place], count);
  }
  CounterSnapshot Snapshot() const;

  static constexpr size_t kStripeWords = (kEvents * kBlockRoles + 7) / 8 * 8;
  static constexpr size_t kBytes = kStripes * kStripeWords * sizeof(uint64_t);

 private:
  std::atomic<uint64_t>* words_;  // kStripes * kStripeWords, line-aligned
};

}  // namespace mezz
