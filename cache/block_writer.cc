// SPDX-License-Identifier: Apache-2.0
#include "cache/block_writer.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "cache/record.h"

namespace mezz {

PutResult BlockWriter::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                           Form wanted, PackedBy by, ShareId share) {
  if (const auto refused = RefusedAtOnce(key, role, bytes)) return *refused;
  const bool packs = wanted == Form::kPacked && parts_.packer != nullptr && parts_.packer->Wants(role, bytes);
  if (packs && by == PackedBy::kStage && parts_.stage != nullptr) {
    const auto staged = Stage(key, role, bytes, source, generation, share);
    fault_handler_->Handle();
    if (staged) return *staged;
  }
  const PackedBlock packed = packs ? parts_.packer->PackWanted(role, bytes, source) : PackedBlock();
  if (packed.outcome() == PackedBlock::Outcome::kSourceFailed)
    return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  const PutResult result =
      StoreAsPacked(packed, {.key = key, .role = role, .generation = generation, .share = share}, bytes, source);
  fault_handler_->Handle();
  return result;
}

// Stages a block. Empty: there is no room.
std::optional<PutResult> BlockWriter::Stage(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                                            Generation generation, ShareId share) {
  MEZZ_TEST_POINT("stage reserves");
  const auto block = parts_.stage->Reserve(key, role, generation, bytes, share);
  if (!block) return std::nullopt;
  if (!record::Fill(source, 0, bytes, block->bytes.data())) {
    parts_.stage->Abandon(block->slot);
    return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  }
  MEZZ_TEST_POINT("staged block filled");
  // The index is asked first, and would answer with the older record. After Reserve: see StagedBlocks, held_.
  KeyReader reader(parts_.reader, key);
  if (parts_.index.Erase(parts_.index.Hash(key), reader, [](IndexWord) {}))
    parts_.counters.Add(Event::kScmReplaced, role);
  parts_.stage->Commit(block->slot);
  // Perhaps since CloseForGood or SetCapacity(0) looked, whose ForgetAll takes the mutex that Commit has taken.
  if (parts_.faults.IsOver() || parts_.log.space().limit() == 0) ForgetStaged(key);
  return PutResult::kStored;
}

void BlockWriter::StoreStaged(const StagedBlocks::Block& block) {
  if (parts_.dead.Has(block.key.file())) return parts_.counters.Add(Event::kRefusedDeadFile, block.role);
  if (parts_.faults.IsOver()) return parts_.counters.Add(Event::kRefusedNoSpace, block.role);
  const PackedBlock packed = parts_.packer->Pack(block.role, block.bytes, record::PayloadChecksum(block.bytes));
  MEZZ_TEST_POINT("staged block packed");
  {
    const std::unique_lock lock = parts_.remembers ? std::unique_lock(parts_.store_mutex) : std::unique_lock<Mutex>();
    if (parts_.remembers && !parts_.stage->blocks().IsWanted(block.slot)) return;
    MEZZ_TEST_POINT("staged block wanted");
    const Fresh fresh{
        .key = block.key, .role = block.role, .generation = block.generation, .share = block.share, .slot = block.slot};
    StoreAsPacked(packed, fresh, block.bytes.size(), SpanSource{block.bytes});
  }
  fault_handler_->Handle();
}

// Stores a block of `bytes` bytes. `packed` was made of it, or says that packing was not tried.
PutResult BlockWriter::StoreAsPacked(const PackedBlock& packed, Fresh fresh, size_t bytes, BlockSource source) {
  PutResult result = PutResult::kStored;
  const bool is_packed = packed.outcome() == PackedBlock::Outcome::kPacked;
  if (packed.outcome() == PackedBlock::Outcome::kLeft) {
    result = Store(&fresh, bytes, source);
  } else {
    fresh.flags = is_packed ? layout::kRecordPacked : layout::kRecordRejected;
    fresh.dictionary = packed.dictionary();
    result = Store(&fresh, packed.bytes().size(), SpanSource{packed.bytes()});
  }
  if (fresh.published) CountPut(fresh.role, bytes, is_packed ? std::optional(packed.bytes().size()) : std::nullopt);
  return result;
}

PutResult BlockWriter::PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                                Generation generation, ShareId share) {
  if (const auto refused = RefusedAtOnce(key, role, bytes)) return *refused;
  const layout::PackedPrefix prefix = parts_.packer->PrefixOfImage(role, bytes, image);
  const auto prefix_then_image = [&](size_t offset, size_t count, std::byte* to) {
    const size_t of_prefix = offset < sizeof(prefix) ? std::min(count, sizeof(prefix) - offset) : 0;
    if (of_prefix != 0) std::memcpy(to, reinterpret_cast<const std::byte*>(&prefix) + offset, of_prefix);
    if (of_prefix != count)
      std::memcpy(to + of_prefix, image.bytes.data() + (offset + of_prefix - sizeof(prefix)), count - of_prefix);
    return true;
  };
  const size_t stored_bytes = sizeof(prefix) + image.bytes.size();
  Fresh fresh{.key = key, .role = role, .generation = generation, .share = share, .flags = layout::kRecordPacked};
  const PutResult result = Store(&fresh, stored_bytes, prefix_then_image);
  fault_handler_->Handle();
  if (result != PutResult::kStored) return result;
  CountPut(role, bytes, stored_bytes);
  parts_.counters.Add(Event::kScmImagePut, role);
  return PutResult::kStored;
}

