// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cache/block_source.h"
#include "cache/fault_handler.h"
#include "cache/pack/staged_blocks.h"
#include "cache/put.h"
#include "cache/tier_parts.h"
#include "cache/types.h"

namespace mezz {

// Writes blocks as records and publishes them: asks whether a block is packed, and by whom; takes space in the log, and
// has reclaim make room if there is none; writes, and then puts a word into the index. ScmTier::Put has the promises.
//
// Thread-safe.
class BlockWriter {
 public:
  BlockWriter(TierParts& parts, FaultHandler* fault_handler) : parts_(parts), fault_handler_(fault_handler) {}

  // As ScmTier's functions of these names.
  PutResult Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                Form wanted, PackedBy by, ShareId share);
  PutResult PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image, Generation generation,
                     ShareId share);
  // Stores a staged block. For the stage's thread.
  void StoreStaged(const StagedBlocks::Block& block);
  // Stores a dictionary's record. False: there is no room, or it was not written. For the trainer's thread.
  bool StoreDictionary(const Dictionary& dictionary);

  // Whether a record of FileId{0} was published. REQUIRES: nothing is put any more.
  bool stored_nameless() const { return nameless_.load(std::memory_order_relaxed); }

 private:
  // A record that is about to be stored, without its bytes.
  struct Fresh {
    const BlockKey& key;
    BlockRole role;
    Generation generation;
    ShareId share;
    uint8_t flags = 0;
    uint16_t dictionary = 0;
    std::optional<StagedBlocks::Slot> slot{};  // where its block was staged
    bool published = false;                    // set by Store
  };
  std::optional<SegmentLog::Reservation> Reserve(uint64_t bytes, Generation generation, ShareId share);
  void Publish(Fresh* fresh, uint64_t offset);
  void PublishInIndex(const Fresh& fresh, uint64_t offset, unsigned heat, bool dram);
  PutResult Refused(BlockRole role, Event reason, PutResult result);
  std::optional<PutResult> RefusedAtOnce(const BlockKey& key, BlockRole role, size_t bytes);
  void CountPut(BlockRole role, size_t bytes, std::optional<size_t> packed_bytes);
  PutResult Store(Fresh* fresh, size_t bytes, BlockSource source);
  PutResult StoreAsPacked(const PackedBlock& packed, Fresh fresh, size_t bytes, BlockSource source);
  std::optional<PutResult> Stage(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                                 Generation generation, ShareId share);
  bool ForgetStaged(const BlockKey& key) { return parts_.stage != nullptr && parts_.stage->Forget(key); }

  TierParts& parts_;
  FaultHandler* const fault_handler_;
  Atomic<bool> nameless_{false};  // false --PublishInIndex--> true. Relaxed: read when nobody puts any more
};

}  // namespace mezz
