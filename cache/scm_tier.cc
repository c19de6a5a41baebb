// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_tier.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <mutex>
#include <utility>

#include "cache/scm_tier_impl.h"

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

// --- find ------------------------------------------------------------------------------------------------------------

bool ScmTier::Impl::Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  KeyReader reader(reader_, key);
  if (const Index::Entry entry = index_.Find(index_.Hash(key), reader)) [[likely]]
    return Take(entry, reader, heat, found) || Miss(role);
  return FindElsewhere(key, role, heat, found);
}

bool ScmTier::Impl::Miss(BlockRole role) {
  counters_->Add(Event::kScmMiss, role);
  fault_handler_.Handle();
  return false;
}

// Looks for a block that the index does not have: it may be staged.
bool ScmTier::Impl::FindElsewhere(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  if (stage_ != nullptr && stage_->MayHold(key)) {
    if (TakeStaged(key, heat, found)) return true;
    KeyReader reader(reader_, key);
    if (const Index::Entry entry = index_.Find(index_.Hash(key), reader))  // it has just been stored
      return Take(entry, reader, heat, found) || Miss(role);
  }
  if (dead_.Has(key.file())) [[unlikely]]
    dead_.Revive(key.file());
  return Miss(role);
}

bool ScmTier::Impl::TakeStaged(const BlockKey& key, Heat heat, PinnedBlock* found) {
  const auto block = stage_->blocks().Pin(key, heat == Heat::kRaise);
  if (!block) return false;
  found->stored_ = block->bytes;
  found->role_ = block->role;
  found->heat_ = static_cast<uint8_t>(block->heat);
  found->slot_ = static_cast<int8_t>(block->slot);
  counters_->Add(Event::kScmHit, block->role);
  if (heat != Heat::kRaise) counters_->Add(Event::kScmHitByCompaction, block->role);
  return true;  // the pin goes to the caller
}

// Takes a record that was found. False: it was damaged, and is forgotten.
bool ScmTier::Impl::Take(Index::Entry entry, KeyReader& reader, Heat heat, PinnedBlock* found) {
  const record::Header& header = reader.HeaderOf(entry.word);
  const BlockRole role = header.role;
  const bool packed = record::IsPacked(header);
  const bool unproven = recovered_ && reader_.IsUnproven(entry.word);
  found->stored_ = record::PayloadOf(header);
  if (packed ? !TakePacked(header, entry.word, found) : PayloadFails(header, entry.word, unproven)) [[unlikely]] {
    index_.RemoveLine(index_.Hash(reader.key()), entry.word.line());  // its header may be gone too
    reader.Unpin(entry.word);
    return false;
  }
  // A search starts at the block's end; the line arrives while the caller builds its object.
  if (!packed && found->stored_.size() > kLineBytes) __builtin_prefetch(&found->stored_.back());
  found->role_ = role;
  if (unproven) [[unlikely]]
    found->carried_ = entry.word.dram() ? Carried::kFromDram : Carried::kFromScm;
  counters_->Add(Event::kScmHit, role);
  if (heat != Heat::kRaise) [[unlikely]] {
    counters_->Add(Event::kScmHitByCompaction, role);
    if (packed) counters_->Add(Event::kScmPackedHitByCompaction, role);
  }
  if (unproven && heat != Heat::kRaise) return true;  // it stays unproven, and with its mark
  const unsigned raised = std::min(entry.word.heat() + 1, IndexWord::kHeatMax);
  found->heat_ = static_cast<uint8_t>(heat == Heat::kRaise ? raised : entry.word.heat());
  // A hit that reached us missed the DRAM tier, so the block is not there, whatever we were told before.
  index_.Touch(entry, heat == Heat::kHandOver ? 0 : found->heat_);
  return true;  // the pin goes to the caller
}

bool ScmTier::Impl::SetDram(const BlockKey& key, bool dram) {
  return !index_.SetDram(index_.Hash(key), dram).empty() || (stage_ != nullptr && stage_->SetDram(key, dram));
}

