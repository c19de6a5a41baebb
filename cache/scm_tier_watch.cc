// SPDX-License-Identifier: Apache-2.0
// How a tier reports: its records, its figures, and whether its invariants hold. And how to wait until its threads
// rest.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/scm_tier_impl.h"

namespace mezz {

void ScmTier::Impl::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) {
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
    index_.VisitPinned(slot, reader_, [&](IndexWord word) {
      const record::Header& header = reader_.HeaderOf(word);
      const auto prefix = record::IsPacked(header) ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
      visit(header.key, prefix ? prefix->logical_bytes : record::PayloadBytes(header), header.role);
    });
  }
  if (stage_ != nullptr && guard_.InParent()) stage_->blocks().ForEach(visit);
}

uint64_t ScmTier::Impl::RecordBytesOf(const std::function<bool(FileId)>& such) {
  uint64_t bytes = 0;
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
    index_.VisitPinned(slot, reader_, [&](IndexWord word) {
      const record::Header& header = reader_.HeaderOf(word);
      if (such(header.key.file())) bytes += layout::RecordBytes(header.payload_bytes);
    });
  }
  return bytes;
}

uint64_t ScmTier::capacity_bytes() const {
  return is_closed() ? 0 : impl_->log_.space().usable_segments() * impl_->log_.segment_bytes();
}

bool ScmTier::is_closed() const { return impl_->faults_.IsOver(); }

size_t ScmTier::max_block_bytes() const {
  return layout::SegmentPayloadBytes(impl_->log_.segment_bytes()) - sizeof(layout::RecordHeader) -
         record::MacBytes(authenticator_.get());
}

uint64_t ScmTier::bus_errors() const { return impl_->log_.faults().bus_errors(); }
uint32_t ScmTier::faults() const { return impl_->faults_.count(); }
uint64_t ScmTier::quarantined_bytes() const {
  return impl_->log_.space().quarantined_segments() * impl_->log_.segment_bytes();
}

uint64_t ScmTier::usage_bytes() const {
  if (is_closed()) return 0;
  const SegmentLog& log = impl_->log_;
  return (log.segments() - std::min(log.space().unused_segments(), log.segments())) * log.segment_bytes();
}

std::vector<ScmTier::MemberFigures> ScmTier::MembersNow() const {
  std::vector<MemberFigures> figures;
  const LogMembers& members = impl_->log_.members();
  for (size_t member = 0; members.count() > 1 && member < members.count(); ++member) {
    MemberFigures& of = figures.emplace_back();
    of.description = medium_->member_info(member).description;
    of.faults = members.faults(member);
    of.is_out = members.IsOut(SegmentId{members.begin(member)});
    if (!of.is_out && guard_.InParent())
      of.bytes = impl_->log_.space().PresentOf(member, members.limit(member)) * impl_->log_.segment_bytes();
    of.level = impl_->log_.LevelOf(SegmentId{members.begin(member)});
    for (uint32_t id = members.begin(member); id < members.end(member); ++id)
      of.usage_bytes += impl_->log_.HoldsRecords(SegmentId{id}) ? impl_->log_.segment_bytes() : 0;
  }
  return figures;
}

uint64_t ScmTier::pinned_bytes() const { return impl_->log_.PinnedSegments() * impl_->log_.segment_bytes(); }

void ScmTier::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) const {
  impl_->ForEach(visit);
}

uint64_t ScmTier::RecordBytesOf(const std::function<bool(FileId)>& such) const { return impl_->RecordBytesOf(such); }
unsigned ScmTier::zstd_percent() const { return impl_->packer_->zstd_percent(); }
uint64_t ScmTier::resident_blocks() const { return impl_->index_.blocks(); }

uint64_t ScmTier::Scrub(uint64_t bytes) {
  if (!guard_.InParent()) return 0;
  const uint64_t checked = impl_->scrubber_.Scrub(bytes);
  if (impl_->log_.faults().HasCondemned()) impl_->reclaimer_.Quarantine();
  impl_->fault_handler_.Handle();
  return checked;
}

uint64_t ScmTier::TakeLongestReclaim() { return impl_->reclaimer_.TakeLongestStay(); }

ScmDram ScmTier::dram() const {
  return {.index = impl_->index_.bytes(),
          .segments = impl_->log_.dram_bytes(),
          .packing = (impl_->packer_ == nullptr ? 0 : impl_->packer_->dram_bytes()) +
                     (impl_->trainer_ == nullptr ? 0 : impl_->trainer_->dram_bytes()) +
                     (impl_->stage_ == nullptr ? 0 : impl_->stage_->dram_bytes()),
          .rest = sizeof(*this) + sizeof(Impl) + Counters::kBytes};
}

void ScmTier::Drain() const {
  if (impl_->stage_ != nullptr) impl_->stage_->Drain();
}

uint64_t ScmTier::staged_puts() const {
  return impl_->stage_ == nullptr || !guard_.InParent() ? 0 : impl_->stage_->blocks().committed();
}

uint64_t ScmTier::unstaged_puts() const {
  return impl_->stage_ == nullptr || !guard_.InParent() ? 0 : impl_->stage_->blocks().found_full();
}

uint64_t ScmTier::tombstones_written() const { return guard_.InParent() ? impl_->tombstones_.written() : 0; }

void ScmTier::SettleDictionaries() const {
  WaitUntilRecovered();
  Drain();
  if (impl_->trainer_ != nullptr) impl_->trainer_->Settle();
}

ScmAudit ScmTier::Audit() const {
  SettleDictionaries();
  ScmAudit audit = TierAudit(impl_->parts_).Run();
  audit.medium_bytes = capacity_bytes();
  audit.dram_bytes = dram().total();
  return audit;
}

}  // namespace mezz
