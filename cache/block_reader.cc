// SPDX-License-Identifier: Apache-2.0
#include "cache/block_reader.h"

#include <algorithm>

#include "cache/record.h"
#include "cache/scm_tier.h"
#include "cache/tier_rooms.h"

namespace mezz {
namespace {

// verify=sampled reads about four bytes of payload for each hit, whatever the blocks' size. It checks one hit in 1024
// of blocks of 4 KiB, and one in 8192 of 32 KiB. Small blocks are checked at one hit in 256.
constexpr uint32_t kSampleBytesPerHit = 4;
constexpr uint32_t kSampleOneInMin = 256;

// Whether to check this hit. It is decided by chance, so that no pattern of accesses is never checked.
bool TimeToVerify(uint32_t payload_bytes) {
  [[gnu::tls_model("initial-exec")]] thread_local constinit uint32_t state = 1;  // as stripe_of_this_thread
  state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator: its upper bits are good
  // Mostly settled before the header with the size has arrived.
  if (state >= UINT32_MAX / kSampleOneInMin) [[likely]]
    return false;
  return uint64_t{state} * std::max(kSampleOneInMin, payload_bytes / kSampleBytesPerHit) >> 32 == 0;
}

Event EventOf(Unpacked failure) {
  return failure == Unpacked::kNoMemory       ? Event::kAllocationFailed
         : failure == Unpacked::kNoDictionary ? Event::kScmNoDictionary
                                              : Event::kScmUnpackFailed;
}

}  // namespace

// Flattened, and beside all that it calls, so that a hit is one frame. While a header is on its way from the medium,
// the processor works ahead as far as its reorder window reaches, some 500 instructions. If that includes the prefetch
// of the next hit's header, the two reads overlap. So each instruction between them costs several times its own time
// (results/hit-cost/summary.md).
[[gnu::flatten]] PinnedBlock ScmTier::Find(const BlockKey& key, BlockRole role_for_miss_counter, Heat heat) {
  return rooms_->reader.Find(key, role_for_miss_counter, heat);
}

PinnedBlock BlockReader::Find(const BlockKey& key, BlockRole role, Heat heat) {
  PinnedBlock found;
  if (FindInto(key, role, heat, &found)) found.reader_ = this;
  return found;
}

bool BlockReader::FindInto(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  KeyReader reader(parts_.reader, key);
  if (const Index::Entry entry = parts_.index.Find(parts_.index.Hash(key), reader)) [[likely]]
    return Take(entry, reader, heat, found) || Miss(role);
  return FindElsewhere(key, role, heat, found);
}

bool BlockReader::Miss(BlockRole role) {
  parts_.counters.Add(Event::kScmMiss, role);
  fault_handler_->Handle();
  return false;
}

// Looks for a block that the index does not have: it may be staged.
bool BlockReader::FindElsewhere(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  if (parts_.stage != nullptr && parts_.stage->MayHold(key)) {
    if (TakeStaged(key, heat, found)) return true;
    KeyReader reader(parts_.reader, key);
    if (const Index::Entry entry = parts_.index.Find(parts_.index.Hash(key), reader))  // it has just been stored
      return Take(entry, reader, heat, found) || Miss(role);
  }
  if (parts_.dead.Has(key.file())) [[unlikely]]
    parts_.dead.Revive(key.file());
  return Miss(role);
}

bool BlockReader::TakeStaged(const BlockKey& key, Heat heat, PinnedBlock* found) {
  const auto block = parts_.stage->blocks().Pin(key, heat == Heat::kRaise);
  if (!block) return false;
  found->stored_ = block->bytes;
  found->role_ = block->role;
  found->heat_ = static_cast<uint8_t>(block->heat);
  found->slot_ = static_cast<int8_t>(block->slot);
  parts_.counters.Add(Event::kScmHit, block->role);
  if (heat != Heat::kRaise) parts_.counters.Add(Event::kScmHitByCompaction, block->role);
  return true;  // the pin goes to the caller
}

// Takes a record that was found. False: it was damaged, and is forgotten.
bool BlockReader::Take(Index::Entry entry, KeyReader& reader, Heat heat, PinnedBlock* found) {
  const record::Header& header = reader.HeaderOf(entry.word);
  const BlockRole role = header.role;
  const bool packed = record::IsPacked(header);
  const bool unproven = parts_.recoverer != nullptr && parts_.reader.IsUnproven(entry.word);
  found->stored_ = record::PayloadOf(header);
  if (packed ? !TakePacked(header, entry.word, found) : PayloadFails(header, entry.word, unproven)) [[unlikely]] {
    parts_.index.RemoveLine(parts_.index.Hash(reader.key()), entry.word.line());  // its header may be gone too
    reader.Unpin(entry.word);
    return false;
  }
  // A search starts at the block's end; the line arrives while the caller builds its object.
  if (!packed && found->stored_.size() > kLineBytes) __builtin_prefetch(&found->stored_.back());
  found->role_ = role;
  if (unproven) [[unlikely]]
    found->carried_ = entry.word.dram() ? Carried::kFromDram : Carried::kFromScm;
  parts_.counters.Add(Event::kScmHit, role);
  if (heat != Heat::kRaise) [[unlikely]] {
    parts_.counters.Add(Event::kScmHitByCompaction, role);
    if (packed) parts_.counters.Add(Event::kScmPackedHitByCompaction, role);
  }
  if (unproven && heat != Heat::kRaise) return true;  // it stays unproven, and with its mark
  const unsigned raised = std::min(entry.word.heat() + 1, IndexWord::kHeatMax);
  found->heat_ = static_cast<uint8_t>(heat == Heat::kRaise ? raised : entry.word.heat());
  // A hit that reached us missed the DRAM tier, so the block is not there, whatever we were told before.
  parts_.index.Touch(entry, heat == Heat::kHandOver ? 0 : found->heat_);
  return true;  // the pin goes to the caller
}

bool BlockReader::PayloadFails(const record::Header& header, IndexWord word, bool unproven) {
  const BlockRole role = header.role;
  const bool verify = unproven || VerifiesAll(parts_.verify) ||
                      (parts_.verify == VerifyMode::kSampled && TimeToVerify(header.payload_bytes));
  if (!verify || parts_.reader.PayloadIsWhole(header)) [[likely]]
    return false;
  parts_.reader.NoteMismatch(role, word);
  return true;
}

// Takes a packed record, after a check of all its bytes: a codec may unpack damaged bytes to wrong ones without an
// error.
bool BlockReader::TakePacked(const record::Header& header, IndexWord word, PinnedBlock* found) {
  const BlockRole role = header.role;
  if (!parts_.reader.PayloadIsWhole(header)) {
    parts_.reader.NoteMismatch(role, word);
    return false;
  }
  const auto prefix = parts_.packer != nullptr ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
  if (!prefix) {
    parts_.counters.Add(Event::kScmUnpackFailed, role);
    return false;
  }
  if (!HasDictionaryOf(*prefix, parts_.reader.SegmentOf(word))) {
    parts_.counters.Add(Event::kScmNoDictionary, role);
    return false;
  }
  found->form_ = Form::kPacked;
  found->logical_bytes_ = prefix->logical_bytes;
  found->codec_ = prefix->codec;
  found->image_type_ = prefix->type;
  parts_.counters.Add(Event::kScmPackedHit, role);
  parts_.counters.Add(Event::kScmPackedHitStored, role, header.payload_bytes);
  if (prefix->codec == Codec::kImage) parts_.counters.Add(Event::kScmImageHit, role);
  return true;
}

// Whether the dictionary that the prefix names is here. REQUIRES: the record is pinned.
bool BlockReader::HasDictionaryOf(const layout::PackedPrefix& prefix, SegmentId segment) const {
  return prefix.dictionary == 0 || parts_.log.kept_dictionaries().Keeps(segment, prefix.dictionary);
}

bool BlockReader::Unpack(const PinnedBlock& block, std::byte* to) {
  MEZZ_READS_MEDIUM(block.stored_.data(), block.stored_.size());
  std::span<const std::byte> stored;
  const record::Steady steady = record::SteadyBytes(block.stored_, &stored);
  const auto prefix = steady == record::Steady::kHere ? Packer::ReadPrefix(stored) : std::nullopt;
  Unpacked unpacked = steady == record::Steady::kNoMemory ? Unpacked::kNoMemory : Unpacked::kDamaged;
  if (prefix && prefix->logical_bytes == block.logical_bytes_) {
    unpacked = HasDictionaryOf(*prefix, SegmentOf(block.stored_.data())) ? parts_.packer->Unpack(stored, *prefix, to)
                                                                         : Unpacked::kNoDictionary;
  }
  // With a dictionary always: with another one of that number whole bytes would unpack, to wrong ones.
  if (unpacked == Unpacked::kDone && (VerifiesAll(parts_.verify) || prefix->dictionary != 0) &&
      record::PayloadChecksum({to, prefix->logical_bytes}) != prefix->logical_checksum)
    unpacked = Unpacked::kDamaged;
  if (unpacked == Unpacked::kDone) return true;
  parts_.counters.Add(EventOf(unpacked), block.role_);
  if (unpacked != Unpacked::kNoMemory) ForgetRecord(block);
  fault_handler_->Handle();
  return false;
}

std::optional<std::span<const std::byte>> BlockReader::SteadyBytes(const PinnedBlock& block) {
  if (block.staged()) return block.stored_;
  std::span<const std::byte> bytes;
  const record::Steady steady = record::SteadyBytes(block.stored_, &bytes);
  if (steady == record::Steady::kHere) [[likely]]
    return bytes;
  const bool lost = steady == record::Steady::kLost;
  parts_.counters.Add(lost ? Event::kScmChecksumMismatch : Event::kAllocationFailed, block.role_);
  if (lost) ForgetRecord(block);
  fault_handler_->Handle();
  return std::nullopt;
}

void BlockReader::RejectImage(const PinnedBlock& block) {
  parts_.counters.Add(Event::kScmImageFailed, block.role_);
  ForgetRecord(block);
}

// Forgets a record. If its header cannot be read any more, it goes with its segment.
void BlockReader::ForgetRecord(const PinnedBlock& block) {
  const auto offset = parts_.medium.OffsetOf(block.stored_.data()) - sizeof(record::Header);
  record::Header header;
  if (CopyBytes({parts_.medium.base() + offset, sizeof(header)}, &header))
    parts_.index.RemoveLine(parts_.index.Hash(header.key), offset / kLineBytes);
}

bool BlockReader::Contains(const BlockKey& key) {
  KeyReader reader(parts_.reader, key);
  const Index::Entry entry = parts_.index.Find(parts_.index.Hash(key), reader);
  if (entry) reader.Unpin(entry.word);
  fault_handler_->Handle();
  return entry || (parts_.stage != nullptr && parts_.stage->Has(key));
}

// Compares by the header, and by a packed record's prefix in the same line. The payload would have to be read from the
// medium, so it is not compared. A damaged prefix and an image count as other bytes.
Held BlockReader::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  KeyReader reader(parts_.reader, key);
  const Index::Entry entry = parts_.index.Find(parts_.index.Hash(key), reader);
  if (!entry) {
    fault_handler_->Handle();
    return CompareStaged(key, bytes, source);
  }
  const record::Header& header = reader.HeaderOf(entry.word);
  size_t held_bytes = record::PayloadBytes(header);
  uint32_t held_checksum = record::StoredChecksum(header);
  if (record::IsPacked(header)) {
    const auto prefix = Packer::ReadPrefix(record::PayloadOf(header));
    held_bytes = prefix && prefix->codec != Codec::kImage ? prefix->logical_bytes : SIZE_MAX;
    held_checksum = prefix ? prefix->logical_checksum : 0;
  }
  reader.Unpin(entry.word);
  if (held_bytes != bytes) return Held::kOther;
  return record::SourceChecksum(bytes, source) == held_checksum ? Held::kSame : Held::kOther;
}

Held BlockReader::CompareStaged(const BlockKey& key, size_t bytes, BlockSource source) {
  const bool may_hold = parts_.stage != nullptr && parts_.stage->MayHold(key);
  const auto block = may_hold ? parts_.stage->blocks().Pin(key, /*raise=*/false) : std::nullopt;
  if (!block) return Held::kNothing;
  const bool same =
      block->bytes.size() == bytes && record::SourceChecksum(bytes, source) == record::PayloadChecksum(block->bytes);
  parts_.stage->Unpin(block->slot);
  return same ? Held::kSame : Held::kOther;
}

}  // namespace mezz