bool ScmTier::Impl::NoteDramEviction(const BlockKey& key) {
  const IndexWord word = index_.SetDram(index_.Hash(key), false);
  if (word.empty()) return stage_ != nullptr && stage_->SetDram(key, false);
  const bool slow = log_.LevelOf(reader_.SegmentOf(word)) == Level::kSlow && log_.LevelOfNew() == Level::kFast;
  return !slow || word.heat() < log_rules::kRaiseHeat;
}

bool ScmTier::Impl::PayloadFails(const record::Header& header, IndexWord word, bool unproven) {
  const BlockRole role = header.role;
  const bool verify =
      unproven || VerifiesAll(verify_) || (verify_ == VerifyMode::kSampled && TimeToVerify(header.payload_bytes));
  if (!verify || reader_.PayloadIsWhole(header)) [[likely]]
    return false;
  reader_.NoteMismatch(role, word);
  return true;
}

// Takes a packed record, after a check of all its bytes: a codec may unpack damaged bytes to wrong ones without an
// error.
bool ScmTier::Impl::TakePacked(const record::Header& header, IndexWord word, PinnedBlock* found) {
  const BlockRole role = header.role;
  if (!reader_.PayloadIsWhole(header)) {
    reader_.NoteMismatch(role, word);
    return false;
  }
  const auto prefix = packer_ != nullptr ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
  if (!prefix) {
    counters_->Add(Event::kScmUnpackFailed, role);
    return false;
  }
  if (!HasDictionaryOf(*prefix, reader_.SegmentOf(word))) {
    counters_->Add(Event::kScmNoDictionary, role);
    return false;
  }
  found->form_ = Form::kPacked;
  found->logical_bytes_ = prefix->logical_bytes;
  found->codec_ = prefix->codec;
  found->image_type_ = prefix->type;
  counters_->Add(Event::kScmPackedHit, role);
  counters_->Add(Event::kScmPackedHitStored, role, header.payload_bytes);
  if (prefix->codec == Codec::kImage) counters_->Add(Event::kScmImageHit, role);
  return true;
}

// Whether the dictionary that the prefix names is here. REQUIRES: the record is pinned.
bool ScmTier::Impl::HasDictionaryOf(const layout::PackedPrefix& prefix, SegmentId segment) const {
  return prefix.dictionary == 0 || log_.kept_dictionaries().Keeps(segment, prefix.dictionary);
}

bool ScmTier::Impl::Unpack(const PinnedBlock& block, std::byte* to) {
  MEZZ_READS_MEDIUM(block.stored_.data(), block.stored_.size());
  std::span<const std::byte> stored;
  const record::Steady steady = record::SteadyBytes(block.stored_, &stored);
  const auto prefix = steady == record::Steady::kHere ? Packer::ReadPrefix(stored) : std::nullopt;
  Unpacked unpacked = steady == record::Steady::kNoMemory ? Unpacked::kNoMemory : Unpacked::kDamaged;
  if (prefix && prefix->logical_bytes == block.logical_bytes_) {
    unpacked = HasDictionaryOf(*prefix, SegmentOf(block.stored_.data())) ? packer_->Unpack(stored, *prefix, to)
                                                                         : Unpacked::kNoDictionary;
  }
  // With a dictionary always: with another one of that number whole bytes would unpack, to wrong ones.
  if (unpacked == Unpacked::kDone && (VerifiesAll(verify_) || prefix->dictionary != 0) &&
      record::PayloadChecksum({to, prefix->logical_bytes}) != prefix->logical_checksum)
    unpacked = Unpacked::kDamaged;
  if (unpacked == Unpacked::kDone) return true;
  counters_->Add(EventOf(unpacked), block.role_);
  if (unpacked != Unpacked::kNoMemory) ForgetRecord(block);
  fault_handler_.Handle();
  return false;
}

