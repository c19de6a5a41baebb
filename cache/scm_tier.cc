// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_tier.h"

#include <cassert>
#include <utility>

#include "cache/log_rules.h"
#include "cache/tier_audit.h"
#include "cache/tier_closing.h"
#include "cache/tier_opening.h"
#include "cache/tier_rooms.h"

namespace mezz {

static_assert(sizeof(ScmTier) + sizeof(TierRooms) - sizeof(TierParts) <= TierParts::kRoomsBytes);

ScmTier::ScmTier(std::unique_ptr<TierRooms> rooms)
    : rooms_(std::move(rooms)),
      options_(rooms_->parts.options),
      guard_(rooms_->parts.guard),
      medium_(rooms_->parts.medium),
      counters_(rooms_->parts.counters) {}

Status ScmTier::Open(const ScmOptions& options, std::unique_ptr<ScmTier>* tier, SurvivorJudge* judge,
                     const WrapMedium& wrap) {
  std::unique_ptr<TierRooms> rooms;
  MEZZ_RETURN_IF_ERROR(OpenTier(options, judge, wrap, &rooms));
  tier->reset(new ScmTier(std::move(rooms)));
  return Status::Ok();
}

ScmTier::~ScmTier() {
  if (guard_.InParent()) CloseTier(rooms_.get());
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                       Form wanted, PackedBy by, ShareId share) {
  return rooms_->writer.Put(key, role, bytes, source, generation, wanted, by, share);
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, std::span<const std::byte> payload, Generation generation,
                       Form wanted, PackedBy by, ShareId share) {
  return rooms_->writer.Put(key, role, payload.size(), SpanSource{payload}, generation, wanted, by, share);
}

PutResult ScmTier::PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                            Generation generation, ShareId share) {
  static_assert(kImageOverheadBytes == sizeof(layout::PackedPrefix));
  assert(TakesImages(options_.pack) && ImagePays(role, bytes, image));
  return rooms_->writer.PutImage(key, role, bytes, image, generation, share);
}

bool ScmTier::ImagePays(BlockRole role, size_t bytes, const Image& image) {
  return Packer::ImagePays(role, bytes, image);
}

void ScmTier::ChargeInPlace(BlockRole role, std::span<const std::byte> payload) {
  if (rooms_->parts.emulation != nullptr)
    rooms_->parts.emulation->ChargeInPlace(medium_.OffsetOf(payload.data()), role, payload);
}

void ScmTier::ChargeCopy(const PinnedBlock& block) {
  if (rooms_->parts.emulation != nullptr && !block.staged())
    rooms_->parts.emulation->ChargeStreamRead(medium_.OffsetOf(block.stored().data()), block.stored().size());
}

const MediumModel* ScmTier::ModelOf(const PinnedBlock& block) const {
  if (rooms_->parts.emulation == nullptr || block.staged()) return nullptr;
  return rooms_->parts.emulation->ModelAt(medium_.OffsetOf(block.stored().data()));
}

void ScmTier::Prefetch(const BlockKey& key) const { rooms_->parts.index.Prefetch(rooms_->parts.index.Hash(key)); }
bool ScmTier::Contains(const BlockKey& key) { return rooms_->reader.Contains(key); }

Held ScmTier::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  return rooms_->reader.Compare(key, bytes, source);
}

bool ScmTier::Erase(const BlockKey& key) {
  const bool erased = rooms_->eraser.Erase(key);
  rooms_->fault_handler.Handle();
  return erased;
}

void ScmTier::EraseAll() {
  rooms_->eraser.EraseAll();
  rooms_->fault_handler.Handle();
}

void ScmTier::ForgetFile(FileId file) {
  if (guard_.InParent()) rooms_->parts.dead.Add(file);  // a child's index is empty, and its parent's lock may be held
}

bool ScmTier::IsForgotten(FileId file) const { return rooms_->parts.dead.Has(file); }
bool ScmTier::IsSparse() const { return rooms_->parts.log.sparse_segments(rooms_->parts.log.LevelOfNew()) != 0; }

Status ScmTier::SetCapacity(uint64_t bytes) { return rooms_->resizer.SetCapacity(bytes); }
Status ScmTier::SetMemberCapacity(size_t member, uint64_t bytes) {
  return rooms_->resizer.SetMemberCapacity(member, bytes);
}

bool ScmTier::NotePromoted(const BlockKey& key) {
  TierParts& parts = rooms_->parts;
  return !parts.index.SetDram(parts.index.Hash(key), true).empty() ||
         (parts.stage != nullptr && parts.stage->SetDram(key, true));
}

bool ScmTier::NoteDramEviction(const BlockKey& key) {
  TierParts& parts = rooms_->parts;
  const IndexWord word = parts.index.SetDram(parts.index.Hash(key), false);
  if (word.empty()) return parts.stage != nullptr && parts.stage->SetDram(key, false);
  const bool slow =
      parts.log.LevelOf(parts.reader.SegmentOf(word)) == Level::kSlow && parts.log.LevelOfNew() == Level::kFast;
  return !slow || word.heat() < log_rules::kRaiseHeat;
}

void ScmTier::NoteDramGoes() { rooms_->parts.reclaimer.SpareDram(); }
void ScmTier::Unpin(const std::byte* payload) { rooms_->reader.Unpin(payload); }

void ScmTier::UseCodec(std::optional<Codec> codec) {
  assert(options_.pack == PackMode::kAuto);
  if (guard_.InParent()) rooms_->parts.packer->UseCodec(codec);  // a child's parent may have held a lock of the samples
}

uint64_t ScmTier::Scrub(uint64_t bytes) {
  if (!guard_.InParent()) return 0;
  const uint64_t checked = rooms_->parts.scrubber.Scrub(bytes);
  if (rooms_->parts.log.faults().HasCondemned()) rooms_->parts.reclaimer.Quarantine();
  rooms_->fault_handler.Handle();
  return checked;
}

void ScmTier::SetRequeuePercent(unsigned percent) { rooms_->parts.reclaimer.SetRequeuePercent(percent); }
bool ScmTier::PinPressure() { return rooms_->parts.reclaimer.PinPressure(); }

ScmShares& ScmTier::shares() { return rooms_->shares; }
const Preparer& ScmTier::preparer() const { return *rooms_->parts.opened->preparer; }
const ScmFigures& ScmTier::figures() const { return rooms_->figures; }

RecoveryReport ScmTier::recovery() const {
  const TierParts& parts = rooms_->parts;
  return parts.recoverer != nullptr ? parts.recoverer->report() : parts.opened->earlier->report();
}

void ScmTier::WaitUntilRecovered() const {
  if (rooms_->parts.recoverer != nullptr) rooms_->parts.recoverer->Wait();
}

ScmDram ScmTier::DramNeeded(const ScmOptions& options) { return TierParts::DramNeeded(options); }

void ScmTier::Drain() const {
  if (rooms_->parts.stage != nullptr) rooms_->parts.stage->Drain();
}

void ScmTier::SettleDictionaries() const {
  WaitUntilRecovered();
  Drain();
  if (rooms_->parts.trainer != nullptr) rooms_->parts.trainer->Settle();
}

ScmAudit ScmTier::Audit() const {
  SettleDictionaries();
  return TierAudit(rooms_->parts, rooms_->figures).Run();
}

}  // namespace mezz