// The refusals that need no lock and touch no byte of the medium, which a child shares with its parent.
std::optional<PutResult> BlockWriter::RefusedAtOnce(const BlockKey& key, BlockRole role, size_t bytes) {
  if (!parts_.guard.InParent()) return Refused(role, Event::kRefusedForked, PutResult::kNoSpace);
  if (parts_.faults.IsOver()) {
    fault_handler_->Handle();
    return Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace);
  }
  if (bytes > UINT32_MAX ||
      record::BytesFor(bytes, parts_.authenticator) > layout::SegmentPayloadBytes(parts_.log.segment_bytes()))
    return Refused(role, Event::kRefusedTooLarge, PutResult::kTooLarge);
  if (parts_.log.space().limit() == 0) return Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace);
  if (parts_.dead.Has(key.file())) return Refused(role, Event::kRefusedDeadFile, PutResult::kDeadFile);
  return std::nullopt;
}

void BlockWriter::CountPut(BlockRole role, size_t bytes, std::optional<size_t> packed_bytes) {
  parts_.counters.Add(Event::kScmPut, role);
  parts_.counters.Add(Event::kScmPutBytes, role, bytes);
  if (!packed_bytes) return;
  parts_.counters.Add(Event::kScmPackedPut, role);
  parts_.counters.Add(Event::kScmPackedPutBytes, role, bytes);
  parts_.counters.Add(Event::kScmPackedPutStored, role, *packed_bytes);
}

PutResult BlockWriter::Refused(BlockRole role, Event reason, PutResult result) {
  parts_.counters.Add(reason, role);
  return result;
}

// Writes and publishes a record of `bytes` payload bytes; a refusal is counted.
PutResult BlockWriter::Store(Fresh* fresh, size_t bytes, BlockSource source) {
  const BlockRole role = fresh->role;
  const uint64_t record_bytes = record::BytesFor(bytes, parts_.authenticator);
  parts_.reclaimer.Step(record_bytes, fresh->share);
  parts_.dead.Step(record_bytes);
  const auto where = Reserve(record_bytes, fresh->generation, fresh->share);
  if (!where) {
    return parts_.log.space().usable_segments() == 0 ? Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace)
                                                     : Refused(role, Event::kRefusedAllPinned, PutResult::kAllPinned);
  }
  const bool written =
      record::Write(parts_.medium, where->place, fresh->key, role, bytes, source, fresh->flags, parts_.authenticator);
  if (parts_.emulation != nullptr) parts_.emulation->ChargeWrite(where->place.offset, record_bytes);
  parts_.counters.Add(Event::kScmWrittenBytes, role, record_bytes);
  if (fresh->dictionary != 0) parts_.log.kept_dictionaries().Keep(where->segment, fresh->dictionary);
  if (written) Publish(fresh, where->place.offset);
  parts_.log.Leave(*where);
  parts_.reclaimer.GrowIndex();
  if (!written) return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  return PutResult::kStored;
}

bool BlockWriter::StoreDictionary(const Dictionary& dictionary) {
  const auto where =
      parts_.log.space().limit() != 0 && !parts_.faults.IsOver()
          ? Reserve(parts_.trainer->dictionaries().RecordBytes(dictionary), Generation::kProven, kNoShare)
          : std::nullopt;
  if (!where) return false;
  const bool written =
      parts_.trainer->dictionaries().Write(dictionary, parts_.medium, where->place, parts_.emulation, &parts_.counters);
  parts_.log.kept_dictionaries().CheckPlaces();
  parts_.log.Leave(*where);
  return written;
}

std::optional<SegmentLog::Reservation> BlockWriter::Reserve(uint64_t bytes, Generation generation, ShareId share) {
  for (;;) {
    const unsigned lane = parts_.log.LaneOf(share, generation, parts_.log.LevelOfNew());
    if (auto where = parts_.log.Reserve(lane, bytes)) return where;
    if (!parts_.log.Advance(lane, bytes, SegmentLog::For::kWriter) && !parts_.reclaimer.MakeRoom(share))
      return std::nullopt;
    if (parts_.log.space().limit() == 0 || parts_.faults.IsOver()) return std::nullopt;
  }
}

// Publishes a record. A staged block is published only if nobody erased it or put it anew meanwhile. Any other put
// forgets the staged block of its key, twice: before, so that an older block does not follow; and after, as
// StagedBlocks requires.
void BlockWriter::Publish(Fresh* fresh, uint64_t offset) {
  if (fresh->slot) {
    MEZZ_TEST_POINT("staged block written");
    fresh->published = parts_.stage->blocks().Publish(
        *fresh->slot, [&](unsigned heat, bool dram) { PublishInIndex(*fresh, offset, heat, dram); });
    return;
  }
  ForgetStaged(fresh->key);
  MEZZ_TEST_POINT("unstaged block written");
  PublishInIndex(*fresh, offset, HeatOfNew(fresh->generation), /*dram=*/false);
  ForgetStaged(fresh->key);
  fresh->published = true;
}

void BlockWriter::PublishInIndex(const Fresh& fresh, uint64_t offset, unsigned heat, bool dram) {
  if (fresh.key.file() == FileId{0}) [[unlikely]]
    nameless_.store(true, std::memory_order_relaxed);
  const KeyHash hash = parts_.index.Hash(fresh.key);
  const IndexWord made = IndexWord::Make(hash.tag, offset / kLineBytes, dram, heat);
  KeyReader reader(parts_.reader, fresh.key);
  const Index::Published published = parts_.index.Publish(hash, made, reader, AgeIn{parts_.log});
  if (published == Index::Published::kReplaced) parts_.counters.Add(Event::kScmReplaced, fresh.role);
  if (published == Index::Published::kDisplaced) parts_.counters.Add(Event::kScmDisplaced, fresh.role);
  if (parts_.faults.IsOver()) [[unlikely]]
    parts_.index.RemoveLine(hash, offset / kLineBytes);  // perhaps since CloseForGood emptied it
}

}  // namespace mezz