std::optional<std::span<const std::byte>> ScmTier::Impl::SteadyBytes(const PinnedBlock& block) {
  if (block.staged()) return block.stored_;
  std::span<const std::byte> bytes;
  const record::Steady steady = record::SteadyBytes(block.stored_, &bytes);
  if (steady == record::Steady::kHere) [[likely]]
    return bytes;
  const bool lost = steady == record::Steady::kLost;
  counters_->Add(lost ? Event::kScmChecksumMismatch : Event::kAllocationFailed, block.role_);
  if (lost) ForgetRecord(block);
  fault_handler_.Handle();
  return std::nullopt;
}

void ScmTier::Impl::RejectImage(const PinnedBlock& block) {
  counters_->Add(Event::kScmImageFailed, block.role_);
  ForgetRecord(block);
}

// Forgets a record. If its header cannot be read any more, it goes with its segment.
void ScmTier::Impl::ForgetRecord(const PinnedBlock& block) {
  const auto offset = medium_.OffsetOf(block.stored_.data()) - sizeof(record::Header);
  record::Header header;
  if (CopyBytes({medium_.base() + offset, sizeof(header)}, &header))
    index_.RemoveLine(index_.Hash(header.key), offset / kLineBytes);
}

bool ScmTier::Impl::Contains(const BlockKey& key) {
  KeyReader reader(reader_, key);
  const Index::Entry entry = index_.Find(index_.Hash(key), reader);
  if (entry) reader.Unpin(entry.word);
  fault_handler_.Handle();
  return entry || (stage_ != nullptr && stage_->Has(key));
}

// Compares by the header, and by a packed record's prefix in the same line. The payload would have to be read from the
// medium, so it is not compared. A damaged prefix and an image count as other bytes.
Held ScmTier::Impl::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  KeyReader reader(reader_, key);
  const Index::Entry entry = index_.Find(index_.Hash(key), reader);
  if (!entry) {
    fault_handler_.Handle();
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

Held ScmTier::Impl::CompareStaged(const BlockKey& key, size_t bytes, BlockSource source) {
  const bool may_hold = stage_ != nullptr && stage_->MayHold(key);
  const auto block = may_hold ? stage_->blocks().Pin(key, /*raise=*/false) : std::nullopt;
  if (!block) return Held::kNothing;
  const bool same =
      block->bytes.size() == bytes && record::SourceChecksum(bytes, source) == record::PayloadChecksum(block->bytes);
  stage_->Unpin(block->slot);
  return same ? Held::kSame : Held::kOther;
}

// --- facade ----------------------------------------------------------------------------------------------------------

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                       Form wanted, PackedBy by, ShareId share) {
  return impl_->writer_.Put(key, role, bytes, source, generation, wanted, by, share);
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, std::span<const std::byte> payload, Generation generation,
                       Form wanted, PackedBy by, ShareId share) {
  return impl_->writer_.Put(key, role, payload.size(), SpanSource{payload}, generation, wanted, by, share);
}

PutResult ScmTier::PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                            Generation generation, ShareId share) {
  static_assert(kImageOverheadBytes == sizeof(layout::PackedPrefix));
  assert(TakesImages(options_.pack) && ImagePays(role, bytes, image));
  return impl_->writer_.PutImage(key, role, bytes, image, generation, share);
}

Status ScmTier::AddShare(std::string_view name, const ShareLimits& limits, ShareId* id) {
  if (!guard_.InParent()) return Status::NotSupported("a forked child cannot add shares to its parent's SCM tier");
  return impl_->log_.owners().AddShare(name, limits, id);
}

Status ScmTier::ChangeShare(ShareId id, const ShareLimits& limits) {
  if (!guard_.InParent()) return Status::NotSupported("a forked child cannot change shares of its parent's SCM tier");
  return impl_->log_.owners().ChangeShare(id, limits);
}

void ScmTier::RemoveShare(ShareId id) {
  if (guard_.InParent()) impl_->log_.owners().RemoveShare(id);
}

ScmTier::ShareUse ScmTier::UseOf(ShareId id) const {
  if (!guard_.InParent()) return {};
  const SegmentOwners::Use use = impl_->log_.owners().UseOf(id);
  const uint64_t segment_bytes = impl_->log_.segment_bytes();
  return {.bytes = use.held * segment_bytes,
          .reserved_bytes = use.reserved * segment_bytes,
          .max_bytes = use.max * segment_bytes};
}

