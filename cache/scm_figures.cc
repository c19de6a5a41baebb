// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_figures.h"

#include <algorithm>

#include "cache/layout.h"
#include "cache/record.h"
#include "cache/tier_parts.h"

namespace mezz {

void ScmFigures::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) const {
  for (uint64_t slot = 0; slot < parts_.index.slots(); ++slot) {
    parts_.index.VisitPinned(slot, parts_.reader, [&](IndexWord word) {
      const record::Header& header = parts_.reader.HeaderOf(word);
      const auto prefix = record::IsPacked(header) ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
      visit(header.key, prefix ? prefix->logical_bytes : record::PayloadBytes(header), header.role);
    });
  }
  if (parts_.stage != nullptr && parts_.guard.InParent()) parts_.stage->blocks().ForEach(visit);
}

uint64_t ScmFigures::RecordBytesOf(const std::function<bool(FileId)>& such) const {
  uint64_t bytes = 0;
  for (uint64_t slot = 0; slot < parts_.index.slots(); ++slot) {
    parts_.index.VisitPinned(slot, parts_.reader, [&](IndexWord word) {
      const record::Header& header = parts_.reader.HeaderOf(word);
      if (such(header.key.file())) bytes += layout::RecordBytes(header.payload_bytes);
    });
  }
  return bytes;
}

uint64_t ScmFigures::capacity_bytes() const {
  return is_closed() ? 0 : parts_.log.space().usable_segments() * parts_.log.segment_bytes();
}

bool ScmFigures::is_closed() const { return parts_.faults.IsOver(); }

size_t ScmFigures::max_block_bytes() const {
  return layout::SegmentPayloadBytes(parts_.log.segment_bytes()) - sizeof(layout::RecordHeader) -
         record::MacBytes(parts_.authenticator);
}

uint64_t ScmFigures::bus_errors() const { return parts_.log.faults().bus_errors(); }
uint32_t ScmFigures::faults() const { return parts_.faults.count(); }
uint64_t ScmFigures::quarantined_bytes() const {
  return parts_.log.space().quarantined_segments() * parts_.log.segment_bytes();
}

uint64_t ScmFigures::usage_bytes() const {
  if (is_closed()) return 0;
  const SegmentLog& log = parts_.log;
  return (log.segments() - std::min(log.space().unused_segments(), log.segments())) * log.segment_bytes();
}

std::vector<MemberFigures> ScmFigures::MembersNow() const {
  std::vector<MemberFigures> figures;
  const LogMembers& members = parts_.log.members();
  for (size_t member = 0; members.count() > 1 && member < members.count(); ++member) {
    MemberFigures& of = figures.emplace_back();
    of.description = parts_.medium.member_info(member).description;
    of.faults = members.faults(member);
    of.is_out = members.IsOut(SegmentId{members.begin(member)});
    if (!of.is_out && parts_.guard.InParent())
      of.bytes = parts_.log.space().PresentOf(member, members.limit(member)) * parts_.log.segment_bytes();
    of.level = parts_.log.LevelOf(SegmentId{members.begin(member)});
    for (uint32_t id = members.begin(member); id < members.end(member); ++id)
      of.usage_bytes += parts_.log.HoldsRecords(SegmentId{id}) ? parts_.log.segment_bytes() : 0;
  }
  return figures;
}

uint64_t ScmFigures::pinned_bytes() const { return parts_.log.PinnedSegments() * parts_.log.segment_bytes(); }

uint32_t ScmFigures::PackedBytesExpected(uint32_t bytes) const {
  const uint64_t share = parts_.packer == nullptr ? Packer::kWhole : parts_.packer->mean_share();
  return static_cast<uint32_t>(bytes * share / Packer::kWhole);
}

unsigned ScmFigures::zstd_percent() const { return parts_.packer->zstd_percent(); }
uint64_t ScmFigures::resident_blocks() const { return parts_.index.blocks(); }

uint64_t ScmFigures::TakeLongestReclaim() const { return parts_.reclaimer.TakeLongestStay(); }

ScmDram ScmFigures::dram() const { return parts_.dram(); }

uint64_t ScmFigures::staged_puts() const {
  return parts_.stage == nullptr || !parts_.guard.InParent() ? 0 : parts_.stage->blocks().committed();
}

uint64_t ScmFigures::unstaged_puts() const {
  return parts_.stage == nullptr || !parts_.guard.InParent() ? 0 : parts_.stage->blocks().found_full();
}

uint64_t ScmFigures::tombstones_written() const { return parts_.guard.InParent() ? parts_.tombstones.written() : 0; }

}  // namespace mezz
