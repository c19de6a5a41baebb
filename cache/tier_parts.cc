// SPDX-License-Identifier: Apache-2.0
#include "cache/tier_parts.h"

#include <algorithm>
#include <utility>

#include "cache/media/near_media.h"

namespace mezz {
namespace {

std::unique_ptr<Trainer> MakeTrainer(const ScmOptions& options, Counters* counters, const ForkGuard& guard) {
  if (!MayUseZstd(options.pack) || options.dictionaries.sample_every == 0) return nullptr;
  return std::make_unique<Trainer>(options.dictionaries, options.EffectiveSegmentBytes(), counters, guard);
}

std::unique_ptr<Packer> MakePacker(PackMode mode, Counters* counters, Trainer* trainer) {
  const auto codec = CodecOf(mode);
  if (!codec) return nullptr;
  auto packer = std::make_unique<Packer>(*codec, counters, trainer != nullptr ? &trainer->dictionaries() : nullptr,
                                         trainer != nullptr ? &trainer->samples() : nullptr);
  if (mode == PackMode::kAuto) packer->CompareCodecs();
  return packer;
}

// A tier that may pack has an index that grows, as more blocks may fit.
Index::Size IndexSize(const ScmOptions& options) {
  return options.pack == PackMode::kOff ? Index::Size::kFixed : Index::Size::kGrows;
}

// The bytes of the stage: a whole number of lines for each unit. 0: there is no stage.
uint64_t PackStageBytes(const ScmOptions& options) {
  constexpr uint64_t kMultiple = StagedBlocks::kUnits * kLineBytes;
  return options.pack == PackMode::kOff ? 0 : options.pack_stage_bytes / kMultiple * kMultiple;
}

std::unique_ptr<PackStage> MakeStage(const ScmOptions& options, const ForkGuard& guard) {
  const uint64_t bytes = PackStageBytes(options);
  return bytes == 0 ? nullptr : std::make_unique<PackStage>(bytes, guard);
}

uint64_t ExpectedRecords(const ScmOptions& options) {
  return options.capacity_bytes / layout::RecordBytes(options.expected_block_bytes);
}

// Whether faults are counted for each of several media. The tier closes when too few segments are left, then.
bool LeavesMembersOut(const ScmOptions& options) { return !options.members.empty() && options.faults_max != 0; }

bool IsSlowAndForgets(const ScmMember& member) { return member.level == Level::kSlow && !Remembers(member.medium); }

}  // namespace

TierParts::TierParts(std::unique_ptr<TierMedium> of, SurvivorJudge* judge)
    : opened(std::move(of)),
      guard(opened->guard),
      options(opened->options),
      medium(*opened->medium),
      emulation(opened->emulation.get()),
      authenticator(opened->authenticator.get()),
      keeper(*opened->keeper),
      verify(options.verify),
      remembers(options.Remembers()),
      erases_durably(remembers && options.erase == EraseMode::kDurable),
      faults(LeavesMembersOut(options) ? UINT32_MAX : options.faults_max),
      trainer(MakeTrainer(options, &counters, guard)),
      packer(MakePacker(options.pack, &counters, trainer.get())),
      stage(MakeStage(options, guard)),
      index(ExpectedRecords(options), opened->earlier->superblock().hash_seed, IndexSize(options)),
      log(medium, options.capacity_bytes, options.EffectiveSegmentBytes(), opened->earlier->superblock().format_id,
          &counters, guard, dictionaries(), options.SlowBegin()),
      reader(medium, &log, &counters, authenticator),
      dead(&index, reader, &log, &counters, emulation),
      reclaimer({.medium = medium,
                 .log = &log,
                 .index = &index,
                 .counters = &counters,
                 .emulation = emulation,
                 .judge = judge,
                 .packer = packer.get(),
                 .dictionaries = dictionaries(),
                 .dead = &dead,
                 .authenticator = authenticator}),
      scrubber(&index, reader, guard),
      tombstones(medium, &log, &keeper, &counters, emulation) {
  if (trainer != nullptr) trainer->dictionaries().UseAuthenticator(authenticator);
  log.faults().TellTo(&faults, LeavesMembersOut(options) ? options.faults_max : 0);
  if (std::ranges::any_of(options.members, IsSlowAndForgets)) log.tombstone_segments().TellSlowForgets();
  log.PreferNear(FindNearMedia(options));
  keeper.TellOfLost([this](uint32_t members) { log.faults().LeaveOut(members); });
  opened->told_of_bus_errors = &log.faults();
}

TierParts::~TierParts() {
  opened->told_of_bus_errors = nullptr;
  keeper.TellOfLost({});
}

void TierParts::Stop() {
  opened->preparer->Stop();
  if (recoverer != nullptr) recoverer->Stop();  // it gives records and dictionaries to the others
  if (stage != nullptr) stage->Stop();          // it stores blocks by what goes later
  if (trainer != nullptr) trainer->Stop();      // it stores dictionaries by what goes later
  scrubber.Stop();
}

ScmDram TierParts::dram() const {
  return {.index = index.bytes(),
          .segments = log.dram_bytes(),
          .packing = (packer == nullptr ? 0 : packer->dram_bytes()) + (trainer == nullptr ? 0 : trainer->dram_bytes()) +
                     (stage == nullptr ? 0 : stage->dram_bytes()),
          .rest = sizeof(TierMedium) + sizeof(TierParts) + TierParts::kRoomsBytes + Counters::kBytes};
}

ScmDram TierParts::DramNeeded(const ScmOptions& options) {
  const uint64_t segment_bytes = options.EffectiveSegmentBytes();
  // Of the codec that takes the most.
  const auto codec = MayUseZstd(options.pack) ? Codec::kZstd : CodecOf(options.pack);
  const auto segments = static_cast<uint32_t>(options.capacity_bytes / segment_bytes);
  const bool has_slow = options.SlowBegin() < options.capacity_bytes;
  return {.index = Index::BytesFor(ExpectedRecords(options), IndexSize(options)),
          .segments = SegmentLog::DramBytesFor(segments, has_slow),
          .packing = (codec ? Packer::DramBytesFor(*codec, options.expected_block_bytes) : 0) +
                     PackStage::DramBytesFor(PackStageBytes(options)),
          .rest = sizeof(TierMedium) + sizeof(TierParts) + TierParts::kRoomsBytes + Counters::kBytes};
}

}  // namespace mezz