bool ScmTier::ImagePays(BlockRole role, size_t bytes, const Image& image) {
  return Packer::ImagePays(role, bytes, image);
}

// Flattened, so that a hit is one frame. While a header is on its way from the medium, the processor works ahead as far
// as its reorder window reaches, some 500 instructions. If that includes the prefetch of the next hit's header, the two
// reads overlap. So each instruction between them costs several times its own time (results/hit-cost/summary.md).
[[gnu::flatten]] PinnedBlock ScmTier::Find(const BlockKey& key, BlockRole role_for_miss_counter, Heat heat) {
  PinnedBlock found;
  if (impl_->Find(key, role_for_miss_counter, heat, &found)) found.tier_ = this;
  return found;
}

void ScmTier::ChargeInPlace(BlockRole role, std::span<const std::byte> payload) {
  if (emulation_ != nullptr) emulation_->ChargeInPlace(medium_->OffsetOf(payload.data()), role, payload);
}

void ScmTier::ChargeCopy(const PinnedBlock& block) {
  if (emulation_ != nullptr && !block.staged())
    emulation_->ChargeStreamRead(medium_->OffsetOf(block.stored().data()), block.stored().size());
}

const MediumModel* ScmTier::ModelOf(const PinnedBlock& block) const {
  if (emulation_ == nullptr || block.staged()) return nullptr;
  return emulation_->ModelAt(medium_->OffsetOf(block.stored().data()));
}

void ScmTier::Prefetch(const BlockKey& key) const { impl_->index_.Prefetch(impl_->index_.Hash(key)); }
bool ScmTier::Contains(const BlockKey& key) { return impl_->Contains(key); }

Held ScmTier::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  return impl_->Compare(key, bytes, source);
}

bool ScmTier::Erase(const BlockKey& key) {
  const bool erased = impl_->eraser_.Erase(key);
  impl_->fault_handler_.Handle();
  return erased;
}

void ScmTier::EraseAll() {
  impl_->eraser_.EraseAll();
  impl_->fault_handler_.Handle();
}

void ScmTier::ForgetFile(FileId file) {
  if (guard_.InParent()) impl_->dead_.Add(file);  // a child's index is empty, and its parent's lock may be held
}

bool ScmTier::IsForgotten(FileId file) const { return impl_->dead_.Has(file); }
bool ScmTier::IsSparse() const { return impl_->log_.sparse_segments(impl_->log_.LevelOfNew()) != 0; }

Status ScmTier::SetCapacity(uint64_t bytes) { return impl_->resizer_.SetCapacity(bytes); }
Status ScmTier::SetMemberCapacity(size_t member, uint64_t bytes) {
  return impl_->resizer_.SetMemberCapacity(member, bytes);
}

bool ScmTier::NotePromoted(const BlockKey& key) { return impl_->SetDram(key, true); }
bool ScmTier::NoteDramEviction(const BlockKey& key) { return impl_->NoteDramEviction(key); }
void ScmTier::NoteDramGoes() { impl_->reclaimer_.SpareDram(); }
void ScmTier::Unpin(const std::byte* payload) { impl_->log_.Unpin(impl_->SegmentOf(payload)); }

void ScmTier::UseCodec(std::optional<Codec> codec) {
  assert(options_.pack == PackMode::kAuto);
  if (guard_.InParent()) impl_->packer_->UseCodec(codec);  // a child's parent may have held a lock of the samples
}

void ScmTier::SetRequeuePercent(unsigned percent) { impl_->reclaimer_.SetRequeuePercent(percent); }
bool ScmTier::PinPressure() { return impl_->reclaimer_.PinPressure(); }

uint32_t ScmTier::PackedBytesExpected(uint32_t bytes) const {
  const uint64_t share = impl_->packer_ == nullptr ? Packer::kWhole : impl_->packer_->mean_share();
  return static_cast<uint32_t>(bytes * share / Packer::kWhole);
}

}  // namespace mezz
