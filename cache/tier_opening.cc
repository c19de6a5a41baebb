// SPDX-License-Identifier: Apache-2.0
#include "cache/tier_opening.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

// Writes the superblock of this life, which reserves the first sequences, before anything else is written.
Status TakeSuperblock(TierParts* parts) {
  const EarlierLife& earlier = *parts->opened->earlier;
  if (!earlier.exists()) parts->keeper.PutMagic();
  const auto reserve = [parts] {
    const auto first = parts->keeper.ReserveSequences();
    if (!first) parts->faults.CloseWithoutSuperblock();
    return first;
  };
  bool taken = parts->log.sequences().TakeFrom(reserve, SuperblockKeeper::kSequencesAtOnce);
  if (taken) parts->medium.GiveUpRest();  // the superblock says so by now
  if (taken && earlier.erased() != nullptr)
    taken = parts->tombstones.Adopt(*earlier.erased()) == SuperblockKeeper::Stored::kLasts;
  if (taken) return Status::Ok();
  return Status::IoError(fmt::format("{}: does not hold the superblock that is stored to it: use another medium",
                                     parts->medium.info().description));
}

// False: there is no memory.
bool PrepareRecovery(TierParts* parts) {
  bool prepared = false;
  (void)IfThereIsMemory([&] {
    if (!parts->index.StartRefill()) return;
    parts->recoverer =
        std::make_unique<Recoverer>(parts->medium, parts->opened->earlier->superblock(), parts->options, &parts->log,
                                    &parts->index, &parts->counters, parts->dictionaries(), parts->guard);
    parts->recoverer->Prepare();
    if (parts->trainer != nullptr) parts->trainer->Hold();
    prepared = true;
  });
  return prepared;
}

void StartPreparer(TierParts* parts) {
  SegmentLog* const log = &parts->log;
  Preparer& preparer = *parts->opened->preparer;
  const auto provide = [log](size_t member, uint64_t ready_bytes) {
    log->Provide(static_cast<uint32_t>(ready_bytes / log->segment_bytes()), member);
  };
  for (size_t member = 0; member < parts->medium.begins().size(); ++member)
    provide(member, preparer.ready_bytes(member));
  const auto tell = [&options = parts->options](const Status& why) {
    if (!options.on_trouble) return;
    (void)IfThereIsMemory([&] { options.on_trouble(fmt::format("does not grow any further: {}", why.message())); });
  };
  preparer.StartMembers(provide, tell);
}

Status StartThreads(TierRooms* rooms) {
  TierParts& parts = rooms->parts;
  BlockWriter* const writer = &rooms->writer;
  const uint64_t scrubbed = parts.options.scrub_bytes_per_second;
  if (scrubbed != 0 && !parts.scrubber.Start(scrubbed))
    return Status::NoSpace(
        fmt::format("no thread for scrub_bytes_per_second={}: set it to 0, or allow more threads", scrubbed));
  const auto store = [writer](const Dictionary& dictionary) { return writer->StoreDictionary(dictionary); };
  if (parts.trainer != nullptr && !parts.trainer->Start(store))
    return Status::NoSpace(
        fmt::format("no thread to train dictionaries for pack={}: allow more threads, or use pack=lz4",
                    ToString(parts.options.pack)));
  const auto pack = [writer](const StagedBlocks::Block& block) { writer->StoreStaged(block); };
  if (parts.stage != nullptr && !parts.stage->Start(pack))
    return Status::NoSpace(fmt::format("no thread or memory for pack_stage_bytes={}: set it to 0, or allow more",
                                       parts.options.pack_stage_bytes));
  return Status::Ok();
}

void StartRecovery(TierParts* parts) {
  if (parts->recoverer == nullptr) return;
  RecoveryHooks hooks{.grow = [parts] { parts->reclaimer.GrowIndex(); },
                      .is_forgotten = [parts](FileId file) { return parts->dead.Has(file); },
                      // Some may have lost their records, or their places.
                      .dictionaries_taken = [parts](Dictionaries::Numbers numbers) { parts->trainer->LetGo(numbers); },
                      .over = parts->options.on_recovered};
  auto erased = parts->opened->earlier->TakeErasedKeys();
  if (erased != nullptr && !erased->empty()) {
    hooks.is_erased = [erased = std::move(erased)](const BlockKey& key, const SegmentLog::Fill& fill, uint64_t offset) {
      return erased->Cover(key, fill.sequence, offset);
    };
  }
  parts->recoverer->Start(std::move(hooks));
}

}  // namespace

Status OpenTier(const ScmOptions& options, SurvivorJudge* judge, const WrapMedium& wrap,
                std::unique_ptr<TierRooms>* rooms) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  std::unique_ptr<TierMedium> medium(new (std::nothrow) TierMedium);
  if (medium == nullptr) return Status::NoSpace("no memory for the SCM tier");
  MEZZ_RETURN_IF_ERROR(medium->Open(options, wrap));
  auto opened = std::make_unique<TierRooms>(std::move(medium), judge);
  TierParts& parts = opened->parts;
  if (!parts.index.ok())
    return Status::NoSpace(fmt::format("no memory for the index of {} bytes of SCM; raise expected_block_bytes ({})",
                                       parts.options.capacity_bytes, parts.options.expected_block_bytes));
  EarlierLife& earlier = *parts.opened->earlier;
  for (const SegmentId id : earlier.bad()) parts.log.space().Quarantine(id);
  const uint32_t all_members = (1u << parts.medium.begins().size()) - 1;
  parts.log.faults().BeginWithout(all_members & ~earlier.members());
  if (earlier.is_used()) MEZZ_RETURN_IF_ERROR(earlier.ForgetBeyond(&parts.log));
  MEZZ_RETURN_IF_ERROR(TakeSuperblock(&parts));
  if (earlier.is_used() && !PrepareRecovery(&parts))
    return Status::NoSpace("no memory for the recovery of the SCM tier: use recovery=discard, or allow more");
  parts.opened->medium->KeepChanges();
  StartPreparer(&parts);
  MEZZ_RETURN_IF_ERROR(StartThreads(opened.get()));
  if (options.on_trouble) (void)IfThereIsMemory([&] { parts.opened->medium->WatchName(options.on_trouble); });
  StartRecovery(&parts);
  *rooms = std::move(opened);
  return Status::Ok();
}

}  // namespace mezz
