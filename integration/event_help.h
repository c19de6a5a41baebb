// SPDX-License-Identifier: Apache-2.0
// What monitoring is told of each counter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "cache/counters.h"

namespace mezz {

// Refusals have none: they are one family, by reason.
struct EventRow {
  Event event;
  std::string_view help;
};
inline constexpr EventRow kEventRows[] = {
    {Event::kScmHit, "Look-ups that found their block in the SCM tier."},
    {Event::kScmPackedHit, "Of the SCM hits: those of packed records, which had to be unpacked."},
    {Event::kScmPackedHitStored, "What the packed records that were hit take on the medium."},
    {Event::kScmImageHit, "Of the packed hits: those of images, as compressed SST files hold the block."},
    {Event::kScmHitByCompaction, "Of the SCM hits: those of compactions, which no user asked for."},
    {Event::kScmPackedHitByCompaction, "Of the packed hits: those of compactions."},
    {Event::kScmMiss, "Look-ups that the SCM tier was asked for and did not answer."},
    {Event::kScmPut, "Blocks that were stored in the SCM tier."},
    {Event::kScmPutBytes, "Their size, unpacked."},
    {Event::kScmPackedPut, "Of the puts: those stored packed."},
    {Event::kScmPackedPutBytes, "Size of the blocks that were stored packed, unpacked."},
    {Event::kScmPackedPutStored, "What these take on the medium."},
    {Event::kScmImagePut, "Of the packed puts: those stored as compressed SST files hold them."},
    {Event::kScmWrittenBytes, "Written to the medium, for whatever cause: its wear."},
    {Event::kScmErase, "Records that were erased."},
    {Event::kScmReplaced, "Puts that found a record of their key."},
    {Event::kScmDropped, "Records that reclaim let go."},
    {Event::kScmSecondChance, "Records that reclaim wrote anew, because they were hit."},
    {Event::kScmSecondChanceBytes, "What these take on the medium."},
    {Event::kScmDemoted, "Records that reclaim moved from the fast media to the slow ones."},
    {Event::kScmDemotedBytes, "What these take on the slow media."},
    {Event::kScmPackedAtReclaim, "Records that reclaim packed instead of letting them go."},
    {Event::kScmDisplaced, "Records that left because their place in the index was full."},
    {Event::kScmDeadDropped, "Records that left because their file is deleted."},
    {Event::kScmDeadDroppedBytes, "What these took on the medium."},
    {Event::kScmFileForgotten, "Files of which the cache was told that they are deleted."},
    {Event::kScmFileRevived, "Files that were asked for all the same."},
    {Event::kScmSegmentReclaimed, "Segments that were emptied."},
    {Event::kScmSegmentRequeued, "Segments that reclaim kept whole, without a write."},
    {Event::kScmSegmentSparse, "Segments that went first, because most of them was of deleted files."},
    {Event::kScmSegmentSkippedPinned, "Segments that reclaim passed over, because somebody read them."},
    {Event::kScmChecksumMismatch, "Records whose bytes had changed on the medium; none was served."},
    {Event::kScmDamagedHeader, "Record headers that had changed on the medium."},
    {Event::kScmUnpackFailed, "Whole records that were no packed block; none was served."},
    {Event::kScmNoDictionary, "Records whose dictionary is not there; none was served."},
    {Event::kScmImageFailed, "Whole images of which RocksDB made no such block."},
    {Event::kScmImageUnread, "Images that a look-up had nothing to unpack with."},
    {Event::kPackRejected, "Blocks that were tried to be packed, saved too little and were left raw."},
    {Event::kPackSkipped, "Blocks that were left raw because their kind does not pack."},
    {Event::kPackCodecChanged, "How often pack=auto chose another codec."},
    {Event::kPackNoMemory, "Blocks that were left raw for want of memory to pack them in."},
    {Event::kPackedWithDictionary, "Blocks that were packed with a dictionary."},
    {Event::kDictionaryTrained, "Dictionaries that were trained and are used since."},
    {Event::kDictionaryUseless, "Dictionaries that were trained and gained too little."},
    {Event::kDictionaryCollected, "Dictionaries that went with their last record."},
    {Event::kDictionaryWritten, "Dictionaries that were written to the medium, again too."},
    {Event::kDramHit, "Look-ups that the DRAM tier answered."},
    {Event::kMiss, "Look-ups that neither tier answered: RocksDB reads flash."},
    {Event::kInsert, "Blocks that RocksDB inserted."},
    {Event::kInsertToScm, "Of the inserts: those that the policy sent to the SCM tier alone."},
    {Event::kInsertToBoth, "Of the inserts: those of which the SCM tier took the image as well."},
    {Event::kInsertBypassed, "Of the inserts: those that the policy sent to neither tier."},
    {Event::kDramEviction, "Blocks that left the DRAM tier."},
    {Event::kCleanEviction, "Of these: blocks that the SCM tier held already, so nothing was written."},
    {Event::kChangedEviction, "Of these: blocks of which the SCM tier held other bytes."},
    {Event::kDemotion, "Blocks that moved from the DRAM tier to the SCM tier."},
    {Event::kServedInPlace, "SCM hits that were served where they lie."},
    {Event::kServedCopied, "SCM hits that were served as a copy."},
    {Event::kPromotion, "SCM hits that moved to the DRAM tier."},
    {Event::kPromotionRefused, "Promotions that found no room in a strict DRAM tier."},
    {Event::kAdoptionFailed, "Blocks that could not be built where they lie and were copied."},
    {Event::kCreateFailed, "SCM hits of which RocksDB made no block: misses."},
    {Event::kAllocationFailed, "Steps that found no memory."},
};
constexpr bool IsRefusal(Event event) {
  return event >= Event::kRefusedTooLarge && event <= Event::kRefusedNotPersistable;
}
consteval bool HasARowForEachEvent() {
  for (size_t i = 0; i < kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    const auto rows = std::ranges::count(kEventRows, event, &EventRow::event);
    if (rows != (IsRefusal(event) ? 0 : 1)) return false;
  }
  return true;
}
static_assert(HasARowForEachEvent());

}  // namespace mezz
