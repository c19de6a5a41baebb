// SPDX-License-Identifier: Apache-2.0
// How a tier forgets: an erased key, all keys, deleted files, and segments beyond a smaller capacity.
#include <fmt/format.h>

#include <mutex>

#include "cache/base/if_memory.h"
#include "cache/scm_tier_impl.h"

namespace mezz {

bool ScmTier::Impl::Erase(const BlockKey& key) {
  const bool erased = erases_durably_ && guard_.InParent() ? EraseDurably(key) : EraseHere(key);
  AfterFault();
  return erased;
}

// All that was put before must lie before the position that the tombstone names. A record in the index does, as reclaim
// does not move it once it is out of the index. But reclaim may be copying a record just now, and the stage's thread
// may be writing a block that was forgotten meanwhile. So both stand still from the removal until the position is
// taken.
bool ScmTier::Impl::EraseDurably(const BlockKey& key) {
  bool erased = false;
  LogPosition position;
  {
    const std::lock_guard stage_stores_nothing(store_mutex_);
    reclaimer_.WhileNothingMoves([&] {
      erased = EraseHere(key);
      position = log_.Position();
    });
  }
  for (;;) {
    const Tombstones::Added added = tombstones_.Add(key, position);
    if (added == Tombstones::Added::kDone) break;
    const bool lacks_room = added == Tombstones::Added::kNoRoom && !faults_.IsOver();
    if (lacks_room && reclaimer_.MakeRoom()) continue;
    if (lacks_room && recoverer_ != nullptr && recoverer_->report().running) {
      MEZZ_TEST_POINT("recovery.is_waited_for");
      recoverer_->Wait();  // it may hold all there is
      continue;
    }
    ForsakeRestart();
    break;
  }
  return erased;
}

// Makes the next life forget all that is stored, because there is no room for a tombstone, or because failed memory may
// not hold the tombstones that there are. Nobody may take a position meanwhile: its tombstone would be lost with the
// others, while the segment that it is about is not.
void ScmTier::Impl::ForsakeRestart() {
  reclaimer_.WhileNothingMoves([this] { ForsakeWhatIsStored(); });
}

// Says in the superblock that nothing is stored. If the superblock cannot be written, the headers of the segments are
// erased instead. REQUIRES: no record is being moved.
void ScmTier::Impl::ForsakeWhatIsStored() {
  const uint64_t sequence = log_.SealAll();
  if (tombstones_.EraseBelow(sequence) == SuperblockKeeper::Stored::kLasts) return;
  if (!log_.headers().EraseBelow(sequence)) may_lie_.store(true, std::memory_order_relaxed);
  LoseSuperblock();
}

// Forgets the staged block first: it is then in the index already, or will never be.
bool ScmTier::Impl::EraseHere(const BlockKey& key) {
  const bool staged = ForgetStaged(key);
  KeyReader reader(reader_, key);
  const bool stored = index_.Erase(
      index_.Hash(key), reader, [&](IndexWord word) { counters_->Add(Event::kScmErase, reader.HeaderOf(word).role); });
  return stored || staged;
}

// On a medium that remembers, the superblock first says that nothing in the present segments is found again. A put that
// runs meanwhile is forgotten at a restart. But older blocks must not get into a later segment, neither by reclaim nor
// by the stage, whose thread may be storing a block that was forgotten meanwhile.
void ScmTier::Impl::EraseAll() {
  if (stage_ != nullptr) stage_->ForgetAll();
  if (recoverer_ != nullptr && guard_.InParent()) log_.awaiting().GiveUpAll();
  if (!remembers_ || !guard_.InParent()) return index_.Clear();
  {
    const std::lock_guard stage_stores_nothing(store_mutex_);
    reclaimer_.WhileNothingMoves([this] {
      ForsakeWhatIsStored();
      index_.Clear();
    });
  }
  AfterFault();
}

// Closes the tier for good. It touches nothing of the medium except, if erases are durable, the superblock: a medium
// that failed so often may have lost tombstones. Pinned bytes stay where they are.
void ScmTier::Impl::CloseForGood() {
  if (!guard_.InParent() || !faults_.Claim()) return;
  if (stage_ != nullptr) stage_->ForgetAll();
  if (recoverer_ != nullptr) log_.awaiting().GiveUpAll();
  index_.Clear();
  if (erases_durably_) ForsakeRestart();
  if (!options_.on_trouble) return;
  (void)IfThereIsMemory([&] { options_.on_trouble(WhyClosed()); });
}

// Leaves media out that failed too often, and goes on with the others. Where erases are durable, a lost one may have
// held tombstones.
void ScmTier::Impl::LeaveMembersOut() {
  if (!guard_.InParent()) return;
  const uint32_t out = log_.members().TakeUntold();
  if (out == 0) return;
  if (keeper_->LeaveOut(out) == SuperblockKeeper::Stored::kNowhere) return LoseSuperblock();
  if (erases_durably_) ForsakeRestart();
  reclaimer_.Quarantine();
  for (size_t member = 0; options_.on_trouble && member < log_.members().count(); ++member) {
    if ((out >> member & 1) == 0) continue;
    (void)IfThereIsMemory([&] {
      options_.on_trouble(fmt::format(
          "lost one of its media, and goes on with the others: {} failed {} times, and is not used until the cache is "
          "opened anew. Replace the device",
          medium_.member_info(member).description, log_.members().faults(member)));
    });
  }
}

// Why the tier closed itself, as the rest of a sentence whose subject is the medium.
std::string ScmTier::Impl::WhyClosed() const {
  if (lost_superblock_.load(std::memory_order_relaxed)) {
    const bool may_lie = may_lie_.load(std::memory_order_relaxed);
    return fmt::format(
        "does not take its superblock any more: the SCM tier is closed until the cache is opened anew. Replace the "
        "device{}",
        may_lie ? "; what was erased may be found on it again, so open it with recovery=discard, if at all" : "");
  }
  return fmt::format(
      "failed {} times, and {} of its {} segments are out of use: the SCM tier is closed until the cache is opened "
      "anew. Replace the device",
      faults_.count(), log_.space().quarantined_segments(), log_.segments());
}

// Why no size can be changed; `asked` is the subject of the sentence. Ok: it can.
Status ScmTier::Impl::MayResize(const std::string& asked) const {
  if (faults_.IsOver())
    return Status::NotSupported(asked + ", and the tier has closed itself after faults of its medium: reopen it");
  if (!guard_.InParent()) return Status::NotSupported(asked + " in a forked child: ask the parent");
  return Status::Ok();
}

Status ScmTier::Impl::SetCapacity(uint64_t bytes) {
  const std::string asked = fmt::format("SCM capacity {} is asked for", bytes);
  MEZZ_RETURN_IF_ERROR(MayResize(asked));
  const uint64_t wanted = bytes / log_.segment_bytes();
  if (wanted > log_.segments())
    return Status::InvalidArgument(
        fmt::format("SCM capacity {} is more than the {} the tier was opened with; reopen it", bytes,
                    log_.segments() * log_.segment_bytes()));
  if (wanted != 0 && wanted < kSegmentsMin)
    return Status::InvalidArgument(fmt::format("SCM capacity {} is less than {} segments of {}; use 0 to switch it off",
                                               bytes, kSegmentsMin, log_.segment_bytes()));
  if (tombstones_.TrimTo(static_cast<uint32_t>(wanted)) == SuperblockKeeper::Stored::kNowhere) {
    LoseSuperblock();
    AfterFault();
    return Status::IoError(fmt::format("{}, and {} does not take its superblock any more: the tier has closed itself",
                                       asked, medium_.info().description));
  }
  reclaimer_.ShrinkTo(static_cast<uint32_t>(wanted));
  if (wanted == 0 && stage_ != nullptr) stage_->ForgetAll();
  if (trainer_ != nullptr) trainer_->Wake();  // what found no room on the medium may find it now
  return Status::Ok();
}

// Whether the tier, and the member's level of it, can go on with so many segments of the member.
Status ScmTier::Impl::CheckMemberLimit(const std::string& asked, size_t member, uint32_t wanted) const {
  const LogMembers& members = log_.members();
  uint32_t in_all = 0, in_level = 0;
  for (size_t i = 0; i < members.count(); ++i) {
    const uint32_t left = log_.space().PresentOf(i, i == member ? wanted : members.limit(i));
    in_all += left;
    if (log_.LevelOfMember(i) == log_.LevelOfMember(member)) in_level += left;
  }
  if (in_all < kSegmentsMin)
    return Status::InvalidArgument(
        fmt::format("{}, which leaves the tier {} segments, and {} are the least: keep more of one of its media", asked,
                    in_all, kSegmentsMin));
  if (in_level != 0 && in_level < log_rules::kSegmentsOfLevelMin)
    return Status::InvalidArgument(
        fmt::format("{}, which leaves its level {} segments of {}, and {} are the least: "
                    "keep more, or nothing",
                    asked, in_level, log_.segment_bytes(), log_rules::kSegmentsOfLevelMin));
  return Status::Ok();
}

// What moves lies in the index, so an earlier life's blocks come back first.
Status ScmTier::Impl::SetMemberCapacity(size_t member, uint64_t bytes) {
  const std::string asked = fmt::format("capacity {} of medium {} is asked for", bytes, member + 1);
  MEZZ_RETURN_IF_ERROR(MayResize(asked));
  const LogMembers& members = log_.members();
  if (member >= members.count())
    return Status::InvalidArgument(
        fmt::format("{}, and the tier has {}: count from 1, as the report does", asked, members.count()));
  if (members.count() == 1) return SetCapacity(bytes);
  const uint64_t wanted = bytes / log_.segment_bytes(), most = members.end(member) - members.begin(member);
  if (wanted > most)
    return Status::InvalidArgument(
        fmt::format("{}, and it was opened with {}; reopen the tier", asked, most * log_.segment_bytes()));
  if (members.IsOut(SegmentId{members.begin(member)}))
    return Status::NotSupported(fmt::format("{}, and it has failed and is not used any more: reopen the tier", asked));
  if (recoverer_ != nullptr) recoverer_->Wait();
  {
    const std::lock_guard one_at_a_time(resizing_);
    MEZZ_RETURN_IF_ERROR(CheckMemberLimit(asked, member, static_cast<uint32_t>(wanted)));
    log_.space().LimitMember(member, static_cast<uint32_t>(wanted));
    reclaimer_.EmptyWithdrawn();
  }
  if (trainer_ != nullptr) trainer_->Wake();
  AfterFault();  // the medium may have failed meanwhile
  return Status::Ok();
}

bool ScmTier::Erase(const BlockKey& key) { return impl_->Erase(key); }
void ScmTier::EraseAll() { impl_->EraseAll(); }

void ScmTier::ForgetFile(FileId file) {
  if (guard_.InParent()) impl_->dead_.Add(file);  // a child's index is empty, and its parent's lock may be held
}

Status ScmTier::SetCapacity(uint64_t bytes) { return impl_->SetCapacity(bytes); }
Status ScmTier::SetMemberCapacity(size_t member, uint64_t bytes) { return impl_->SetMemberCapacity(member, bytes); }
bool ScmTier::IsForgotten(FileId file) const { return impl_->dead_.Has(file); }
bool ScmTier::IsHollow() const { return impl_->log_.hollow_segments(impl_->log_.LevelOfNew()) != 0; }

}  // namespace mezz
